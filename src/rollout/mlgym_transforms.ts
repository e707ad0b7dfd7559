import type { Tokenizer } from "../chat/tokenizer.ts";
import type { AgentConfig } from "../envs/workspace/agent_config.ts";
import type { WorkspaceTask } from "../envs/workspace/workspace_task.ts";
import { ConditionalSkip } from "../transforms/conditional_skip.ts";
import { IsolateCodeBlock } from "../transforms/mlgym/isolate_code_block.ts";
import { MessageToHistory } from "../transforms/mlgym/message_to_history.ts";
import { MLGymRewardAssignment, type RewardAt } from "../transforms/mlgym/mlgym_reward_assignment.ts";
import { mlgymRecordOf } from "../transforms/mlgym/mlgym_record.ts";
import { ReadState } from "../transforms/mlgym/read_state.ts";
import { ResetModule } from "../transforms/mlgym/reset_module.ts";
import { StateToMessage } from "../transforms/mlgym/state_to_message.ts";
import { TaskSampler } from "../transforms/mlgym/task_sampler.ts";
import { TemplateTransform } from "../transforms/mlgym/template_transform.ts";
import type { Transform } from "../transforms/transform.ts";

/** Options of the MLGym env that do not concern its tasks. */
export interface MLGymOptions {
  /** Tokenizer. If set, each prompt is also given as text. */
  tokenizer?: Tokenizer | undefined;
  /**
   * Family of chat templates.
   *
   * @default the tokenizer's own template
   */
  chatTemplateName?: string | undefined;
  /**
   * Added to the reward of a step whose reply holds no command.
   *
   * @default 0
   */
  rewardWrongFormat?: number | undefined;
  /**
   * Maximum number of consecutive retries after replies without a command.
   *
   * @default 3
   */
  maxRequeries?: number | undefined;
  /**
   * Evaluations that give a reward.
   *
   * @default "end"
   */
  rewardAt?: RewardAt | undefined;
  /**
   * Number of observations that a prompt holds at full length. Append-only tokens need `all`.
   *
   * @default the agent's setting
   */
  lastObservations?: number | "all" | undefined;
  /**
   * Seed of the order of tasks, used if a reset has no seed.
   *
   * @default 42, as in TorchRL
   */
  seed?: number | undefined;
}

/** Options of {@linkcode mlgymTransforms}. */
export interface MLGymTransformsOptions extends MLGymOptions {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
  /** True if each episode plays a random task. Else the episode's task selects it; the default is the first one. */
  readonly samples: boolean;
}

/** Returns the transforms of TorchRL's MLGym wrapper, in order. */
export function mlgymTransforms(options: MLGymTransformsOptions): Transform[] {
  const { tasks, agent, samples, tokenizer, chatTemplateName, rewardAt, seed = 42 } = options;
  const { rewardWrongFormat, maxRequeries, lastObservations = agent.lastObservations } = options;
  const context = { tasks, agent };
  return [
    new ConditionalSkip({ cond: (action) => mlgymRecordOf(action).retry === true }),
    new IsolateCodeBlock({ ...context, rewardWrongFormat, maxRequeries }),
    new ResetModule(context),
    ...(samples ? [new TaskSampler({ tasks: tasks.map(({ id }) => id), seed })] : []),
    new ReadState(),
    new StateToMessage(context),
    new MessageToHistory({ lastObservations: lastObservations === "all" ? undefined : lastObservations }),
    new TemplateTransform({ tokenizer, chatTemplateName, rendersText: tokenizer !== undefined }),
    new MLGymRewardAssignment({ rewardAt }),
  ];
}
