import { splitReply } from "../../chat/replies/thoughts.ts";
import { type Message, messageText, type ToolCall } from "../../message.ts";

/**
 * Returns a text that is equal for messages that mean the same: the role, the text without white space at its ends, and
 * the calls by name and JSON value. Thoughts are left out, since many clients do not send them back, and so are ids,
 * which some clients rename.
 */
export function messageKey(message: Message): string {
  const { role, tool_calls: calls = [] } = message;
  const text = role === "assistant" ? answerText(messageText(message)) : messageText(message).trim();
  return JSON.stringify([role, text, ...calls.map(callKey)]);
}

/** Returns the text of a reply without thoughts and without white space at its ends. */
export function answerText(reply: string): string {
  return splitReply(reply).filter(({ thought }) => thought === undefined).map(({ text }) => text).join("")
    .trim();
}

function callKey({ name, arguments: args }: ToolCall): string {
  return `${name}(${canonicalJson(valueOf(args))})`;
}

function valueOf(args: ToolCall["arguments"]): unknown {
  if (typeof args !== "string") return args;
  try {
    return args.trim() === "" ? {} : JSON.parse(args);
  } catch {
    return args; // text that is no JSON is compared as it is
  }
}

/** Returns JSON whose objects have their keys in order. Equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
    .sort(([one], [other]) => one < other ? -1 : 1)
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`);
  return `{${fields.join(",")}}`;
}
