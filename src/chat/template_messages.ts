import { type Message, messageText, type ToolSpec, toOpenaiTool } from "../message.ts";

/** Role of padding messages in a batch, which are never shown to a model. */
const PADDING_ROLE = "<none>";

/** A message as templates expect it: in the format of OpenAI's API, with text content only. */
export interface TemplateMessage {
  readonly role: string;
  readonly content: string;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly object[];
}

/** Options of {@linkcode toTemplateMessages}. */
export interface TemplateMessagesOptions {
  /** Breaks the control tokens in a text of a message with this role. */
  escapeControlTokens(text: string, role: string): string;
  /** Removes the token that ends a turn from the end of an assistant's text. */
  stripEndToken(text: string): string;
  /** True if the template writes each tool result separately, between `<tool_response>` tags. */
  hasToolResponseTags: boolean;
  /** Roles whose text is kept unchanged. */
  trusted: readonly string[];
  /** Returns the role under which the template renders messages of a tool role. */
  displayRole(role: string): string;
}

const RESPONSE_TAG = /<(?=\/?tool_response>)/g;

/**
 * Converts messages to the variables of a template. Padding messages are omitted.
 *
 * @throws {TypeError} if a role is empty, or contains a line break or a control token.
 */
export function toTemplateMessages(
  messages: Iterable<Message>,
  options: TemplateMessagesOptions,
): TemplateMessage[] {
  const result: TemplateMessage[] = [];
  for (const message of messages) {
    if (message.role === PADDING_ROLE) continue;
    requireRole(message.role, options);
    for (const content of contentsOf(message, options)) {
      result.push(toTemplateMessage(message, content, options));
    }
  }
  return result;
}

/**
 * Converts tools to the format that templates expect. Their texts may be untrusted, so they are escaped too.
 */
export function toTemplateTools(
  tools: readonly ToolSpec[],
  neutralise: (text: string) => string,
): object[] {
  return tools.map((tool) => mapTexts(toOpenaiTool(tool), neutralise) as object);
}

function toTemplateMessage(
  message: Message,
  content: string,
  options: TemplateMessagesOptions,
): TemplateMessage {
  const { role, name, tool_call_id, tool_calls } = message;
  const escapeText = (text: string) =>
    options.trusted.includes(role) ? text : options.escapeControlTokens(text, role);
  return {
    role: isTool(role) ? options.displayRole(role) : role,
    content: escapeText(role === "assistant" ? options.stripEndToken(content) : content),
    ...(name !== undefined && { name: escapeText(name) }),
    ...(tool_call_id !== undefined && { tool_call_id: escapeText(tool_call_id) }),
    ...(tool_calls &&
      { tool_calls: tool_calls.map((call) => mapTexts(openaiCall(call), escapeText) as object) }),
  };
}

/**
 * Returns the texts of a message: usually one, several for a tool message whose results are written
 * separately.
 */
function contentsOf(
  message: Message,
  { hasToolResponseTags: tagsResponses }: TemplateMessagesOptions,
): readonly string[] {
  const { role, tool_responses: responses = [] } = message;
  const text = messageText(message);
  if (!isTool(role)) return [text];
  if (!tagsResponses) return [text === "" ? responses.join("\n") : text];
  const results = responses.length > 0 ? responses : [text];
  return results.map((response) => response.replace(RESPONSE_TAG, "<\u200b"));
}

/** True for a tool message. Every role other than these three is the name of a tool. */
function isTool(role: string): boolean {
  return role !== "system" && role !== "user" && role !== "assistant";
}

function openaiCall({ id, name, arguments: args }: NonNullable<Message["tool_calls"]>[number]): object {
  return { ...(id !== undefined && { id }), type: "function", function: { name, arguments: args } };
}

function requireRole(role: string, { escapeControlTokens: neutralise }: TemplateMessagesOptions): void {
  if (role !== "" && !/[\n\r]/.test(role) && neutralise(role, role) === role) return;
  throw new TypeError(
    `Cannot render message as its role must be one line without control tokens: current value is ${
      JSON.stringify(role)
    }`,
  );
}

/** Returns a copy of the data in which each string is replaced, including keys. */
function mapTexts(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, replace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [replace(key), mapTexts(field, replace)]),
  );
}
