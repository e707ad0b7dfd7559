import type { ChatFormat } from "../../chat/chat_format.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { errorMessage, TokenError } from "../../errors.ts";
import { type Message, messageText } from "../../message.ts";
import type { Reply } from "../../policy/policy.ts";

/** Sampled tokens of a reply. */
export interface SampledReply {
  readonly ids: readonly number[];
  /** Decoded ids, with the sampled token that ends the turn, if any. */
  readonly text: string;
  /** Log-probability of each id, if the server gives them. */
  readonly logProbs?: readonly number[];
}

/**
 * Returns the tokens of a reply: the server's ids, or, without a sampling server, the encoded text with the token that
 * ends a turn, unless the reply was cut off.
 *
 * @throws {TokenError} if a server gave no ids, or if they do not decode to the reply's text.
 */
export function toSampledReply(reply: Reply, format: ChatFormat, tokenizer: Tokenizer): SampledReply {
  const { message, tokens } = reply;
  if (tokens === undefined) return encodeReply(reply, format, tokenizer);
  const { ids, logProbs = ids.length === 0 ? [] : undefined } = tokens;
  if (logProbs !== undefined && logProbs.length !== ids.length) {
    throw new TokenError(
      `Cannot write reply as it must have a log-probability for each of its ${ids.length} tokens: it has ${logProbs.length}`,
    );
  }
  const text = decodeIds(ids, tokenizer);
  if (
    !idsMatchMessage({ ids, text, reply }, format, tokenizer) && !endsWithStopId(reply, format, tokenizer)
  ) {
    throw new TokenError(
      `Cannot write reply as tokenizer '${tokenizer.name}' must decode its ids to its text: it gives ` +
        `${shown(text)} for ${shown(messageText(message))}`,
    );
  }
  return { ids, text, ...(logProbs && { logProbs }) };
}

/**
 * True if the ids without the last id match the reply's text: the server stopped by that token and leaves the token out.
 */
function endsWithStopId(reply: Reply, format: ChatFormat, tokenizer: Tokenizer): boolean {
  const { stopId, tokens: { ids } = { ids: [] } } = reply;
  if (stopId === undefined || ids.at(-1) !== stopId) return false;
  const before = ids.slice(0, -1);
  return idsMatchMessage({ ids: before, text: tokenizer.decode(before), reply }, format, tokenizer);
}

function encodeReply(reply: Reply, format: ChatFormat, tokenizer: Tokenizer): SampledReply {
  const { message, finishReason, usage } = reply;
  if (finishReason !== undefined || usage !== undefined) {
    throw new TokenError(
      "Cannot write reply as the server that sampled it must return its token ids: found none",
    );
  }
  if (message.tool_calls !== undefined) {
    throw new TokenError(
      "Cannot write reply as it must be text or have token ids: its tool calls are in neither",
    );
  }
  const text = messageText(message) + (message.is_complete === false ? "" : format.endTokens[0] ?? "");
  const ids = tokenizer.encode(text);
  if (normalizeText(tokenizer.decode(ids)) === normalizeText(text)) return { ids, text };
  throw new TokenError(
    `Cannot write reply as tokenizer '${tokenizer.name}' must decode to what it encoded: it gives ` +
      `${shown(tokenizer.decode(ids))} for ${shown(text)}`,
  );
}

function decodeIds(ids: readonly number[], tokenizer: Tokenizer): string {
  try {
    return tokenizer.decode(ids);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new TokenError(
      `Cannot write reply as tokenizer '${tokenizer.name}' must know its ids: ${reason}`,
      { cause },
    );
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** Reply, ids of the reply, and the decoded text. */
export interface DecodedReply {
  readonly reply: Reply;
  readonly ids: readonly number[];
  readonly text: string;
}

/**
 * True if a reply's ids match the message: their text must start with the message, and only the end of a reply may
 * follow. If the server returns the thought or the calls separately, these may stand before or after the message, and each
 * call's name must be in the text: a call that the ids do not have would not be learnt.
 */
function idsMatchMessage(
  { reply, ids, text }: DecodedReply,
  format: ChatFormat,
  tokenizer: Tokenizer,
): boolean {
  const { message, stopText } = reply;
  const normalize = (text: string) =>
    removeVariableText(text, [...tokenizer.specialTokens, ...format.endTokens]);
  const decodedText = normalize(text);
  const messageContent = normalize(messageText(message));
  if (message.tool_calls !== undefined) {
    return decodedText.includes(messageContent) && hasCalls(text, message);
  }
  const at = message.reasoning_content === undefined
    ? decodedText.indexOf(messageContent)
    : decodedText.lastIndexOf(messageContent);
  if (at < 0 || (at > 0 && message.reasoning_content === undefined)) return false;
  const ended = skipIncompleteCharacter(decodedText, at + messageContent.length);
  if (ended === decodedText.length) return true;
  if (!stopText || !decodedText.startsWith(stopText, ended)) return false;
  const stopped = ended + stopText.length;
  // a stop text may end within the last token, whose rest then follows the stop text
  return stopped === decodedText.length || normalize(tokenizer.decode(ids.slice(0, -1))).length < stopped;
}

/** True if a text has the name of each native call as often as the message, plain or in JSON's form. */
function hasCalls(text: string, { tool_calls: calls = [] }: Message): boolean {
  const named = Map.groupBy(calls.filter(({ name }) => name !== ""), ({ name }) => name);
  return [...named].every(([name, { length }]) =>
    [name, JSON.stringify(name).slice(1, -1)].some((word) => text.split(word).length > length)
  );
}

/** Returns the position after the bytes of an incomplete character, which decode to U+FFFD. */
function skipIncompleteCharacter(text: string, start: number): number {
  let position = start;
  while (text[position] === "\ufffd") position++;
  return position;
}

/**
 * Removes from a text what servers leave out or change: special tokens, the bytes of an incomplete character, and
 * spaces before punctuation and at the start, which some tokenizers remove when they decode.
 */
function removeVariableText(text: string, specials: readonly string[]): string {
  const visible = specials.reduce((text, token) => token === "" ? text : text.replaceAll(token, ""), text);
  return normalizeText(visible).replace(/\ufffd+$/, "").replace(/^ /, "")
    .replaceAll(" ' ", "'").replace(/ +(?=[.?!,]|n't|'m|'s|'ve|'re)/g, "");
}

/**
 * True if two texts are equal except for changes that tokenizers make: composing letters and accents, replacing
 * incomplete characters by U+FFFD, and, as tokenizers of Llama 2 and Mistral do, adding a space at the start and after
 * special tokens.
 */
export function textsEquivalent(one: string, other: string, specialTokens: readonly string[]): boolean {
  if (one === other || normalizeText(one) === normalizeText(other)) return true;
  return removeSpaces(normalizeText(one), specialTokens) ===
    removeSpaces(normalizeText(other), specialTokens);
}

/** Normalizes a text for {@linkcode textsEquivalent}. */
function normalizeText(text: string): string {
  return text.toWellFormed().normalize("NFC");
}

/** Removes the spaces at the start of a text and after special tokens. */
function removeSpaces(text: string, specialTokens: readonly string[]): string {
  const places = ["^", ...specialTokens.filter((token) => token !== "").map((token) => RegExp.escape(token))];
  return text.replace(new RegExp(`(${places.join("|")}) +`, "g"), "$1");
}
