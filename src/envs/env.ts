import { ArgumentTypeError } from "../errors.ts";
import { History } from "../history.ts";
import type { ToolSpec } from "../message.ts";
import type { Task } from "../task.ts";
import type { ToolResult } from "../tools/tool_result.ts";

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
}

/** Returns the action that adds one assistant message. */
export function replyAction(content: string): Action {
  return { history: { response: History.fromChats([{ role: "assistant", content }]) } };
}

/**
 * Returns the conversation after an action: its `full`, or else the prompt followed by its `response`.
 *
 * @throws {TypeError} if the action has neither.
 */
export function historyAfter(prompt: History, action: Action): History {
  const { full, response } = action.history ?? {};
  if (full !== undefined) return full;
  if (response !== undefined && response.length > 0) return prompt.extend(response);
  throw new ArgumentTypeError(
    "Cannot step as the action must have 'history.full' or 'history.response': it has neither",
  );
}

/** Env that also disposes a resource that was opened for it, after the env itself. */
export class OwningEnv implements Env {
  readonly #env: Env;
  readonly #owned: AsyncDisposable;

  constructor(env: Env, owned: AsyncDisposable) {
    this.#env = env;
    this.#owned = owned;
  }

  /** {@inheritDoc Env.reset} */
  reset(task: Task, options?: EnvResetOptions): Promise<Observation> {
    return this.#env.reset(task, options);
  }

  /** {@inheritDoc Env.step} */
  step(action: Action, options?: StepOptions): Promise<Step> {
    return this.#env.step(action, options);
  }

  /** Disposes the env, then the resource. */
  async [Symbol.asyncDispose](): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.use(this.#owned);
    stack.use(this.#env);
  }
}
