import { parseUntrustedJson } from "../../json.ts";
import { parseExact } from "../../numbers/exact_numbers.ts";
import type { ToolCall } from "../../message.ts";
import type { ProbedTemplate } from "../template_probe.ts";

/** Kind of the content of a message that calls tools: some text, the empty text, or null. */
export type ContentKind = "text" | "empty" | "null";

/** Form in which a template shows native tool calls. */
export interface CallForm {
  /** Type of `arguments`: an object, as transformers recommends, or JSON text, as in OpenAI's API. */
  readonly arguments: "object" | "text";
  /** Content of a message without text. DeepSeek V3's first template shows calls only if the content is null. */
  readonly content: "" | null;
}

const QUESTION = { role: "user", content: "-" };
const NAME = "zq7name";
const ID = "zq7calli"; // with a digit, nine letters and digits, which Mistral's templates require
const VALUE = "zq7value";
const TEXT = "zq7text";

/** Place of a message with calls in a chat: before others, at the end, or at the end before a generation prompt. */
export type CallPosition = "middle" | "last" | "prompted";

/** Parts of a message with calls, for which {@linkcode findCallForm} finds a form. */
export interface WantedCalls {
  readonly content: ContentKind;
  /** Type of the arguments as the message has them. */
  readonly arguments: "object" | "text";
  readonly calls: number;
  readonly position: CallPosition;
}

/**
 * Finds the form in which a template shows native calls, by rendering small chats: the text must contain the calls'
 * arguments, or, if the template never shows arguments, the names or ids. A message in the middle of a chat is tried
 * before results, or, if the template rejects results, before a question.
 *
 * The argument's own type and the message's own content come first: transformers passes both unchanged. The other form is
 * used if the template raises an error for the first form or drops the calls. QwQ's template, for example, accepts null
 * only in the last message.
 *
 * @returns `undefined` if the template drops the calls in every form.
 */
export function findCallForm(
  { template, variables }: ProbedTemplate,
  wanted: WantedCalls,
): CallForm | undefined {
  const contents = wanted.content === "empty" ? ["", null] as const : [null, ""] as const;
  const types = wanted.arguments === "object" ? ["object", "text"] as const : ["text", "object"] as const;
  const forms = types.flatMap((type) =>
    (wanted.content === "text" ? [""] as const : contents).map((content) => ({ arguments: type, content }))
  );
  const numbers = Array.from({ length: wanted.calls }, (_, at) => at);
  const shows = (form: CallForm, after: readonly object[], parts: readonly string[]) => {
    const content = wanted.content === "text" ? TEXT : form.content;
    const tool_calls = numbers.map((at) => probeCall(at, form));
    const messages = [QUESTION, { role: "assistant", content, tool_calls }, ...after];
    try {
      const add_generation_prompt = wanted.position === "prompted";
      const text = template.render({ messages, tools: null, add_generation_prompt, ...variables });
      return numbers.every((at) => parts.some((part) => text.includes(`${part}${at}`)));
    } catch {
      return false; // the template rejects this form, or needs another chat
    }
  };
  for (const parts of [[VALUE], [NAME, ID]]) {
    for (const after of wanted.position === "middle" ? [numbers.map(probeResult), [QUESTION]] : [[]]) {
      const form = forms.find((form) => shows(form, after, parts));
      if (form !== undefined) return form;
    }
  }
  return undefined;
}

/** Value that shows the name of a call: the name itself, the call's id, or nothing. */
export type ShownName = "name" | "id" | "nothing";

/**
 * Finds how the template shows the name of a call. Kimi K2's first template shows only the ids of calls, which have the
 * names: `functions.name:0`. A template that refuses a chat ending with a call counts as a template that shows names.
 */
export function findShownName({ template, variables }: ProbedTemplate, form: CallForm): ShownName {
  const message = { role: "assistant", content: form.content, tool_calls: [probeCall(0, form)] };
  try {
    const text = template.render({ messages: [QUESTION, message], tools: null, ...variables });
    if (text.includes(`${NAME}0`) || !text.includes(`${VALUE}0`)) return "name";
    return text.includes(`${ID}0`) ? "id" : "nothing";
  } catch {
    return "name";
  }
}

function probeResult(at: number): object {
  return { role: "tool", content: "-", name: `${NAME}${at}`, tool_call_id: `${ID}${at}` };
}

function probeCall(at: number, { arguments: type }: CallForm): object {
  const args = { key: `${VALUE}${at}` };
  const value = type === "object" ? args : JSON.stringify(args);
  return { id: `${ID}${at}`, type: "function", function: { name: `${NAME}${at}`, arguments: value } };
}

/**
 * Returns the arguments of a call in a template's form. Numbers keep the digits that the model wrote: in an object, a
 * number that JavaScript would change is a raw number of `src/json.ts`.
 */
export function toTemplateArguments(
  { arguments: args, arguments_text: text }: Pick<ToolCall, "arguments" | "arguments_text">,
  { arguments: type }: CallForm,
): unknown {
  if (type === "text") return typeof args === "string" ? args : text ?? pythonJson(args);
  if (typeof args !== "string") return text === undefined ? args : parseExact(text) ?? args;
  return objectOf(args) ?? args;
}

/** Returns the object of a JSON text, with the digits of all numbers; `undefined` for another text. */
export function objectOf(json: string): unknown {
  try {
    const value = parseUntrustedJson(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return parseExact(json) ?? value;
  } catch {
    return undefined; // a model may write invalid JSON, which stays text
  }
}

/** Returns the text of Python's `json.dumps(value, ensure_ascii=False)`. */
function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}: ${pythonJson(field)}`);
  return `{${fields.join(", ")}}`;
}
