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
  /** Makes the episode's chance reproducible, as far as the policy can. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How many tokens a server read and wrote for a reply. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly replyTokens: number;
}

/** A policy's answer with what its server told about it. */
export interface Reply {
  readonly message: Message;
  /** The sampled token ids, where the server gives them, and the log-probability of each. */
  readonly tokens?: { readonly ids: readonly number[]; readonly logProbs?: readonly number[] };
  /** Why the server stopped: `stop`, `length`, `tool_calls`, `abort`, or a word of its own. */
  readonly finishReason?: string;
  /** What the server says of that, as why it aborted. */
  readonly finishMessage?: string;
  /** The stop text that ended it, where the server tells it: the tokens may say it though the message does not. */
  readonly stopText?: string;
  readonly usage?: TokenUsage;
  /** The version of the weights that sampled it, where the server tells it. */
  readonly weightVersion?: string;
}

/** Who answers: a model, or something that stands in for one. */
export interface Policy {
  /** What trajectories call it, such as the name of its model. */
  readonly name?: string;
  /** The assistant's next message, or its text alone. */
  reply(history: History, context: ReplyContext): Promise<Reply | string>;
}

/** A reply in its whole form. */
export function wholeReply(reply: Reply | string): Reply {
  return typeof reply === "string" ? { message: { role: "assistant", content: reply } } : reply;
}
