import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { loadTokenizer } from "../chat/load_tokenizer.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { OwningEnv } from "../envs/owning_env.ts";
import type { AgentConfig } from "../envs/workspace/agent_config.ts";
import { loadAgentConfig } from "../envs/workspace/config/load_agent.ts";
import { loadWorkspaceTask } from "../envs/workspace/config/load_task.ts";
import type { WorkspaceTask } from "../envs/workspace/task.ts";
import { WorkspaceEnv, type WorkspaceEnvOptions } from "../envs/workspace/workspace_env.ts";
import { Workspaces, type WorkspacesOptions } from "../envs/workspace/workspaces.ts";
import { ConditionalSkip } from "../transforms/conditional_skip.ts";
import { IsolateCodeBlock } from "../transforms/mlgym/isolate_code_block.ts";
import { MessageToHistory } from "../transforms/mlgym/message_to_history.ts";
import { mlgymRecordOf } from "../transforms/mlgym/mlgym_record.ts";
import { MLGymRewardAssignment, type RewardAt } from "../transforms/mlgym/mlgym_reward_assignment.ts";
import { ResetModule } from "../transforms/mlgym/reset_module.ts";
import { ReadState, StateToMessage } from "../transforms/mlgym/state_to_message.ts";
import { TaskSampler } from "../transforms/mlgym/task_sampler.ts";
import { TemplateTransform } from "../transforms/mlgym/template_transform.ts";
import type { Transform } from "../transforms/transform.ts";
import { TransformedEnv } from "../transforms/transformed_env.ts";

/** Options of {@linkcode mlgymEnv}. */
export interface MLGymEnvOptions extends MLGymOptions, Pick<WorkspaceEnvOptions, "timeoutMs" | "silenceMs"> {
  /**
   * Maximum number of steps. The next step evaluates the current work.
   *
   * @default 10
   */
  maxSteps?: number | undefined;
}

/** Options of {@linkcode makeMLGym}. */
export interface MakeMLGymOptions
  extends Omit<MLGymEnvOptions, "tokenizer">, Pick<WorkspacesOptions, "cacheDir" | "onBuild"> {
  /** Task: a folder with a `task.yaml`, a YAML file, or a loaded task. */
  task?: string | WorkspaceTask | undefined;
  /** Several tasks, of which each episode plays a random one; exclusive with `task`. */
  tasks?: readonly (string | WorkspaceTask)[] | undefined;
  /** Tokenizer or a tokenizer's folder. If set, each prompt is also given as text. */
  tokenizer?: Tokenizer | string | undefined;
  /**
   * Agent: a YAML file, or a loaded agent.
   *
   * @default Paddock's own agent
   */
  agent?: string | AgentConfig | undefined;
}

/**
 * Makes TorchRL's MLGym env: an agent works on a task in a shell, with a command per reply. The reward is the gain
 * over the baseline. The env owns the sandboxes.
 *
 * Python and the shell run in a sandbox. Submissions are scored in separate processes.
 *
 * @example
 * ```ts ignore
 * import { makeMLGym } from "@paddock/paddock/mlgym";
 * import { openaiPolicy, rollout } from "@paddock/paddock";
 *
 * await using env = await makeMLGym({ task: "examples/workspace/bug_fixing" });
 * const policy = openaiPolicy({ url: "http://localhost:8000", model: "qwen" });
 * const { reward } = await rollout(env, policy, { id: "bug_fixing", query: "" });
 * ```
 *
 * @throws {RangeError} if not exactly one of `task` and `tasks` is set, or a task cannot be played.
 * @throws {SyntaxError} if a YAML file is invalid; the message has the file and the line.
 * @throws {Deno.errors.NotFound} if a file does not exist.
 */
export async function makeMLGym(options: MakeMLGymOptions): Promise<TransformedEnv> {
  requireKnownOptions("call makeMLGym", options, {
    ...ML_GYM_ENV_OPTIONS,
    task: true,
    tasks: true,
    agent: true,
    cacheDir: true,
    onBuild: true,
  });
  const { task, tasks, tokenizer, agent, cacheDir, onBuild, ...rest } = options;
  if ((task === undefined) === (tasks === undefined)) {
    throw new RangeError(
      "Either task or tasks should be provided, not both and not none. " +
        `Got task=${describeTask(task)} and tasks=${describeTask(tasks)}.`,
    );
  }
  const loaded = await Promise.all((tasks ?? [task ?? ""]).map((each) => loadTask(each)));
  const workspaces = new Workspaces({
    tasks: loaded,
    cacheDir,
    onBuild,
    agent: typeof agent === "object" ? agent : await loadAgentConfig(agent),
  });
  const loadedTokenizer = typeof tokenizer === "string" ? await loadTokenizer(tokenizer) : tokenizer;
  const env = mlgymBase(workspaces, rest);
  const samples = tasks !== undefined;
  const { agent: loadedAgent } = workspaces;
  return new TransformedEnv(
    new OwningEnv(env, workspaces),
    mlgymTransforms({
      ...pickKnownOptions(rest, ML_GYM_TRANSFORMS_OPTIONS),
      tasks: loaded,
      agent: loadedAgent,
      samples,
      tokenizer: loadedTokenizer,
    }),
  );
}

/** Makes the MLGym env over shared workspaces. The task of an episode selects the workspace. */
export function mlgymEnv(workspaces: Workspaces, options: MLGymEnvOptions = {}): TransformedEnv {
  requireKnownOptions("call mlgymEnv", options, ML_GYM_ENV_OPTIONS);
  const { tasks, agent } = workspaces;
  const transforms = mlgymTransforms({
    ...pickKnownOptions(options, ML_GYM_TRANSFORMS_OPTIONS),
    tasks,
    agent,
    samples: false,
  });
  return new TransformedEnv(mlgymBase(workspaces, options), transforms);
}

function mlgymBase(workspaces: Workspaces, options: MLGymEnvOptions): WorkspaceEnv {
  const { maxSteps = 10, timeoutMs, silenceMs } = options;
  return new WorkspaceEnv({ workspaces: (id) => workspaces.workspace(id), maxSteps, timeoutMs, silenceMs });
}

async function loadTask(task: string | WorkspaceTask): Promise<WorkspaceTask> {
  return typeof task === "string" ? await loadWorkspaceTask(task) : task;
}

function describeTask(task: MakeMLGymOptions["task"] | MakeMLGymOptions["tasks"]): string {
  if (task === undefined) return "None";
  if (typeof task === "string") return `'${task}'`;
  return "id" in task ? `'${task.id}'` : `[${task.map(describeTask).join(", ")}]`;
}

/** Options of the MLGym env that do not concern tasks. */
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
  /**
   * True if each episode plays a random task. Else the episode's task selects the workspace; the default is the first
   * task.
   */
  readonly samples: boolean;
}

/** Returns the transforms of TorchRL's MLGym wrapper, in order. */
export function mlgymTransforms(options: MLGymTransformsOptions): Transform[] {
  requireKnownOptions("call mlgymTransforms", options, ML_GYM_TRANSFORMS_OPTIONS);
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

/** Names of the options of all functions here. */
const ML_GYM_OPTIONS: Readonly<Record<keyof MLGymOptions, true>> = {
  tokenizer: true,
  chatTemplateName: true,
  rewardWrongFormat: true,
  maxRequeries: true,
  rewardAt: true,
  lastObservations: true,
  seed: true,
};

/** Names of the options of {@linkcode mlgymEnv}. */
const ML_GYM_ENV_OPTIONS: Readonly<Record<keyof MLGymEnvOptions, true>> = {
  ...ML_GYM_OPTIONS,
  maxSteps: true,
  timeoutMs: true,
  silenceMs: true,
};

/** Names of the options of {@linkcode mlgymTransforms}. */
const ML_GYM_TRANSFORMS_OPTIONS: Readonly<Record<keyof MLGymTransformsOptions, true>> = {
  ...ML_GYM_OPTIONS,
  tasks: true,
  agent: true,
  samples: true,
};
