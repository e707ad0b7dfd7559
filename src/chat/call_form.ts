import { parseExact, parseUntrustedJson } from "../json.ts";
import type { ToolCall } from "../message.ts";
import type { JinjaTemplate } from "./chat_template.ts";

/** Kind of the content of a message that calls tools: some text, the empty text, or null. */
export type ContentKind = "text" | "empty" | "null";

/** Form in which a template shows native tool calls. */
export interface CallForm {
  /** Type of `arguments`: an object, as transformers recommends, or JSON text, as OpenAI's API has it. */
  readonly arguments: "object" | "text";
  /** Content of a message without text. DeepSeek V3's first template shows calls only if the content is null. */
  readonly content: "" | null;
}

const NAME = "zq7name";
const ID = "zq7calli"; // with a digit, nine letters and digits, which Mistral's templates require
const VALUE = "zq7value";
const TEXT = "zq7text";

/**
 * Finds the form in which a template shows native calls, by rendering small chats: their arguments must be in the text,
 * or, if the template never shows arguments, their names or ids. Each form is tried with and without a tool's result
 * after the calls.
 *
 * The argument's own type comes first, and the content as the message has it: transformers passes both unchanged. The
 * other form is used if the template raises an error for the first one or drops the calls.
 *
 * @returns `undefined` if the template drops the calls in every form.
 */
export function findCallForm(
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
  wanted: { readonly content: ContentKind; readonly arguments: "object" | "text"; readonly calls: number },
): CallForm | undefined {
  const contents = wanted.content === "empty" ? ["", null] as const : [null, ""] as const;
  const types = wanted.arguments === "object" ? ["object", "text"] as const : ["text", "object"] as const;
  const forms = types.flatMap((type) =>
    (wanted.content === "text" ? [""] as const : contents).map((content) => ({ arguments: type, content }))
  );
  return forms.find((form) => isShown(template, variables, { ...wanted, form, parts: [VALUE] })) ??
    forms.find((form) => isShown(template, variables, { ...wanted, form, parts: [NAME, ID] }));
}

function isShown(
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
  { form, content, calls, parts }: {
    form: CallForm;
    content: ContentKind;
    calls: number;
    parts: readonly string[];
  },
): boolean {
  const numbers = Array.from({ length: calls }, (_, at) => at);
  const reply = {
    role: "assistant",
    content: content === "text" ? TEXT : form.content,
    tool_calls: numbers.map((at) => probeCall(at, form)),
  };
  const results = numbers.map((at) => ({
    role: "tool",
    content: "-",
    name: `${NAME}${at}`,
    tool_call_id: `${ID}${at}`,
  }));
  const question = { role: "user", content: "-" };
  return [[question, reply, ...results], [question, reply]].some((messages) => {
    try {
      const text = template.render({ messages, tools: null, ...variables });
      return numbers.every((at) => parts.some((part) => text.includes(`${part}${at}`)));
    } catch {
      return false; // the template rejects this form, or needs another chat
    }
  });
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

function objectOf(json: string): unknown {
  try {
    const value = parseUntrustedJson(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return parseExact(json) ?? value;
  } catch {
    return undefined; // a model may write invalid JSON, which stays text
  }
}

/** Returns a value as Python's `json.dumps(value, ensure_ascii=False)` writes it. */
function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}: ${pythonJson(field)}`);
  return `{${fields.join(", ")}}`;
}
