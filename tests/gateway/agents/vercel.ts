/** Plays one task with Vercel's AI SDK, unmodified: `vercel.ts NAME`, with the base URLs and the key in the environment. */
// deno-lint-ignore-file no-console -- a program of its own, which agents_checks.ts runs

/** Packages, which are fetched: the checks of all files must need no network, so that no import names them. */
const PACKAGES = {
  ai: "npm:ai@7.0.173",
  anthropic: "npm:@ai-sdk/anthropic@4.0.105",
  compatible: "npm:@ai-sdk/openai-compatible@3.0.92",
  openai: "npm:@ai-sdk/openai@4.0.118",
  zod: "npm:zod@4.6.7",
};
const { generateText, stepCountIs, streamText, tool } = await import(PACKAGES.ai);
const { createAnthropic } = await import(PACKAGES.anthropic);
const { createOpenAICompatible } = await import(PACKAGES.compatible);
const { createOpenAI } = await import(PACKAGES.openai);
const { z } = await import(PACKAGES.zod);

const baseURL = Deno.env.get("GATEWAY_OPENAI");
const apiKey = Deno.env.get("GATEWAY_KEY");
const models: Readonly<Record<string, () => unknown>> = {
  responses: () => createOpenAI({ baseURL, apiKey })("m"),
  chat: () => createOpenAI({ baseURL, apiKey }).chat("m"),
  compatible: () => createOpenAICompatible({ name: "gateway", baseURL, apiKey })("m"),
  messages: () => createAnthropic({ baseURL, apiKey })("m"),
};
const [api = "", isStreamed] = Deno.args[0]?.split(" ") ?? [];
const request = {
  model: models[api]?.(),
  instructions: "You add.",
  prompt: "Please add 2 and 3.",
  tools: {
    add: tool({
      description: "Adds two numbers.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }: { a: number; b: number }) => String(a + b),
    }),
  },
  stopWhen: stepCountIs(5),
};
if (isStreamed === undefined) console.log((await generateText(request)).text);
else console.log(await streamText(request).text);
