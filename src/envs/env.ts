import { History, type Message } from "../history.ts";
import type { Task } from "../task.ts";
import type { ToolResult } from "../tools/tool_result.ts";

/** What the policy is to answer. */
export interface Observation {
  readonly task: Task;
  readonly history: {
    /** Everything said so far. */
    readonly prompt: History;
  };
}

/** What the policy did. */
export interface Action {
  readonly history: {
    /** The messages of the policy alone; they are put behind the prompt. */
    readonly response?: History;
    /** Prompt and response in one; taken instead of them when given. */
    readonly full?: History;
  };
}

/** What came of an action. */
export interface Step extends Observation {
  /** What this step was worth; `null` when nobody scored it. */
  readonly reward: number | null;
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
  const message: Message = { role: "assistant", content };
  return { history: { response: History.fromChats([message]) } };
}
