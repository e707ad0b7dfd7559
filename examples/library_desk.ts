// deno-lint-ignore-file no-console -- an example shows what it does
/** Plays the twelve tasks of a small domain in tau-bench's layout, with a scripted policy and scripted users. */
import { openaiCalls } from "@paddock/paddock/tools";
import { rollout, scriptedPolicy, ScriptFile } from "@paddock/paddock";
import {
  scriptedUser,
  TauBenchDomain,
  TauBenchEnv,
  ToolUserChat,
  toolUserTask,
} from "@paddock/paddock/tau-bench";

const path = decodeURIComponent(new URL("library_desk", import.meta.url).pathname);
const policy = await ScriptFile.read(`${path}/policy.jsonl`);
const users = await ScriptFile.read(`${path}/users.jsonl`);

await using domain = await TauBenchDomain.open({ path, domain: "library_desk" });
for (const split of domain.splits) {
  const user = scriptedUser(({ index }) =>
    users.repliesOf(`library_desk/${split}/${index}`)?.filter((line) => typeof line === "string")
  );
  const env = await TauBenchEnv.open({ domain, split, user });
  await using chat = new ToolUserChat(env, { toolCalls: openaiCalls() });
  for (let index = 0; index < env.taskCount; index++) {
    const task = toolUserTask(env, index);
    const { reward, rewardParts } = await rollout(
      chat,
      scriptedPolicy({ replies: ({ id }) => policy.repliesOf(id) }),
      task,
    );
    console.log(`${task.id} reward ${reward} ${JSON.stringify(rewardParts)}`);
    if (reward !== 1) {
      throw new Error(`Expected reward 1 for ${task.id}: got ${reward}, ${JSON.stringify(rewardParts)}`);
    }
  }
}
