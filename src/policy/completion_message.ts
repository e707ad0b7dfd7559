import * as z from "zod";
import { type Message, UNNAMED_CALL } from "../message.ts";
import { parseMessage } from "../parse_message.ts";
import { listOf } from "./model_server.ts";

/** Text that only describes a reply. Another value than a text counts as missing. */
const note = z.string().nullish().catch(null);

const textPart = z.object({ type: z.enum(["text", "output_text"]), text: z.string() });
const refusalPart = z.object({ type: z.literal("refusal"), refusal: z.string() });
/** A thought of Mistral's models, as text or as parts. */
const thinkingPart = z.object({
  type: z.literal("thinking"),
  thinking: z.union([z.string(), listOf(textPart)]),
});

/** Content in parts, as text and reasoning. */
const parts = z.pipe(
  listOf(z.union([textPart, refusalPart, thinkingPart])),
  z.transform((parts) => ({
    text: parts.map((part) => "text" in part ? part.text : "refusal" in part ? part.refusal : "").join(""),
    reasoning: parts.map((part) => "thinking" in part ? joined(part.thinking) : "").join(""),
  })),
);

function joined(thinking: string | { readonly text: string }[]): string {
  return typeof thinking === "string" ? thinking : thinking.map(({ text }) => text).join("");
}

/** A text, or a number as text. Another value counts as missing. */
const label = z.union([z.string(), z.number().transform(String)]).nullish().catch(null);

/** Function of a call. Servers leave empty arguments out, or write `null`. */
const calledFunction = z.looseObject({ name: label, arguments: z.unknown().optional() });

/** A call. A value that is no object is a call without name. */
const call = z.looseObject({
  id: label,
  function: calledFunction.nullish().catch(null),
  /** Tool with text as input, instead of `function`: calls of OpenAI's type `custom`. */
  custom: z.looseObject({ name: label, input: z.unknown().optional() }).nullish().catch(null),
  /** Name and arguments of a call without `function`. */
  name: label,
  arguments: z.unknown().optional(),
}).catch({ id: null, name: null });

/** Calls of a message. A single call may stand without a list. */
const calls = z.preprocess((value) => {
  if (Array.isArray(value)) return value;
  return typeof value === "object" && value !== null && Object.keys(value).length > 0 ? [value] : null;
}, z.nullish(listOf(call)));

const content = z.union([
  z.string().transform((text) => ({ text, reasoning: "" })),
  parts,
  z.null().transform(() => undefined),
  z.union([z.number(), z.boolean(), z.looseObject({})])
    .transform((value) => ({ text: JSON.stringify(value), reasoning: "" })),
]);

/** Message of a chat completion. */
export const completionMessage = z.object({
  /** A number, a boolean or an object is kept as JSON text. */
  content: content.optional(),
  /** Set by vLLM, SGLang, DeepSeek and others; newer versions use `reasoning`. */
  reasoning_content: note,
  reasoning: note,
  refusal: note,
  tool_calls: calls,
  /** The only call of OpenAI's API before `tool_calls`, which some servers still have. */
  function_call: calledFunction.nullish().catch(null),
});

type Call = z.output<typeof call>;

/**
 * Returns the assistant's message. `turn` is used to create ids for calls without an id.
 *
 * A call without arguments has `{}`. If the reply was cut off, the last call may have lost the arguments, which are then
 * the empty text. A call without name is named {@linkcode UNNAMED_CALL}, and the answer is an error that the model reads.
 */
export function toAssistantMessage(
  message: z.output<typeof completionMessage>,
  { turn, isCut }: { turn: number; isCut: boolean },
): Message {
  const { content, refusal, reasoning_content, reasoning, tool_calls, function_call } = message;
  const reasoningText = reasoning_content || reasoning || content?.reasoning;
  const calls: readonly Partial<Call>[] = tool_calls?.length
    ? tool_calls
    : function_call
    ? [{ function: function_call }]
    : [];
  const ids = new Set<string>();
  const written = calls.map((call, index) => {
    const isLast = index === calls.length - 1;
    const id = call.id && !ids.has(call.id) ? call.id : `call_${turn}_${index}`;
    ids.add(id);
    return { id, ...nameAndArguments(call, isCut && isLast ? "" : {}) };
  });
  const assistant = {
    role: "assistant",
    content: content?.text || refusal || "",
    ...(reasoningText && { reasoning_content: reasoningText }),
    ...(isCut && { is_complete: false }),
    ...(written.length > 0 && { tool_calls: written }),
  };
  return parseMessage(assistant, turn);
}

function nameAndArguments(call: Partial<Call>, missing: object | string) {
  const { custom } = call;
  const named = call.function ?? (custom ? { name: custom.name, arguments: custom.input } : call);
  const { name, arguments: args } = named;
  const isReadable = typeof args === "string" || (typeof args === "object" && !Array.isArray(args));
  const readable = args === null || args === undefined ? missing : isReadable ? args : JSON.stringify(args);
  return { name: name || UNNAMED_CALL, arguments: readable };
}
