import type { History } from "../history.ts";
import type { ToolSpec } from "../message.ts";
import type { Task } from "../task.ts";
import type { BlocksNotRun } from "../tools/code_blocks/blocks_not_run.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import type { Action } from "./action.ts";

/** State that the policy responds to. */
export interface Observation {
  readonly task: Task;
  readonly history: {
    /** All messages so far. */
    readonly prompt: History;
  };
  /** Prompt as text, if the env or a transform renders it. */
  readonly text?: { readonly prompt: string };
  /** Prompt as token ids, if the env or a transform encodes it; append-only. */
  readonly tokens?: { readonly prompt: readonly number[] };
  /** Tools that the policy may call. */
  readonly tools?: readonly ToolSpec[];
  /** Number of steps so far, if a `StepCounter` counts them. */
  readonly stepCount?: number;
  /** Further data about the episode, for a trainer. Plain data that no policy sees. */
  readonly info?: Readonly<Record<string, unknown>>;
  /** Version of the current policy, if a `PolicyVersion` tracks it. */
  readonly policyVersion?: number | string;
}

/** Result of an action. */
export interface Step extends Observation {
  /** Reward of this step; `null` if it was not scored. */
  readonly reward: number | null;
  /** Parts of the reward by name; `null` for a part that could not be scored. */
  readonly rewardParts?: Readonly<Record<string, number | null>>;
  /** Reason why a grader gave no score. */
  readonly unscored?: string;
  /** True if the episode reached its natural end. */
  readonly terminated: boolean;
  /** True if a limit cut the episode off. */
  readonly truncated: boolean;
  /** Tool results of this step, in the order of their messages. */
  readonly toolResults: readonly ToolResult[];
  /** Code blocks of the reply that an interpreter did not run, and tool calls in its thoughts; absent if there are none. */
  readonly blocksNotRun?: readonly BlocksNotRun[];
}

/** Options of {@linkcode Env.reset}. */
export interface EnvResetOptions {
  /** Seed of the episode's randomness. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode Env.step}. */
export interface StepOptions {
  signal?: AbortSignal | undefined;
}

/** Plays one episode at a time: `reset` starts it, `step` advances it until it is terminated or truncated. */
export interface Env extends AsyncDisposable {
  reset(task: Task, options?: EnvResetOptions): Promise<Observation>;
  step(action: Action, options?: StepOptions): Promise<Step>;
  /**
   * Ends the episode at a limit outside of the env, such as the context of the model, and returns its last step, which
   * is truncated and has the reward for the work so far. Without this method, the episode gets no further reward.
   *
   * @param observation What the env returned last, with the changes of those that wrap the env.
   */
  truncate?(observation: Observation, options?: StepOptions): Promise<Step>;
}

/** Ends the episode of an env at a limit outside of it. */
export async function truncateEnv(env: Env, observation: Observation, options?: StepOptions): Promise<Step> {
  const outcome = { reward: null, terminated: false, truncated: true, toolResults: [] };
  return await env.truncate?.(observation, options) ?? { ...observation, ...outcome };
}
