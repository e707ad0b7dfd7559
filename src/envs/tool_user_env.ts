/** The name of the action that says something to the user. */
export const RESPOND = "respond";

/** What an agent does: a call of a tool, or {@linkcode RESPOND} with the `content` that the user is told. */
export interface ToolUserAction {
  readonly name: string;
  /** The arguments by name, as the model wrote them: the env has to expect anything. */
  readonly kwargs: Readonly<Record<string, unknown>>;
  /** The same as JSON text, where it is at hand: it tells 50.0 from 50, and an env in Python does so too. */
  readonly kwargsText?: string;
}

/** A tool in the words of OpenAI's API, its keys in the order in which a chat template writes them. */
export interface ToolInfo {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    /** A JSON Schema. */
    readonly parameters: Readonly<Record<string, unknown>>;
  };
}

/** Where an env's reward came from. Plain data, in the words of tau-bench's `RewardResult`. */
export interface RewardInfo {
  readonly reward: number;
  /** Such as `{ r_actions, gt_data_hash, r_outputs, outputs }`. */
  readonly info: Readonly<Record<string, unknown>>;
  /** What was to be done. */
  readonly actions: readonly ToolUserAction[];
  /** True when an agent that does nothing would be given the full reward. */
  readonly trivial?: boolean;
}

/** What an env tells beside its observation. Plain data; that of a step is merged over what was told before. */
export interface ToolUserInfo {
  /** The task as the env's data have it. */
  readonly task?: unknown;
  /** Who made the observation: `user`, or the name of the tool. */
  readonly source?: string;
  /** What the user simulator has cost, told at the end. */
  readonly user_cost?: number;
  /** Told at the end. */
  readonly reward_info?: RewardInfo;
  readonly [key: string]: unknown;
}

/** How an episode begins. */
export interface ToolUserReset {
  /** The user's first words. */
  readonly observation: string;
  readonly info: ToolUserInfo;
}

/** What came of an action. */
export interface ToolUserStep {
  /** What the tool gave, or the user said. */
  readonly observation: string;
  /** What the episode was worth when it is done; 0 before. */
  readonly reward: number;
  /** What the reward was made of, by name, such as `database` and `outputs`; `null` for a part that does not apply. */
  readonly rewardParts?: Readonly<Record<string, number | null>>;
  /** The user said that they are done, or a terminate tool was called. */
  readonly done: boolean;
  readonly info: ToolUserInfo;
}

/** What a reset of a {@linkcode ToolUserEnv} may be given beside its task. */
export interface ToolUserResetOptions {
  /** Makes the episode's chance reproducible, as far as its parts can. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What a step of a {@linkcode ToolUserEnv} may be given beside its action. */
export interface ToolUserStepOptions {
  signal?: AbortSignal | undefined;
}

/**
 * An env in the shape of tau-bench: an agent talks with a user and calls tools that change a database; the reward
 * is given at the end, for what the database and the agent's words are then.
 *
 * One episode at a time. A tool that fails, an unknown tool, and arguments of wrong types are observations
 * (`Error: …`, `Unknown action n`), and the episode goes on; only what is no fault of the agent rejects: with an
 * `EpisodeError` where a boundary failed, such as the user's model or the sandbox.
 */
export interface ToolUserEnv extends AsyncDisposable {
  /** Such as `retail/test`. */
  readonly name: string;
  /** How many tasks there are. */
  readonly taskCount: number;
  /** The tools, in the order in which a chat template writes them. */
  readonly toolsInfo: readonly ToolInfo[];
  /** What the agent must know, put first as the system message. */
  readonly wiki: string;
  /** Short rules, for agents that want them. */
  readonly rules: readonly string[];
  /** The tools that end the episode. */
  readonly terminateTools: readonly string[];
  /**
   * Starts the episode of a task, whatever became of the one before.
   *
   * @throws {RangeError} when the index is not a whole number from 0 to below `taskCount`.
   */
  reset(taskIndex: number, options?: ToolUserResetOptions): Promise<ToolUserReset>;
  /** @throws {Error} before the first reset, and when the episode is done. */
  step(action: ToolUserAction, options?: ToolUserStepOptions): Promise<ToolUserStep>;
}

/** The action of saying something to the user. */
export function respondAction(content: string): ToolUserAction {
  return { name: RESPOND, kwargs: { content } };
}

/** True for an env that is played by task index and actions, not by tasks and messages. */
export function isToolUserEnv(env: object): env is ToolUserEnv {
  return "toolsInfo" in env && "taskCount" in env;
}
