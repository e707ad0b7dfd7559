import { z } from "zod";
import { ArgumentTypeError } from "./errors.ts";
import { toFrozenCopy } from "./json.ts";

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

/** A tool call in a message. */
export interface ToolCall {
  /** Identifier of the call; the result refers to it. */
  readonly id?: string;
  readonly name: string;
  /** Arguments by name; the original text if it is not a JSON object. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
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

const partSchema = z.object({
  type: z.enum(["text", "image", "audio", "video", "file", "function_call"]),
  text: z.string().optional(),
  url: z.string().optional(),
  data: z.string().optional(),
  mime_type: z.string().optional(),
  name: z.string().optional(),
  size: z.number().optional(),
  function_name: z.string().optional(),
  function_args: z.record(z.string(), z.unknown()).optional(),
});

const argumentsSchema = z.union([z.record(z.string(), z.unknown()), z.string().transform(parseArguments)]);

const plainCall = z.object({ id: z.string().nullish(), name: z.string(), arguments: argumentsSchema });

const wrappedCall = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: argumentsSchema }),
}).transform((call) => ({ id: call.id, ...call.function }));

const messageSchema = z.object({
  role: z.string(),
  content: z.union([z.string(), z.array(partSchema), z.null().transform(() => "")]),
  reasoning_content: z.string().nullish(),
  is_complete: z.boolean().nullish().transform((complete) => complete === false ? false : null),
  tool_calls: z.array(z.union([wrappedCall, plainCall]).transform(dropEmptyFields)).nullish(),
  tool_responses: z.array(z.string()).nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
});

/**
 * Parses a message in the common chat format. Unwraps the `function` object of a tool call, and drops null
 * fields and unknown fields. The result is a frozen copy; later changes of the input do not affect it.
 *
 * @param index Position of the message, for the error message.
 * @throws {TypeError} if the value is not a message.
 */
export function parseMessage(message: unknown, index: number): Message {
  const parsed = messageSchema.safeParse(message);
  if (parsed.success) return toFrozenCopy(dropEmptyFields(parsed.data)) as Message;
  const issues = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
  throw new ArgumentTypeError(
    `Cannot take message ${index} as it must have a string as role and text as content: ${issues.join("; ")}`,
  );
}

/** Returns the text of a message: its content, or the text of its parts joined in order. */
export function messageText({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.map((part) => part.type === "text" ? part.text ?? "" : "").join("");
}

function parseArguments(text: string): Record<string, unknown> | string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : text;
  } catch {
    return text; // A model may write invalid JSON; the tool reports that to it.
  }
}

function dropEmptyFields<T extends object>(value: T): Partial<T> {
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(entries) as Partial<T>;
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
