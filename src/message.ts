/** One part of a message with structured content. Field names follow TorchRL's `ContentBase`. */
export interface ContentPart {
  readonly type: "text" | "image" | "audio" | "video" | "file" | "function_call";
  readonly text?: string;
  readonly url?: string;
  /** The content's bytes, in base64. */
  readonly data?: string;
  readonly mime_type?: string;
  readonly name?: string;
  /** Size in bytes. */
  readonly size?: number;
  readonly function_name?: string;
  readonly function_args?: Readonly<Record<string, unknown>>;
}

/**
 * Name of a call that a model server gave without one. Messages, rows, requests and chat templates have this name, as
 * servers reject an empty one. Such a call runs no tool, also none of this name.
 */
export const UNNAMED_CALL = "unnamed";

/** A tool call in a message. */
export interface ToolCall {
  /** Identifier of the call; the result refers to it. */
  readonly id?: string;
  readonly name: string;
  /** Arguments by name; the original text if it is not a JSON object. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
  /** The arguments as JSON text, if an object loses information, such as 50.0 against 50. */
  readonly arguments_text?: string;
}

/**
 * One message of a conversation. Field names follow the common chat format, so chats of other programs can be
 * used.
 */
export interface Message {
  /** Role of the author: `system`, `user`, `assistant`, or the role under which a tool's result is given. */
  readonly role: string;
  readonly content: string | readonly ContentPart[];
  /**
   * The assistant's reasoning, if its server returns it separately. It is stored with the episode, but shown
   * neither to the model in later turns nor to graders.
   */
  readonly reasoning_content?: string;
  /** False for a message that was cut off; absent otherwise. */
  readonly is_complete?: boolean;
  /** The assistant's tool calls that are not part of its text. */
  readonly tool_calls?: readonly ToolCall[];
  /** Tool results, if the message carries several. */
  readonly tool_responses?: readonly string[];
  /** The tool call whose result this message is. */
  readonly tool_call_id?: string;
  /** Name of the tool or person that speaks in this role. */
  readonly name?: string;
}

/** Returns the text of a message: its content, or the text of its parts joined in order. */
export function messageText({ content }: Message): string {
  if (typeof content === "string") return content;
  if (content === null) return ""; // messages of OpenAI's API that only call tools
  return content.map((part) => part.type === "text" ? part.text ?? "" : "").join("");
}

/**
 * Returns the messages that were appended to a chat.
 *
 * @param refuse Throws the caller's error when an earlier message is missing (`gone`) or differs (`another`).
 */
export function findAddedMessages(
  before: Iterable<Message>,
  now: Iterable<Message>,
  refuse: (index: number, is: "gone" | "another") => never,
): Message[] {
  const messages = [...now];
  const earlier = [...before];
  for (const [index, message] of earlier.entries()) {
    const current = messages[index];
    if (current === message || JSON.stringify(current) === JSON.stringify(message)) continue;
    refuse(index, current === undefined ? "gone" : "another");
  }
  return messages.slice(earlier.length);
}

/** The description of a tool for a model or a chat template. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Converts a tool description to the format of OpenAI's API, which chat templates expect. */
export function toOpenaiTool({ name, description, parameters }: ToolSpec): object {
  return { type: "function", function: { name, description, parameters } };
}
