import { z } from "zod";
import { frozenCopy } from "./frozen_copy.ts";

/** A piece of a message that is more than text. The words are those of TorchRL's `ContentBase`. */
export interface ContentPart {
  readonly type: "text" | "image" | "audio" | "video" | "file" | "function_call";
  readonly text?: string;
  readonly url?: string;
  /** The bytes themselves, as base64. */
  readonly data?: string;
  readonly mime_type?: string;
  readonly name?: string;
  /** Bytes. */
  readonly size?: number;
  readonly function_name?: string;
  readonly function_args?: Readonly<Record<string, unknown>>;
}

/** A call of a tool, as a message carries it. */
export interface ToolCall {
  /** Names the call, so that its answer can be told from others. */
  readonly id?: string;
  readonly name: string;
  /** The arguments by name; the text as it came where it is no JSON object. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

/** One turn of a conversation. Its keys are those that other programs write, so that chats carry over. */
export interface Message {
  /** Who speaks: `system`, `user`, `assistant`, or the name under which a tool answers. */
  readonly role: string;
  readonly content: string | readonly ContentPart[];
  /**
   * What an assistant thought before it spoke, where its server tells that apart. It is kept with the episode, and
   * no one is shown it: neither the model in a later turn, nor graders.
   */
  readonly reasoning_content?: string;
  /** False for a turn that was cut off; left out otherwise. */
  readonly is_complete?: boolean;
  /** The tools that an assistant calls, where they are not part of its text. */
  readonly tool_calls?: readonly ToolCall[];
  /** What tools answered, where a message carries several answers. */
  readonly tool_responses?: readonly string[];
  /** The call that this message answers. */
  readonly tool_call_id?: string;
  /** The tool, or the person, that speaks under the role. */
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

const argumentsSchema = z.union([z.record(z.string(), z.unknown()), z.string().transform(parsedArguments)]);

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
  tool_calls: z.array(z.union([wrappedCall, plainCall]).transform(present)).nullish(),
  tool_responses: z.array(z.string()).nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
});

/**
 * Takes a message as other programs write it. A `function` around a tool call is taken off, keys that say
 * nothing are left out, and keys that nobody knows are dropped. What is given can be changed afterwards, what comes
 * out cannot.
 *
 * @throws {TypeError} when it is no message; `index` says which one it was.
 */
export function parseMessage(message: unknown, index: number): Message {
  const parsed = messageSchema.safeParse(message);
  if (parsed.success) return frozenCopy(present(parsed.data)) as Message;
  const faults = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
  throw new TypeError(
    `Cannot take message ${index} as it must have a string as role and text as content: ${faults.join("; ")}`,
  );
}

/** The text of a message: its content, or its text parts in their order. */
export function messageText({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.map((part) => part.type === "text" ? part.text ?? "" : "").join("");
}

function parsedArguments(text: string): Record<string, unknown> | string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : text;
  } catch {
    return text; // what a model wrote need not be JSON: the tool will tell it so
  }
}

function present<T extends object>(value: T): Partial<T> {
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(entries) as Partial<T>;
}
