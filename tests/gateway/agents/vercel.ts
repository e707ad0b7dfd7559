/** Plays one task with Vercel's AI SDK, unmodified: `vercel.ts NAME`, with the base URLs and the key in the environment. */
// deno-lint-ignore-file no-external-import no-import-prefix no-console -- a program of its own, run by agents_checks.ts
import { createAnthropic } from "npm:@ai-sdk/anthropic@4.0.105";
import { createOpenAICompatible } from "npm:@ai-sdk/openai-compatible@3.0.92";
import { createOpenAI } from "npm:@ai-sdk/openai@4.0.118";
import { generateText, stepCountIs, streamText, tool } from "npm:ai@7.0.173";
import { z } from "npm:zod@4.6.7";

const baseURL = Deno.env.get("GATEWAY_OPENAI") ?? "";
const apiKey = Deno.env.get("GATEWAY_KEY") ?? "";
const [name = ""] = Deno.args;
const models = {
  responses: () => createOpenAI({ baseURL, apiKey })("m"),
  chat: () => createOpenAI({ baseURL, apiKey }).chat("m"),
  compatible: () => createOpenAICompatible({ name: "gateway", baseURL, apiKey })("m"),
  messages: () => createAnthropic({ baseURL, apiKey })("m"),
};
const [api, isStreamed] = name.split(" ") as [keyof typeof models, string | undefined];
const add = tool({
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a + b),
});
const request = {
  model: models[api](),
  instructions: "You add.",
  prompt: "Please add 2 and 3.",
  tools: { add },
  stopWhen: stepCountIs(5),
};
if (isStreamed === undefined) console.log((await generateText(request)).text);
else console.log(await streamText(request).text);
