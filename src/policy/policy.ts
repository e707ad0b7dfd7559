import type { TemplateMessage } from "../chat/template_messages.ts";
import type { History } from "../history.ts";
import type { Message, ToolSpec } from "../message.ts";
import type { PublicTask } from "../task.ts";

/** The chat of a prompt, in the form in which its tokens are recorded. */
export interface RecordedChat {
  /** Messages with the roles and texts that the chat template gets. Control tokens in them are broken. */
  readonly messages: readonly TemplateMessage[];
  /** Tools in the format of OpenAI's API. Control tokens in them are broken. */
  readonly tools: readonly object[];
}

/** The context of a reply: what a policy gets besides the conversation. */
export interface ReplyContext {
  /** The task, without the answer. */
  readonly task: PublicTask;
  /** Tools that the policy may call. */
  readonly tools?: readonly ToolSpec[] | undefined;
  /** The prompt as text, if the env provides the text. */
  readonly text?: string | undefined;
  /** The prompt as token ids, if the env provides them. */
  readonly tokens?: readonly number[] | undefined;
  /**
   * Returns the chat in the recorded form. Set if the reply's tokens are recorded for a trainer. A policy that uses a
   * server must then send `tokens` or this chat, and return `tokens` and `promptIds` with the reply.
   */
  readonly recordedChat?: (() => RecordedChat) | undefined;
  /**
   * Requests the ids of the prompt that the server really used, even if the server is slower then. `promptIds` are then
   * the server's, not those that were sent.
   */
  readonly verifiesPrompt?: boolean | undefined;
  /** Maximum number of tokens of this reply, if lower than the policy's own limit. */
  readonly maxTokens?: number | undefined;
  /** Seed of the reply, for policies that support a seed. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The numbers of tokens that a server counted for a reply. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly replyTokens: number;
}

/** A policy's reply, with the server's metadata. */
export interface Reply {
  readonly message: Message;
  /** The sampled token ids and their log-probabilities, if the server returns them. */
  readonly tokens?: { readonly ids: readonly number[]; readonly logProbs?: readonly number[] };
  /**
   * The ids of the prompt: as the server reports them, or as sent if the server uses ids unchanged. They are compared
   * with the recorded prompt and never adopted.
   */
  readonly promptIds?: readonly number[];
  /**
   * The reason why sampling ended, if a server sampled the reply: `stop`, `length`, `tool_calls`, `abort`, or another
   * reason of the server.
   */
  readonly finishReason?: string;
  /** The server's message about the finish reason, such as the cause of an abort. */
  readonly finishMessage?: string;
  /**
   * The stop text that ended the reply, if the server reports the text. Tokens can contain the stop text although
   * the message does not.
   */
  readonly stopText?: string;
  /** The id of the token that ended the reply, if the server reports the id, which must then be the last sampled id. */
  readonly stopId?: number;
  /** Token counts, if the server reports them. */
  readonly usage?: TokenUsage;
  /** The version of the weights that sampled the reply, if the server reports the version. */
  readonly weightVersion?: string;
}

/** A policy: a model or a replacement for a model. */
export interface Policy {
  /** Name in trajectories, such as the name of the model. */
  readonly name?: string;
  /** Returns the assistant's next message, or only the text. */
  reply(history: History, context: ReplyContext): Promise<Reply | string>;
  /**
   * Returns a reply to a short prompt, by which a rollout for training checks the server before the first episode. A
   * policy may return the same reply for the same prompt again.
   */
  probe?(history: History, context: ReplyContext): Promise<Reply>;
}

/** Converts a reply to the object form. */
export function toReply(reply: Reply | string): Reply {
  return typeof reply === "string" ? { message: { role: "assistant", content: reply } } : reply;
}

/**
 * Reasons of servers for a reply that a limit of tokens cut off: OpenAI's, Anthropic's, and Mistral's of a full context.
 */
const LENGTH_REASONS: readonly string[] = ["length", "max_tokens", "model_length"];

/** True if the finish reason says that a limit of tokens cut the reply off. */
export function isLengthReason(finishReason: string | null | undefined): boolean {
  return LENGTH_REASONS.includes(finishReason?.toLowerCase() ?? "");
}

/** True if a limit of tokens cut the reply off. */
export function isCutOff({ finishReason, message }: Pick<Reply, "finishReason" | "message">): boolean {
  return message.is_complete === false || isLengthReason(finishReason);
}

/** Reasons of servers that gave up a reply: of vLLM and SGLang, of gateways and Mistral, and of DeepSeek. */
const ABORT_REASONS: readonly string[] = ["abort", "error", "insufficient_system_resource"];

/** True if the server gave up the reply, which is then no reply of the model. */
export function isAborted({ finishReason = "" }: Pick<Reply, "finishReason">): boolean {
  return ABORT_REASONS.includes(finishReason);
}

/** Returns the number of assistant messages. */
export function countAssistantTurns(history: History): number {
  return [...history].filter(({ role }) => role === "assistant").length;
}
