// deno-lint-ignore-file no-console -- an example shows what it does
/** Plays two tasks of a domain in tau-bench's layout: a customer, an agent with tools, and a database. */
import { rollout, scriptedPolicy, ScriptFile } from "@paddock/paddock";
import {
  scriptedUser,
  TauBenchDomain,
  TauBenchEnv,
  ToolUserChat,
  toolUserTask,
} from "@paddock/paddock/tau-bench";
import { openaiCalls } from "@paddock/paddock/tools";

// A checkout of tau-bench has the same layout: `path: "tau-bench", domain: "retail"`.
const path = decodeURIComponent(new URL("../library_desk", import.meta.url).pathname);
await using domain = await TauBenchDomain.open({ path, domain: "library_desk" });
// Scripts stand in for the two models: `llmUser` and `openaiPolicy` take their places.
const [policy, users] = await Promise.all(
  ["policy", "users"].map((name) => ScriptFile.read(`${path}/${name}.jsonl`)),
);
const user = scriptedUser(({ index }) =>
  users?.repliesOf(`library_desk/test/${index}`)?.filter((line) => typeof line === "string")
);
const env = await TauBenchEnv.open({ domain, split: "test", user });
await using chat = new ToolUserChat(env, { toolCalls: openaiCalls() });
for (const index of [0, 1]) {
  const task = toolUserTask(env, index);
  const agent = scriptedPolicy({ replies: ({ id }) => policy?.repliesOf(id) });
  const { reward, rewardParts, toolResults } = await rollout(chat, agent, task);
  console.log(task.id, "calls:", toolResults.map(({ tool }) => tool).join(", "));
  console.log("reward", reward, rewardParts);
}
