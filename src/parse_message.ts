import * as z from "zod";
import { ArgumentTypeError } from "./errors.ts";
import { isJsonObject, toFrozenCopy } from "./json.ts";
import { exactText } from "./numbers/exact_numbers.ts";
import type { Message, ToolCall } from "./message.ts";

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

const argumentsSchema = z.union([z.record(z.string(), z.unknown()), z.string()]);

const plainCall = z.object({
  id: z.string().nullish(),
  name: z.string(),
  arguments: argumentsSchema,
  arguments_text: z.string().nullish(),
});

const wrappedCall = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: argumentsSchema }),
}).transform((call) => ({ id: call.id, ...call.function }));

const messageSchema = z.object({
  role: z.string(),
  content: z.union([z.string(), z.array(partSchema), z.null().transform(() => "")]),
  reasoning_content: z.string().nullish(),
  is_complete: z.boolean().nullish().transform((complete) => complete === false ? false : null),
  tool_calls: z.array(z.union([wrappedCall, plainCall]).transform(toCall)).nullish(),
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

interface WrittenCall {
  readonly id?: string | null | undefined;
  readonly name: string;
  readonly arguments: Record<string, unknown> | string;
  readonly arguments_text?: string | null | undefined;
}

/** Returns a call with its arguments as an object, and as text if their numbers would change. */
function toCall({ id, name, arguments: args, arguments_text }: WrittenCall): Partial<ToolCall> {
  const text = arguments_text ?? (typeof args === "string" ? args : undefined);
  const read = text === undefined ? args : parseArguments(text);
  const exact = text === undefined || typeof read === "string" ? undefined : exactText(text);
  return dropEmptyFields({ id, name, arguments: read, arguments_text: exact }) as Partial<ToolCall>;
}

function parseArguments(text: string): Record<string, unknown> | string {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { ...value } : text;
  } catch {
    return text; // A model may write invalid JSON; the tool reports that to it.
  }
}

function dropEmptyFields<T extends object>(value: T): Partial<T> {
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(entries) as Partial<T>;
}
