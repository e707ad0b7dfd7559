import type { History } from "../history.ts";
import type { Message, ToolSpec } from "../message.ts";
import type { PublicTask } from "../task.ts";

/** The context of a reply: what a policy gets besides the conversation. */
export interface ReplyContext {
  /** The task, without its answer. */
  readonly task: PublicTask;
  /** Tools that the policy may call. */
  readonly tools?: readonly ToolSpec[] | undefined;
  /** The prompt as text, if the env provides it. */
  readonly text?: string | undefined;
  /** The prompt as token ids, if the env provides them. */
  readonly tokens?: readonly number[] | undefined;
  /** Seed of the reply, for policies that support one. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The numbers of tokens that a server counted for one reply. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly replyTokens: number;
}

/** A policy's reply, with the server's metadata. */
export interface Reply {
  readonly message: Message;
  /** The sampled token ids and their log-probabilities, if the server returns them. */
  readonly tokens?: { readonly ids: readonly number[]; readonly logProbs?: readonly number[] };
  /** The reason why sampling ended: `stop`, `length`, `tool_calls`, `abort`, or another one of the server. */
  readonly finishReason?: string;
  /** The server's message about the finish reason, such as the cause of an abort. */
  readonly finishMessage?: string;
  /**
   * The stop text that ended the reply, if the server reports it. Tokens can contain it although the message
   * does not.
   */
  readonly stopText?: string;
  /** Token counts, if the server reports them. */
  readonly usage?: TokenUsage;
  /** The version of the weights that sampled the reply, if the server reports it. */
  readonly weightVersion?: string;
}

/** A policy: a model or a replacement for one. */
export interface Policy {
  /** Name in trajectories, such as the name of the model. */
  readonly name?: string;
  /** Returns the assistant's next message, or only its text. */
  reply(history: History, context: ReplyContext): Promise<Reply | string>;
}

/** Converts a reply to the object form. */
export function toReply(reply: Reply | string): Reply {
  return typeof reply === "string" ? { message: { role: "assistant", content: reply } } : reply;
}

/** Returns the number of assistant messages. */
export function countAssistantTurns(history: History): number {
  return [...history].filter(({ role }) => role === "assistant").length;
}
