// deno-lint-ignore-file no-console -- an example shows what it does
/** Plays an episode that calls a host tool, a tool in a file without permissions, and a stop tool. */
import {
  ChatEnv,
  messageText,
  rollout,
  scriptedPolicy,
  tool,
  toolFile,
  ToolTransform,
  TransformedEnv,
} from "@paddock/paddock";
import { RateLimiter, stopTool } from "@paddock/paddock/tools";
import { z } from "zod";

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
});
await using words = await toolFile(new URL("./tools/words.ts", import.meta.url), { permissions: {} });
await using env = new TransformedEnv(new ChatEnv(), [
  new ToolTransform({
    tools: [add, words, stopTool()],
    timeoutMs: 500,
    rateLimits: new RateLimiter({ maxConcurrent: 2 }),
  }),
]);
const { messages, toolResults, terminated } = await rollout(env, scriptedPolicy(), {
  id: "sum",
  query: "What is 2 + 2?",
  replies: [
    '<tool>add\n{"a": 2, "b": "two"}</tool>\n<tool>words\n{"text": "sand in a box"}</tool>',
    '<tool>add\n{"a": 2, "b": 2}</tool>',
    '<tool>stop\n{"reason": "2 + 2 is 4"}</tool>',
  ],
});
for (const message of messages) console.log(`${message.role}: ${messageText(message)}\n`);
const statuses = toolResults.map(({ status }) => status).join(" ");
if (statuses !== "bad_arguments ok ok ok" || !terminated) throw new Error(JSON.stringify(messages, null, 2));
