// deno-lint-ignore-file no-console -- an example shows what it does
/** Gives a model a tool that runs in a separate process without permissions. */
import {
  ChatEnv,
  messageText,
  rollout,
  scriptedPolicy,
  ToolTransform,
  TransformedEnv,
} from "@paddock/paddock";
import { toolFile } from "@paddock/paddock/tools";

const file = new URL("../tools/words.ts", import.meta.url); // exports description, parameters and run
await using words = await toolFile(file, { permissions: {} });
await using env = new TransformedEnv(new ChatEnv(), [
  new ToolTransform({ tools: [words], timeoutMs: 2_000 }),
]);
const { messages, toolResults } = await rollout(env, scriptedPolicy(), {
  id: "count",
  query: "How many words are in 'the quick brown fox'?",
  replies: [
    '<tool>words\n{"txt": "the quick brown fox"}</tool>', // the name of the argument is wrong
    '<tool>words\n{"text": "the quick brown fox"}</tool>',
    "There are 4 words.",
  ],
});
for (const message of messages.slice(1)) console.log(`${message.role}: ${messageText(message)}`);
console.log(toolResults.map(({ tool, status }) => `${tool} ${status}`).join(", "));
