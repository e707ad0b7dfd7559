import { History } from "../history.ts";
import type { Task } from "../task.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import type { ToolSpec } from "../tool_spec.ts";

/** What the policy is to answer. */
export interface Observation {
  readonly task: Task;
  readonly history: {
    /** Everything said so far. */
    readonly prompt: History;
  };
  /** The prompt as text, where the env or a transform renders it. */
  readonly text?: { readonly prompt: string };
  /** The prompt as token ids, where the env or a transform makes them; they are only ever added to. */
  readonly tokens?: { readonly prompt: readonly number[] };
  /** The tools that the policy may call, where a transform offers some. */
  readonly tools?: readonly ToolSpec[];
  /** How many steps there have been, where a `StepCounter` counts them. */
  readonly stepCount?: number;
  /** What else the env tells of the episode, for a trainer; plain data that no policy sees. */
  readonly info?: Readonly<Record<string, unknown>>;
  /** The version of the policy that acts now, where a `PolicyVersion` tells it. */
  readonly policyVersion?: number | string;
}

/** What the policy did. */
export interface Action {
  readonly history?: {
    /** The messages of the policy alone; they are put behind the prompt. */
    readonly response?: History;
    /** Prompt and response in one; taken instead of them when given. */
    readonly full?: History;
  };
  /** The same as text, for an env in text mode. */
  readonly text?: { readonly response?: string; readonly full?: string };
  /** The same as token ids: what was sampled, never tokenised again. */
  readonly tokens?: {
    readonly response?: readonly number[];
    readonly full?: readonly number[];
    /** The log-probability of each token of the response. */
    readonly logProbs?: readonly number[];
  };
  /** What a workspace is to run; the text of the reply unless given. */
  readonly command?: string;
  /** True when the env is not to take this step: transforms see it all the same. */
  readonly skip?: boolean;
}

/** What came of an action. */
export interface Step extends Observation {
  /** What this step was worth; `null` when nobody scored it. */
  readonly reward: number | null;
  /** What the reward was made of, by name; `null` for a part that could not be scored. */
  readonly rewardParts?: Readonly<Record<string, number | null>>;
  /** Why a grader gave no score. */
  readonly unscored?: string;
  /** The episode reached an end of its own. */
  readonly terminated: boolean;
  /** The episode was cut off by a limit. */
  readonly truncated: boolean;
  /** What the tools did in this step, in the order of their messages. */
  readonly toolResults: readonly ToolResult[];
}

/** What a reset may be given beside its task. */
export interface ResetOptions {
  /** Makes the episode's chance reproducible, as far as its parts can. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What a step may be given beside its action. */
export interface StepOptions {
  signal?: AbortSignal | undefined;
}

/** One episode at a time: `reset` starts it, `step` goes on until it is terminated or truncated. */
export interface Env extends AsyncDisposable {
  reset(task: Task, options?: ResetOptions): Promise<Observation>;
  step(action: Action, options?: StepOptions): Promise<Step>;
}

/** The action of saying something as the assistant. */
export function replyAction(content: string): Action {
  return { history: { response: History.fromChats([{ role: "assistant", content }]) } };
}
