import * as z from "zod";
import type { Message } from "../message.ts";
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

/** Function of a call. Servers leave empty arguments out, or write `null`. */
const calledFunction = z.looseObject({ name: z.string().nullish(), arguments: z.unknown().optional() });

const call = z.looseObject({
  id: z.union([z.string(), z.number().transform(String)]).nullish(),
  function: calledFunction.nullish(),
  /** Name and arguments of a call without `function`. */
  name: z.string().nullish(),
  arguments: z.unknown().optional(),
});

/** Message of a chat completion. */
export const completionMessage = z.object({
  content: z.union([z.string().transform((text) => ({ text, reasoning: "" })), parts]).nullish(),
  /** Set by vLLM, SGLang, DeepSeek and others; newer versions use `reasoning`. */
  reasoning_content: note,
  reasoning: note,
  refusal: note,
  tool_calls: z.nullish(listOf(call)),
  /** The one call of OpenAI's API before `tool_calls`, which some servers still have. */
  function_call: calledFunction.nullish().catch(null),
});

type Call = z.output<typeof call>;

/**
 * Returns the assistant's message. `turn` is used to create ids for calls without one.
 *
 * A call without arguments has `{}`. If the reply was cut off, its last call may have lost them: its arguments are then
 * the empty text.
 *
 * @throws {TypeError} if a call has no name.
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
  const { name, arguments: args } = call.function ?? call;
  const isReadable = typeof args === "string" || (typeof args === "object" && !Array.isArray(args));
  const readable = args === null || args === undefined ? missing : isReadable ? args : JSON.stringify(args);
  return { name, arguments: readable };
}
