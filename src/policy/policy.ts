import type { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { OpenTask } from "../task.ts";
import type { ToolSpec } from "../tool_spec.ts";

/** What a policy is told beside the conversation. */
export interface ReplyContext {
  /** The task, without its answer. */
  readonly task: OpenTask;
  /** The tools that it may call, where the env offers some. */
  readonly tools?: readonly ToolSpec[] | undefined;
  /** The prompt as text and as token ids, where the env gives them. */
  readonly text?: string | undefined;
  readonly tokens?: readonly number[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A policy's answer with what its server told about it. */
export interface Reply {
  readonly message: Message;
  /** The sampled token ids, where the server gives them, and the log-probability of each. */
  readonly tokens?: { readonly ids: readonly number[]; readonly logProbs?: readonly number[] };
  /** Why the server stopped: `stop`, `length`, `tool_calls`, `abort`, or a word of its own. */
  readonly finishReason?: string;
}

/** Who answers: a model, or something that stands in for one. */
export interface Policy {
  /** The assistant's next message, or its text alone. */
  reply(history: History, context: ReplyContext): Promise<Reply | string>;
}

/** A reply in its whole form. */
export function wholeReply(reply: Reply | string): Reply {
  return typeof reply === "string" ? { message: { role: "assistant", content: reply } } : reply;
}
