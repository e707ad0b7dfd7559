// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * Plays a game of MLGym's kind: an agent improves a strategy in a workspace with a shell and submits it. The
 * reward is the gain over the strategy that it found there.
 */
import { messageText, rollout, scriptedPolicy } from "@paddock/paddock";
import { makeMLGym } from "@paddock/paddock/mlgym";

const task = decodeURIComponent(new URL("../workspace/blotto", import.meta.url).pathname);
await using env = await makeMLGym({ task });
const replies = [
  "What is the strategy now?\n```\ntail -n 2 strategy.py\n```",
  "I give two fields up and hold four.\n```\n" +
  "echo 'def row_strategy(history): return [0, 0, 30, 30, 30, 30]' > strategy.py\n```",
  "```\nsubmit\n```",
];
const policy = scriptedPolicy({ replies: () => replies });
const { messages, reward } = await rollout(env, policy, { id: "blotto", query: "" }, { seed: 1 });
for (const message of messages.slice(2, -1)) console.log(`${message.role}: ${messageText(message)}\n`);
console.log("reward:", reward?.toFixed(3));
