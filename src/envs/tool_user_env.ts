import type { EpisodeCheckpoint, EpisodeCheckpointOptions } from "../episode_checkpoint.ts";

/** Name of the action that sends a message to the user. */
export const RESPOND = "respond";

/** Action of an agent: a tool call, or {@linkcode RESPOND} with the message to the user as `content`. */
export interface ToolUserAction {
  readonly name: string;
  /** Arguments by name, as the model wrote them. Untrusted: the env must accept any values. */
  readonly kwargs: Readonly<Record<string, unknown>>;
  /** Arguments as JSON text, if known. It keeps 50.0 and 50 apart, which an env in Python needs. */
  readonly kwargsText?: string;
}

/** Description of a tool in the format of OpenAI's API. Chat templates write its keys in this order. */
export interface ToolInfo {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    /** A JSON Schema. */
    readonly parameters: Readonly<Record<string, unknown>>;
  };
}

/** Details of an env's reward. Plain data with the keys of tau-bench's `RewardResult`. */
export interface RewardInfo {
  readonly reward: number;
  /** Such as `{ r_actions, gt_data_hash, r_outputs, outputs }`. */
  readonly info: Readonly<Record<string, unknown>>;
  /** Expected actions. */
  readonly actions: readonly ToolUserAction[];
  /** True if an agent that does nothing gets the full reward. */
  readonly trivial?: boolean;
}

/** Further data beside the observation. Plain data; each step's values are merged over the earlier ones. */
export interface ToolUserInfo {
  /** Task as the env stores it. */
  readonly task?: unknown;
  /** Source of the observation: `user`, or the name of the tool. */
  readonly source?: string;
  /** Cost of the user simulator; present at the end. */
  readonly user_cost?: number;
  /** Present at the end. */
  readonly reward_info?: RewardInfo;
  readonly [key: string]: unknown;
}

/** Result of {@linkcode ToolUserEnv.reset}. */
export interface ToolUserReset {
  /** First message of the user. */
  readonly observation: string;
  readonly info: ToolUserInfo;
}

/** Result of {@linkcode ToolUserEnv.step}. */
export interface ToolUserStep {
  /** Output of the tool, or message of the user. */
  readonly observation: string;
  /** Reward of the episode once it is done; 0 before. */
  readonly reward: number;
  /** Parts of the reward by name, such as `database` and `outputs`; `null` for a part that does not apply. */
  readonly rewardParts?: Readonly<Record<string, number | null>>;
  /** True if the user ended the conversation, or a terminate tool was called. */
  readonly done: boolean;
  readonly info: ToolUserInfo;
}

/** Options of {@linkcode ToolUserEnv.reset}. */
export interface ToolUserResetOptions {
  /** Seed of the episode's randomness. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode ToolUserEnv.step}. */
export interface ToolUserStepOptions {
  signal?: AbortSignal | undefined;
}

/**
 * An env in the shape of tau-bench: an agent talks with a user and calls tools that change a database. The reward
 * comes at the end and depends on the database and on the agent's messages.
 *
 * It plays one episode at a time. A failing tool, an unknown tool and wrong arguments give observations
 * (`Error: …`, `Unknown action n`), and the episode continues. Failures that the agent did not cause reject: with
 * an `EpisodeError` if a boundary failed, such as the user's model or the sandbox.
 */
export interface ToolUserEnv extends AsyncDisposable {
  /** Such as `retail/test`. */
  readonly name: string;
  /** Number of tasks. */
  readonly taskCount: number;
  /** Tools, in the order in which a chat template writes them. */
  readonly toolsInfo: readonly ToolInfo[];
  /** Instructions for the agent, used as the system message. */
  readonly wiki: string;
  /** Short rules, for agents that use them. */
  readonly rules: readonly string[];
  /** Names of the tools that end the episode. */
  readonly terminateTools: readonly string[];
  /**
   * Starts the episode of a task, and abandons an unfinished one.
   *
   * @throws {RangeError} if the index is not a whole number from 0 to `taskCount` - 1.
   */
  reset(taskIndex: number, options?: ToolUserResetOptions): Promise<ToolUserReset>;
  /** @throws {Error} before the first reset, and after the episode is done. */
  step(action: ToolUserAction, options?: ToolUserStepOptions): Promise<ToolUserStep>;
  /**
   * Returns the state of the env. Without this method, its episodes have no copies.
   *
   * @throws {CheckpointError} if a part of it, such as the user, cannot be copied.
   */
  checkpoint?(options?: EpisodeCheckpointOptions): Promise<EpisodeCheckpoint<ToolUserEnv>>;
}

/** Returns the action that sends a message to the user. */
export function respondAction(content: string): ToolUserAction {
  return { name: RESPOND, kwargs: { content } };
}

/** True if the env is a {@linkcode ToolUserEnv}, not an env of tasks and messages. */
export function isToolUserEnv(env: object): env is ToolUserEnv {
  return "toolsInfo" in env && "taskCount" in env;
}
