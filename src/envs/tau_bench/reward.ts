import { RESPOND, type RewardInfo } from "../tool_user_env.ts";
import type { DomainTask } from "./domain_description.ts";
import type { ExpectedEnd } from "./tau_bench_domain.ts";

/** End state of an episode. */
export interface DomainEpisodeEnd {
  readonly task: DomainTask;
  readonly expected: ExpectedEnd;
  /** Changes of the episode's data, as a text to compare. */
  readonly changes: string;
  /** For each of the task's outputs, true if the agent's messages contain it. */
  readonly outputs: Readonly<Record<string, boolean>>;
}

/** tau-bench's reward with both of its parts; `outputs` is `null` for a task without outputs. */
export interface EpisodeReward extends RewardInfo {
  readonly rewardParts: { readonly database: number; readonly outputs: number | null };
}

/** Returns reward 1 if the data are as expected and all outputs were given to the user, else 0. */
export function rewardOf({ task, expected, changes, outputs }: DomainEpisodeEnd): EpisodeReward {
  const database = changes === expected.changes ? 1 : 0;
  const hasOutputs = task.outputs.length > 0;
  const allOutputs = task.outputs.every((output) => outputs[output] === true) ? 1 : 0;
  return {
    reward: database * allOutputs,
    rewardParts: { database, outputs: hasOutputs ? allOutputs : null },
    info: {
      r_actions: database,
      gt_data_hash: expected.dataHash,
      ...(hasOutputs && { r_outputs: allOutputs, outputs }),
    },
    actions: task.actions.filter(({ name }) => name !== RESPOND).map(({ name, kwargs }) => ({
      name,
      kwargs,
    })),
    trivial: expected.changesNothing && !hasOutputs,
  };
}
