import type { RewardInfo } from "../tool_user_env.ts";
import { RESPOND } from "../tool_user_env.ts";
import type { DomainTask } from "./domain_description.ts";
import type { TaskTruth } from "./tau_bench_domain.ts";

/** What an episode came to. */
export interface EpisodeEnd {
  readonly task: DomainTask;
  readonly truth: TaskTruth;
  /** The changes of the episode's data, as a text to compare. */
  readonly changes: string;
  /** Which of the task's outputs were said. */
  readonly outputs: Readonly<Record<string, boolean>>;
}

/** tau-bench's reward with both of its parts; `outputs` is `null` for a task that wants none. */
export interface EpisodeReward extends RewardInfo {
  readonly rewardParts: { readonly database: number; readonly outputs: number | null };
}

/** Gives 1 when the data are as they should be and every output was said, and 0 otherwise. */
export function rewardOf({ task, truth, changes, outputs }: EpisodeEnd): EpisodeReward {
  const database = changes === truth.changes ? 1 : 0;
  const wantsOutputs = task.outputs.length > 0;
  const said = task.outputs.every((output) => outputs[output] === true) ? 1 : 0;
  return {
    reward: database * said,
    rewardParts: { database, outputs: wantsOutputs ? said : null },
    info: {
      r_actions: database,
      gt_data_hash: truth.dataHash,
      ...(wantsOutputs && { r_outputs: said, outputs }),
    },
    actions: task.actions.filter(({ name }) => name !== RESPOND).map(({ name, kwargs }) => ({
      name,
      kwargs,
    })),
    trivial: truth.changesNothing && !wantsOutputs,
  };
}
