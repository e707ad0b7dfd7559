import { type Message, messageText } from "../message.ts";
import { openaiTool, type ToolSpec } from "../tool_spec.ts";

/** The role of messages that only fill up a batch: no model is ever shown one. */
const PADDING_ROLE = "<none>";

/** A message as templates know it: the words of OpenAI's API, and text alone. */
export interface TemplateMessage {
  readonly role: string;
  readonly content: string;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly object[];
}

/** How messages are made ready for a template. */
export interface TemplateMessagesOptions {
  /** Makes harmless what someone of a role says. */
  neutralise(text: string, role: string): string;
  /** Takes off the token that ends an assistant's turn, should its text carry it. */
  cutEnd(text: string): string;
  /** True when the template writes each answer of a tool apart, between `<tool_response>` tags. */
  tagsResponses: boolean;
  /** The roles whose text is kept as it is. */
  trusted: readonly string[];
  /** The role under which the template shows what a tool of this name says. */
  shownRole(role: string): string;
}

const RESPONSE_TAG = /<(?=\/?tool_response>)/g;

/**
 * The messages as a template is given them, those that only pad left out.
 *
 * @throws {TypeError} when a role could be taken for more than a name.
 */
export function templateMessages(
  messages: Iterable<Message>,
  options: TemplateMessagesOptions,
): TemplateMessage[] {
  const shown: TemplateMessage[] = [];
  for (const message of messages) {
    if (message.role === PADDING_ROLE) continue;
    requireName(message.role, options);
    for (const content of contents(message, options)) shown.push(templateMessage(message, content, options));
  }
  return shown;
}

/** The tools as templates expect them; their words may be a stranger's, so they are made harmless too. */
export function templateTools(tools: readonly ToolSpec[], neutralise: (text: string) => string): unknown {
  return mapTexts(tools.map(openaiTool), neutralise);
}

function templateMessage(
  message: Message,
  content: string,
  options: TemplateMessagesOptions,
): TemplateMessage {
  const { role, name, tool_call_id, tool_calls } = message;
  const harmless = (text: string) => options.trusted.includes(role) ? text : options.neutralise(text, role);
  return {
    role: isTool(role) ? options.shownRole(role) : role,
    content: harmless(role === "assistant" ? options.cutEnd(content) : content),
    ...(name !== undefined && { name: harmless(name) }),
    ...(tool_call_id !== undefined && { tool_call_id: harmless(tool_call_id) }),
    ...(tool_calls &&
      { tool_calls: tool_calls.map((call) => mapTexts(openaiCall(call), harmless) as object) }),
  };
}

/** What a message says: usually one text, several where a tool's answers are written apart. */
function contents(message: Message, { tagsResponses }: TemplateMessagesOptions): readonly string[] {
  const { role, tool_responses: responses = [] } = message;
  const text = messageText(message);
  if (!isTool(role)) return [text];
  if (!tagsResponses) return [text === "" ? responses.join("\n") : text];
  const apart = responses.length > 0 ? responses : [text];
  return apart.map((response) => response.replace(RESPONSE_TAG, "<\u200b"));
}

/** Whoever is none of the three that talk is a tool, under its name. */
function isTool(role: string): boolean {
  return role !== "system" && role !== "user" && role !== "assistant";
}

function openaiCall({ id, name, arguments: given }: NonNullable<Message["tool_calls"]>[number]): object {
  return { ...(id !== undefined && { id }), type: "function", function: { name, arguments: given } };
}

function requireName(role: string, { neutralise }: TemplateMessagesOptions): void {
  if (role !== "" && !/[\n\r]/.test(role) && neutralise(role, role) === role) return;
  throw new TypeError(
    `Cannot render message as its role must be a name without control tokens: current value is ${
      JSON.stringify(role)
    }`,
  );
}

/** The same data with each text in it changed, keys too. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [change(key), mapTexts(field, change)]),
  );
}
