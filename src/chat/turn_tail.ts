import { type Message, messageText, type ToolCall, type ToolSpec } from "../message.ts";
import type { ChatFormat, RenderOptions } from "./chat_format.ts";
import { isToolRole } from "./template_messages.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A turn of a chat: the assistant's reply to a generation prompt, and the messages after the reply. */
export interface ChatTurn {
  /** The assistant's reply. */
  readonly reply: Message;
  /** Messages after the reply, such as tool results or the user's next question. */
  readonly messages?: Iterable<Message> | undefined;
  /** Tools to describe to the model. */
  readonly tools?: readonly ToolSpec[] | undefined;
  /**
   * The chat before the generation prompt, for a template that renders a turn differently by position.
   * Without this chat, a single question is used instead, and the cost of a turn does not depend on the length of
   * the chat.
   */
  readonly before?: Iterable<Message> | undefined;
  /**
   * Time that the template's `strftime_now` shows, which must be the time of the earlier chat.
   *
   * @default the time of the format's clock
   */
  readonly time?: Date | undefined;
}

/** Placeholder for the chat before a turn. */
export const QUESTION: readonly Message[] = [{ role: "user", content: "-" }];

/** A turn whose reply was sampled as token ids. */
export interface RepliedTurn extends ChatTurn {
  /** Ids of the sampled reply. */
  readonly sampled: readonly number[];
}

/** Options of {@linkcode renderTurnSuffix}. */
export interface TurnSuffixOptions {
  /**
   * Appends the header of the assistant's next turn.
   *
   * @default true
   */
  addGenerationPrompt?: boolean | undefined;
}

/** Placeholder for a reply whose tokens are known. */
const REPLY_PLACEHOLDER = "\ue000";

/**
 * Renders the text after a sampled reply: the end of the turn if the model did not sample the end, the other
 * messages, and the next generation prompt. The reply is rendered as a placeholder, so that no template can
 * rewrite it.
 *
 * @throws {Error} if the template does not put the reply after the generation prompt.
 */
export function renderTurnSuffix(
  turn: RepliedTurn,
  format: ChatFormat,
  options: TurnSuffixOptions = {},
): string {
  return withoutSampledEnd(renderTurnTail(turn, format, options), turn, format);
}

/**
 * Renders the text after a reply in the template's form: the end of the turn, the other messages, and the
 * next generation prompt.
 *
 * @throws {Error} if the template does not put the reply after the generation prompt.
 */
export function renderTurnTail(
  { reply, messages = [], tools, before = QUESTION, time }: ChatTurn,
  format: ChatFormat,
  { addGenerationPrompt = true }: TurnSuffixOptions = {},
): string {
  const options = { tools, time: time ?? format.now() };
  const others = [...messages];
  const { standIn, endToken } = standInFor(reply, others, format);
  const text = format.render([...before, standIn, ...others], { ...options, addGenerationPrompt });
  const isCall = endToken !== undefined;
  const after = findReply(text, { before, isCall, options }, format) + REPLY_PLACEHOLDER.length;
  const end = isCall ? text.indexOf(endToken, after) : after;
  if (end !== -1) return text.slice(end);
  throw new Error(
    `Cannot render turn as template '${format.template.name}' must end a call with '${endToken}': it does not`,
  );
}

/**
 * Returns the message that is rendered in place of a reply, with the placeholder. Some templates show a tool's result only
 * after a message with calls, or name the calls in the result. The placeholder is then an argument of the last call, and
 * the turn ends at the template's end token.
 */
function standInFor(
  reply: Message,
  messages: readonly Message[],
  format: ChatFormat,
): { standIn: Message; endToken?: string | undefined } {
  const plain = { role: "assistant", content: REPLY_PLACEHOLDER };
  const endToken = format.callEnd;
  if (endToken === undefined || !(format.needsCalls || format.namesCalls)) return { standIn: plain };
  const made = format.callsOf(reply);
  const other = messages.findIndex(({ role }) => !isToolRole(role));
  const answered = messages.slice(0, other === -1 ? messages.length : other);
  const calls = made.length > 0 || !format.needsCalls ? made : answered.map(callOfResult);
  const known = calls.filter((call) => call !== undefined);
  if (known.length === 0 || known.length < calls.length) return { standIn: plain };
  const last = known.length - 1;
  const tool_calls = known.map((call, at) => at < last ? call : { ...call, arguments: PLACEHOLDER_ARGUMENTS })
    .map(({ arguments_text: _text, ...call }) => call);
  return { standIn: { role: "assistant", content: "", tool_calls }, endToken };
}

const PLACEHOLDER_ARGUMENTS = { "-": REPLY_PLACEHOLDER };

/** Returns the call that a tool's result answers, if the result names the tool. */
function callOfResult({ name, tool_call_id: id }: Message): ToolCall | undefined {
  return name === undefined ? undefined : { name, arguments: {}, ...(id !== undefined && { id }) };
}

/**
 * Removes from a turn's tail what the model sampled already: the token that ends the turn, or other text
 * after the reply's content.
 */
export function withoutSampledEnd(
  tail: string,
  { sampled, reply }: Pick<RepliedTurn, "sampled" | "reply">,
  format: ChatFormat,
): string {
  const { tokenizer } = format;
  if (tokenizer === undefined) {
    throw new TypeError("Cannot encode turn as the format must have a tokenizer: found none");
  }
  if (hasEndToken(sampled, format.endTokens, tokenizer)) return withoutEndToken(tail, format.endTokens);
  return withoutSampledStart(tail, tokenizer.decode(sampled), messageText(reply));
}

/**
 * Returns the position of the reply in a rendered chat. The reply's header can be shorter than the generation
 * prompt, if that prompt opens and closes a reasoning block; the header can be longer, if the template adds
 * such a block to replies without a block. For templates without a header, such as templates of Mistral and Llama 2, only
 * white space may precede the reply. Nemotron 3's prompt opens a reasoning block, and the reply has an
 * empty block in that place. Phi's chat without a generation prompt ends with a token that is not in a longer chat.
 */
function findReply(
  text: string,
  { before, isCall, options }: { before: Iterable<Message>; isCall: boolean; options: RenderOptions },
  format: ChatFormat,
): number {
  const prompt = format.render(before, { ...options, addGenerationPrompt: true });
  const at = text.indexOf(REPLY_PLACEHOLDER, sharedLength(prompt, text));
  const start = format.render(before, options);
  if (at !== -1 && isReplyStart(text.slice(0, at), { prompt, start, isCall })) return at;
  throw new Error(
    `Cannot render turn as template '${format.template.name}' must put a reply after its generation prompt: ` +
      "it changes earlier text",
  );
}

/** True if a text that ends where a reply begins continues the chat in the way of the generation prompt. */
function isReplyStart(
  text: string,
  { prompt, start, isCall }: { prompt: string; start: string; isCall: boolean },
): boolean {
  const header = prompt.startsWith(start) ? prompt.slice(start.length) : prompt;
  if (header !== "" && text.startsWith(prompt)) return true;
  if (!text.startsWith(start) || !prompt.startsWith(start)) return false;
  const prefix = text.slice(start.length);
  if (header === "") return isCall || prefix.trim() === "";
  const speaker = withoutThought(header);
  if (speaker !== "" && isCall) return prefix.startsWith(speaker);
  return header.startsWith(prefix) || (speaker !== "" && speaker === withoutThought(prefix));
}

/** White space and tags of thoughts at the end of a header. Gemma 4 writes `<|channel>thought` and `<channel|>`. */
const THOUGHT_TAGS = /(?:\s|<\/?think>|<\|channel>thought|<channel\|>)+$/;

/** Removes the tags and the white space of a thought from the end of a header. */
export function withoutThought(header: string): string {
  return header.replace(THOUGHT_TAGS, "");
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** True if the sampled ids end with any of the end tokens. */
function hasEndToken(sampled: readonly number[], ends: readonly string[], tokenizer: Tokenizer): boolean {
  return ends.map((end) => tokenizer.encode(end)).some((ids) =>
    ids.length > 0 && ids.every((id, at) => id === sampled[sampled.length - ids.length + at])
  );
}

/** Removes an end token from the start of the tail. Some templates put a space before the end token. */
function withoutEndToken(tail: string, ends: readonly string[]): string {
  const text = tail.trimStart();
  const end = ends.find((end) => text.startsWith(end));
  return end === undefined ? tail : text.slice(end.length);
}

/**
 * Removes the start of the tail that the model already sampled after the content, such as a line break that
 * ends the turn. An incomplete character may precede that start.
 */
function withoutSampledStart(tail: string, sampledText: string, content: string): string {
  const at = content === "" ? -1 : sampledText.lastIndexOf(content);
  const surplus = at === -1 ? "" : sampledText.slice(at + content.length).replace(/^\ufffd+/, "");
  return tail.startsWith(surplus) ? tail.slice(surplus.length) : tail;
}
