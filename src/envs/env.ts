import { History } from "../history.ts";
import type { Task } from "../task.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import type { ToolSpec } from "../tool_spec.ts";

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

/** Response of the policy. */
export interface Action {
  readonly history?: {
    /** Messages of the policy, which are appended to the prompt. */
    readonly response?: History;
    /** Prompt and response in one; takes precedence over `response`. */
    readonly full?: History;
  };
  /** Response as text, for an env in text mode. */
  readonly text?: { readonly response?: string; readonly full?: string };
  /** Response as the sampled token ids, which are never tokenised again. */
  readonly tokens?: {
    readonly response?: readonly number[];
    readonly full?: readonly number[];
    /** Log-probability of each token of the response. */
    readonly logProbs?: readonly number[];
  };
  /**
   * Command for a workspace.
   *
   * @default the text of the reply
   */
  readonly command?: string;
  /** True if the env must skip this step; transforms still see it. */
  readonly skip?: boolean;
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
}

/** Options of {@linkcode Env.reset}. */
export interface ResetOptions {
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
  reset(task: Task, options?: ResetOptions): Promise<Observation>;
  step(action: Action, options?: StepOptions): Promise<Step>;
}

/** Returns the action that adds one assistant message. */
export function replyAction(content: string): Action {
  return { history: { response: History.fromChats([{ role: "assistant", content }]) } };
}
