import { rawNumberText } from "../numbers/exact_numbers.ts";
import {
  type Message,
  messageText,
  type ToolCall,
  type ToolSpec,
  toOpenaiTool,
  UNNAMED_CALL,
} from "../message.ts";
import { type CallForm, type ContentKind, toTemplateArguments } from "./calls/call_form.ts";
import type { ReplyParts } from "./replies/reply_format.ts";

/** Role of padding messages in a batch, which are never shown to a model. */
const PADDING_ROLE = "<none>";

/** A message in the form that templates expect: in the format of OpenAI's API, with text content only. */
export interface TemplateMessage {
  readonly role: string;
  /** Text; null for an assistant's message that only calls tools, if the template asks for null. */
  readonly content: string | null;
  /** The assistant's thoughts, for templates that take them apart from the content, as gpt-oss's does. */
  readonly thinking?: string;
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
  /**
   * Opening of a thought that the generation prompt wrote before each reply. Without the opening, a sampled thought has
   * only an end, which Nemotron 3's template does not recognize.
   */
  openedThought?: string | undefined;
  /** Splits an assistant's text, for a template that takes the parts in separate fields. */
  splitReply?: ((text: string) => ReplyParts) | undefined;
  /**
   * Returns the form in which the template shows calls; `undefined` if the message's text has them already.
   *
   * @throws {TypeError} if the template drops the calls.
   */
  callForm(
    calls: readonly ToolCall[],
    beside: { kind: ContentKind; text: string; isLast: boolean },
  ): CallForm | undefined;
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
  const shown = [...messages].filter(({ role }) => role !== PADDING_ROLE);
  for (const [at, message] of shown.entries()) {
    requireRole(message.role, options);
    for (const content of contentsOf(message, options)) {
      result.push(toTemplateMessage(message, { content, isLast: at === shown.length - 1 }, options));
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
  { content, isLast }: { content: string; isLast: boolean },
  options: TemplateMessagesOptions,
): TemplateMessage {
  const { role, name, tool_call_id } = message;
  const escapeText = (text: string) =>
    options.trusted.includes(role) ? text : options.escapeControlTokens(text, role);
  const named = {
    ...(name !== undefined && { name: escapeText(name) }),
    ...(tool_call_id !== undefined && { tool_call_id: escapeText(tool_call_id) }),
  };
  if (role === "assistant") {
    return { role, ...replyFields(message, { escapeText, isLast }, options), ...named };
  }
  return {
    role: isToolRole(role) ? options.displayRole(role) : role,
    content: escapeText(content),
    ...named,
  };
}

/** Returns the content, thoughts and calls of an assistant's message. */
function replyFields(
  message: Message,
  { escapeText, isLast }: { escapeText: (text: string) => string; isLast: boolean },
  options: TemplateMessagesOptions,
): Pick<TemplateMessage, "content" | "thinking" | "tool_calls"> {
  const text = withOpenedThought(options.stripEndToken(messageText(message)), options.openedThought);
  const { content, thinking, calls = [] } = options.splitReply?.(text) ?? { content: text };
  const written = {
    content: escapeText(content),
    ...(thinking !== undefined && { thinking: escapeText(thinking) }),
  };
  const allCalls = message.tool_calls ?? calls;
  const isNull = (message.content as unknown) === null; // chats of OpenAI's API have null beside calls
  if (allCalls.length === 0) return isNull ? { ...written, content: null } : written;
  const kind = content !== "" ? "text" : isNull ? "null" : "empty";
  const form = options.callForm(allCalls, { kind, text: content, isLast });
  return {
    ...written,
    ...(kind !== "text" && form !== undefined && { content: form.content }),
    tool_calls: allCalls.map((call) => mapTexts(openaiCall(call, form), escapeText) as object),
  };
}

/** Adds the opening of a thought to a text in which the thought has only an end. */
function withOpenedThought(text: string, opening: string | undefined): string {
  const end = opening === undefined ? -1 : text.indexOf("</think>");
  return end === -1 || text.slice(0, end).includes("<think>") ? text : opening + text;
}

/**
 * Returns the texts of a message: usually a single text, several for a tool message whose results are written
 * separately.
 */
function contentsOf(
  message: Message,
  { hasToolResponseTags: tagsResponses }: TemplateMessagesOptions,
): readonly string[] {
  const { role, tool_responses: responses = [] } = message;
  const text = messageText(message);
  if (!isToolRole(role)) return [text];
  if (!tagsResponses) return [text === "" ? responses.join("\n") : text];
  const results = responses.length > 0 ? responses : [text];
  return results.map((response) => response.replace(RESPONSE_TAG, "<\u200b"));
}

/** True for a tool message. Every role other than these three is the name of a tool. */
export function isToolRole(role: string): boolean {
  return role !== "system" && role !== "user" && role !== "assistant";
}

function openaiCall(call: ToolCall, form: CallForm | undefined): object {
  const { id, name } = call;
  const args = form === undefined ? call.arguments : toTemplateArguments(call, form);
  const called = { name: name || UNNAMED_CALL, arguments: args };
  return { ...(id !== undefined && { id }), type: "function", function: called };
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
  if (typeof value !== "object" || value === null || rawNumberText(value) !== undefined) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [replace(key), mapTexts(field, replace)]),
  );
}
