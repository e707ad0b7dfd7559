import { emptyTrajectory } from "../../src/rollout/trajectory.ts";

/** Returns the line of an episode. */
export function rowOf(fields: Readonly<Record<string, unknown>> = {}): string {
  const { id = "task", ...rest } = fields as { readonly id?: string };
  return JSON.stringify({
    ...emptyTrajectory({ id, query: "What is 6 times 7?" }, { policy: "qwen", envName: "python" }),
    messages: [{ role: "user", content: "What is 6 times 7?" }, { role: "assistant", content: "42" }],
    turns: 1,
    reward: 1,
    terminated: true,
    times: { totalMs: 10, policyMs: 7, envMs: 3 },
    ...rest,
  });
}

/** Returns a file of episodes: two samples for each task, of which every third task is solved. */
export function runOf(count: number, fields: (at: number) => Record<string, unknown> = () => ({})): string {
  return Array.from({ length: count }, (_, at) => {
    const task = Math.floor(at / 2);
    return `${
      rowOf({
        id: `task-${task}`,
        sample: at % 2 + 1,
        reward: task % 3 === 0 ? 1 : 0,
        times: { totalMs: 1000 - at, policyMs: 0, envMs: 0 },
        ...fields(at),
      })
    }\n`;
  }).join("");
}
