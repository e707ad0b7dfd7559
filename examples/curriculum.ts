// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * Follows a curriculum: the difficulty of the problems rises while the policy solves most of them, and falls when the policy
 * solves few. The policy here solves the problems up to difficulty 4, in place of a model that learns.
 *
 * `deno run -A examples/curriculum.ts 200` plays 200 episodes, and prints each change of the difficulty.
 */
import { rollout, scriptedPolicy } from "@paddock/paddock";
import { Curriculum, familyTasks, makeEnv } from "@paddock/paddock/envs";

const episodes = Number(Deno.args[0] ?? 200);
const family = "paddock/graph-paths";
const skill = 4;

const curriculum = new Curriculum({ window: 16 });
await using env = await makeEnv(family);
let last = curriculum.difficulty;
for (let episode = 0; episode < episodes; episode++) {
  const { difficulty } = curriculum;
  for (const task of familyTasks(family, { difficulty, start: episode, count: 1 })) {
    const replies = difficulty <= skill ? task.replies ?? [] : ["I do not know."];
    const { reward } = await rollout(env, scriptedPolicy({ replies: () => replies }), task);
    curriculum.record({ difficulty, reward });
  }
  if (curriculum.difficulty !== last) {
    console.log(`episode ${episode + 1}: difficulty ${curriculum.difficulty}`);
  }
  last = curriculum.difficulty;
}
