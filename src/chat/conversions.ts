import { requireKnownOptions } from "../options.ts";
import { History } from "../history.ts";
import type { ChatFormat } from "./chat_format.ts";
import type { ChatTemplate, InverseParserOptions } from "./chat_template.ts";
import { ChatTemplates, type ChooseTemplateOptions } from "./chat_templates.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** The parts of a conversation, as messages. */
export interface ChatHistory {
  readonly prompt?: History | undefined;
  /** The messages after the prompt. */
  readonly response?: History | undefined;
  /** Prompt and response together. */
  readonly full?: History | undefined;
}

/** The parts of a conversation, as text. The prompt ends in a generation prompt. */
export interface ChatText {
  readonly prompt?: string | undefined;
  readonly response?: string | undefined;
  readonly full?: string | undefined;
}

/** The parts of a conversation, as token ids. */
export interface ChatTokens {
  readonly prompt?: readonly number[] | undefined;
  readonly response?: readonly number[] | undefined;
  readonly full?: readonly number[] | undefined;
  /** True if padding ids were added to make sequences the same length. */
  readonly padded?: boolean | undefined;
}

/**
 * Parses text into messages. The response is the part of the full chat after the prompt; an empty
 * part is one empty assistant message.
 *
 * @throws {SyntaxError} if a part contains no message.
 * @throws {TypeError} if the template has no inverse parser.
 */
export function textToHistory(text: ChatText, format: ChatFormat): ChatHistory {
  const read = (part: string) => parseRenderedChat(part, format.template, format.tokenizer ?? {});
  const fullText = text.full ??
    (text.response === undefined ? undefined : `${text.prompt ?? ""}${text.response}`);
  const prompt = text.prompt === undefined ? undefined : withoutGenerationPrompt(read(text.prompt));
  const full = fullText === undefined ? undefined : read(fullText);
  if (prompt === undefined || full === undefined) return { ...(prompt && { prompt }), ...(full && { full }) };
  const response = full.slice(prompt.length);
  return { prompt, response: response.length > 0 ? response : EMPTY_RESPONSE, full };
}

/**
 * Parses token ids into messages.
 *
 * @throws {RangeError} if they are padded.
 * @throws {TypeError} if the format has no tokenizer, or the template has no inverse parser.
 * @throws {SyntaxError} if a part contains no message.
 */
export function tokensToHistory(tokens: ChatTokens, format: ChatFormat): ChatHistory {
  if (format.tokenizer === undefined) {
    throw new TypeError("Cannot decode tokens as the format must have a tokenizer: found none");
  }
  return textToHistory(tokensToText(tokens, format.tokenizer), format);
}

const EMPTY_RESPONSE = History.fromChats([{ role: "assistant", content: "" }]);

/** Removes a generation prompt, which is parsed as an incomplete, empty assistant message. */
function withoutGenerationPrompt(prompt: History): History {
  const { last } = prompt;
  const isHeader = last?.role === "assistant" && last.content === "" && last.is_complete === false;
  return isHeader ? prompt.slice(0, -1) : prompt;
}

/**
 * Renders a conversation as text: the prompt with a generation prompt, the full chat without a generation prompt,
 * and as the response the part of the full text after the prompt.
 *
 * @throws {RangeError} if the full text does not begin with the prompt.
 * @throws {TypeError} if there is a response without a prompt.
 */
export function historyToText(chat: ChatHistory, format: ChatFormat): ChatText {
  const { prompt, response } = chat;
  if (response !== undefined && prompt === undefined && chat.full === undefined) {
    throw new TypeError("Cannot render response as its prompt must be given: found none");
  }
  const fullChat = chat.full ?? (response && prompt?.extend(response));
  const full = fullChat && format.render(fullChat);
  const start = prompt && format.render(prompt, { addGenerationPrompt: true });
  if (start === undefined || full === undefined) return { ...parts({ prompt: start, full }) };
  if (full.startsWith(start)) return { prompt: start, response: full.slice(start.length), full };
  throw new RangeError(
    `Full text does not start with prompt text: the prompt is ${excerpt(start)}, the full text ${
      excerpt(full)
    }`,
  );
}

/**
 * Decodes token ids to text.
 *
 * @throws {RangeError} if they are padded.
 */
export function tokensToText(tokens: ChatTokens, tokenizer: Tokenizer): ChatText {
  if (tokens.padded) {
    throw new RangeError(
      "Cannot convert padded tokens to text: remove the padding and set 'padded: false'",
    );
  }
  const read = (ids: readonly number[] | undefined) => ids && tokenizer.decode(ids);
  return parts({ prompt: read(tokens.prompt), response: read(tokens.response), full: read(tokens.full) });
}

function parts(text: ChatText): ChatText {
  return Object.fromEntries(Object.entries(text).filter(([, part]) => part !== undefined));
}

function excerpt(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** Options of {@linkcode textToTokens}. */
export interface TextToTokensOptions {
  /** Not supported: `true` throws a `RangeError`. */
  padding?: boolean | undefined;
}

/**
 * Converts a conversation to token ids. The full ids are always the prompt's ids followed by the response's.
 *
 * @throws {TypeError} if the format has no tokenizer, or there is a response without a prompt.
 * @throws {RangeError} if the full text does not begin with the prompt.
 */
export function historyToTokens(chat: ChatHistory, format: ChatFormat): ChatTokens {
  if (format.tokenizer === undefined) {
    throw new TypeError("Cannot tokenize chat as the format must have a tokenizer: found none");
  }
  return textToTokens(historyToText(chat, format), format.tokenizer);
}

/**
 * Encodes text. The full ids are the prompt's ids followed by the response's.
 *
 * @throws {RangeError} if `padding` is true, or the full text does not begin with the prompt.
 */
export function textToTokens(
  text: ChatText,
  tokenizer: Tokenizer,
  options: TextToTokensOptions = {},
): ChatTokens {
  requireKnownOptions("call textToTokens", options, { padding: true });
  if (options.padding) throw new RangeError("Padding is not yet supported: leave 'padding' out");
  const { full } = text;
  const prompt = text.prompt === undefined ? undefined : tokenizer.encode(text.prompt);
  const responseText = text.response ?? responseTextOf(text);
  const response = responseText === undefined ? undefined : tokenizer.encode(responseText);
  if (prompt && response) return { prompt, response, full: [...prompt, ...response] };
  return {
    ...(prompt && { prompt }),
    ...(response && { response }),
    ...(full !== undefined && { full: tokenizer.encode(full) }),
  };
}

function responseTextOf({ prompt, full }: ChatText): string | undefined {
  if (prompt === undefined || full === undefined) return undefined;
  if (full.startsWith(prompt)) return full.slice(prompt.length);
  throw new RangeError("Full text does not start with prompt text: found another beginning");
}

/**
 * Options of {@linkcode fromText}. The template is chosen as for rendering; without any option, the template is chatml.
 */
export interface FromTextOptions extends ChooseTemplateOptions {
  /**
   * Templates to choose from.
   *
   * @default new ChatTemplates()
   */
  templates?: ChatTemplates | undefined;
}

/**
 * Parses a rendered chat back into messages. A last turn that was cut off has `is_complete: false`.
 *
 * The function trusts the control tokens in the text. Use the function only for text in which message contents were
 * escaped, as {@linkcode renderChat} does; text from elsewhere may contain forged turns.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { fromText } from "@paddock/paddock/chat";
 *
 * const history = fromText("<|im_start|>user\nHello<|im_end|>\n");
 * assertEquals(history.last?.content, "Hello");
 * ```
 *
 * @throws {SyntaxError} if the text contains no message.
 * @throws {TypeError} if the template has no inverse parser.
 * @throws {RangeError} if there is no template of that name.
 */
export function fromText(text: string, options: FromTextOptions = {}): History {
  requireKnownOptions("call fromText", options, {
    templates: true,
    chatTemplate: true,
    family: true,
    tokenizer: true,
  });
  const { templates = new ChatTemplates(), tokenizer, chatTemplate } = options;
  const isDefault = tokenizer === undefined && chatTemplate === undefined && options.family === undefined;
  const template = templates.choose(isDefault ? { family: "chatml" } : options);
  return parseRenderedChat(text, template, tokenizer ?? {});
}

/**
 * Parses text that a template rendered.
 *
 * @throws {SyntaxError} if the text contains no message.
 * @throws {TypeError} if the template has no inverse parser.
 */
export function parseRenderedChat(
  text: string,
  template: ChatTemplate,
  tokens: InverseParserOptions,
): History {
  const { name, inverseParser } = template;
  if (inverseParser !== undefined) return History.fromChats(inverseParser(text, tokens));
  throw new TypeError(`Cannot parse text as chat template '${name}' must have an inverse parser: found none`);
}
