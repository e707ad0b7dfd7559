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

/** What the wrapper of MLGym is told beside its tasks. */
export interface MLGymOptions {
  /** Gives each prompt as text too; the history alone unless given. */
  tokenizer?: Tokenizer | undefined;
  /** A family of chat templates, in the place of the tokenizer's own. */
  chatTemplateName?: string | undefined;
  /** Added to the reward of a step whose reply held no command; nothing unless given. */
  rewardWrongFormat?: number | undefined;
  /** How often in a row a policy is asked once more whose reply held no command; 3 unless given. */
  maxRequeries?: number | undefined;
  /** What is worth a reward; the work at the `end` unless given. */
  rewardAt?: RewardAt | undefined;
  /**
   * How many observations a prompt holds whole: a number, or `all`, which tokens that are only ever added to need. As
   * the agent has it unless given.
   */
  lastObservations?: number | "all" | undefined;
  /** Makes the row of tasks reproducible where a reset has no seed; 42 unless given, as in TorchRL. */
  seed?: number | undefined;
}

/** What is played through the wrapper. */
export interface MLGymTransformsOptions extends MLGymOptions {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
  /** Whether each episode plays one of the tasks by chance; else its own task says which, or the first is played. */
  readonly samples: boolean;
}

/** The transforms of TorchRL's wrapper of MLGym, in their order. */
export function mlgymTransforms(options: MLGymTransformsOptions): Transform[] {
  const { tasks, agent, samples, tokenizer, chatTemplateName, rewardAt, seed = 42 } = options;
  const { rewardWrongFormat, maxRequeries, lastObservations = agent.lastObservations } = options;
  const played = { tasks, agent };
  return [
    new ConditionalSkip({ cond: (action) => mlgymRecordOf(action).retry === true }),
    new IsolateCodeBlock({ ...played, rewardWrongFormat, maxRequeries }),
    new ResetModule(played),
    ...(samples ? [new TaskSampler({ tasks: tasks.map(({ id }) => id), seed })] : []),
    new ReadState(),
    new StateToMessage(played),
    new MessageToHistory({ lastObservations: lastObservations === "all" ? undefined : lastObservations }),
    new TemplateTransform({ tokenizer, chatTemplateName, rendersText: tokenizer !== undefined }),
    new MLGymRewardAssignment({ rewardAt }),
  ];
}
