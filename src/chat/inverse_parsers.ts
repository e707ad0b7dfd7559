import type { Message, ToolCall } from "../message.ts";
import type { InverseParserOptions } from "./chat_template.ts";
import { parseUntrustedJson } from "../json.ts";

const START = "<|im_start|>";
const END = /<\|im_end\|>|<\|endoftext\|>/g;

/** Options of {@linkcode parseChatml}. */
export interface ParseChatmlOptions {
  /**
   * Omits a last turn without content, which is a generation prompt.
   *
   * @default false
   */
  dropEmptyTail?: boolean | undefined;
}

/**
 * Parses `<|im_start|>role` … `<|im_end|>` blocks; the last block may be cut off. Text between blocks is
 * ignored.
 *
 * @throws {SyntaxError} if there is no block.
 */
export function parseChatml(text: string, options: ParseChatmlOptions = {}): Message[] {
  const messages: Message[] = [];
  let at = text.indexOf(START);
  while (at !== -1) {
    const role = at + START.length;
    const line = text.indexOf("\n", role);
    if (line === -1) break;
    END.lastIndex = line + 1;
    const end = END.exec(text);
    const content = text.slice(line + 1, end?.index).trim();
    const isCut = end === null;
    if (!isCut || content !== "" || !options.dropEmptyTail) {
      const message = { role: text.slice(role, line).trim(), content, ...parseToolTags(content) };
      messages.push(isCut ? { ...message, is_complete: false } : message);
    }
    at = isCut ? -1 : text.indexOf(START, END.lastIndex);
  }
  if (messages.length > 0) return messages;
  throw new SyntaxError(
    `Couldn't get a single item out of text ${text}. A common cause if that special tokens should not be ` +
      "omitted, did you set include_stop_str_in_output/skip_special_tokens?",
  );
}

/**
 * Parses the tool calls and tool results that a text contains between tags. The text itself is not changed.
 */
function parseToolTags(content: string): Pick<Message, "tool_calls" | "tool_responses"> {
  const calls = tagBodies(content, "tool_call").flatMap((json) => parseCall(json) ?? []);
  const responses = tagBodies(content, "tool_response");
  return {
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(responses.length > 0 && { tool_responses: responses }),
  };
}

/**
 * Returns the texts between opening and closing tags, in a single pass, since the text may be long and
 * hostile.
 */
function tagBodies(content: string, tag: string): string[] {
  const [open, close] = [`<${tag}>\n`, `\n</${tag}>`];
  const bodies: string[] = [];
  for (let at = content.indexOf(open); at !== -1;) {
    const end = content.indexOf(close, at + open.length);
    if (end === -1) break;
    bodies.push(content.slice(at + open.length, end));
    at = content.indexOf(open, end + close.length);
  }
  return bodies;
}

function parseCall(json: string): ToolCall | undefined {
  const call = parseObject(json);
  if (typeof call?.name !== "string") return undefined;
  const { name, arguments: args = {} } = call;
  if (typeof args === "string") return { name, arguments: args };
  if (typeof args !== "object" || args === null || Array.isArray(args)) return undefined;
  return { name, arguments: { ...args } };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = parseUntrustedJson(json);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // A model may write invalid JSON between the tags, which stays text.
  }
}

const LINE = /^(?:(Assistant|User):)?(.*)$/;

/**
 * Parses each non-empty line as a message: lines that begin with `Assistant:` are the assistant's, all
 * others the user's, with or without `User:`.
 *
 * @throws {SyntaxError} if all lines are empty.
 */
export function parseLines(text: string): Message[] {
  const messages = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== "").map(
    parseLine,
  );
  if (messages.length > 0) return messages;
  throw new SyntaxError(`Couldn't get a single item out of text ${text}.`);
}

function parseLine(line: string): Message {
  const [, speaker, content = ""] = LINE.exec(line) ?? [];
  return { role: speaker === "Assistant" ? "assistant" : "user", content: content.trim() };
}

const TURN = /<\|header_start\|>(\w+)<\|header_end\|>\n\n(.*?)(<\|eot\|>|$)/gs;

/**
 * Parses `<|header_start|>role<|header_end|>` … `<|eot|>` blocks. Turns without text are omitted.
 *
 * @throws {SyntaxError} if there is no turn with text.
 */
export function parseLlama(text: string): Message[] {
  const messages: Message[] = [];
  for (const [, role = "", body = "", end] of text.matchAll(TURN)) {
    const content = body.trim();
    if (content === "") continue;
    messages.push(end === "" ? { role, content, is_complete: false } : { role, content });
  }
  if (messages.length > 0) return messages;
  throw new SyntaxError(`Couldn't parse Llama format from text: ${text}`);
}

/** Options of {@linkcode parseSpeakers}. */
export interface ParseSpeakersOptions extends InverseParserOptions {
  /**
   * Pairs of tokens: the first opens the text, the second ends each assistant turn. Without the tokenizer's own
   * tokens, the pair whose first token opens the text is used, or else the first pair whose second token is
   * in an assistant turn, or else the first pair.
   */
  bounds?: readonly SpeakerBounds[] | undefined;
}

/** A token that opens a text, and a token that ends each assistant turn. */
export interface SpeakerBounds {
  readonly bosToken: string;
  readonly eosToken: string;
}

const NO_TOKEN = "(?!)";

/**
 * Parses turns that begin with `User:`, `Assistant:` or `Tool:`, at the start of a line or after the token
 * that ends an assistant turn. Some tokenizers add a space after that token. Text before the first turn is the
 * system message. An assistant turn that ends with neither such a token nor a line break was cut off; this
 * cannot be detected if the tokens were removed from the text.
 *
 * @throws {SyntaxError} if there is no turn.
 */
export function parseSpeakers(text: string, options: ParseSpeakersOptions = {}): Message[] {
  const { bounds = [], bosToken, eosToken } = options;
  const pair = bounds.find(({ bosToken }) => text.startsWith(bosToken)) ?? findPairByEnd(text, bounds) ??
    bounds[0];
  const opening = pair ? RegExp.escape(bosToken || pair.bosToken) : NO_TOKEN;
  const end = pair ? RegExp.escape(eosToken || pair.eosToken) : NO_TOKEN;
  const turns = text.replace(new RegExp(`^${opening}`), "");
  const hasEndTokens = pair === undefined || eosToken !== undefined || turns.length < text.length;
  const starts = [...turns.matchAll(new RegExp(`(?:^|\\n|(${end} ?))(User|Assistant|Tool):`, "g"))];
  const [first] = starts;
  if (first === undefined) throw new SyntaxError(`Couldn't get a single item out of text ${text}.`);
  const system = turns.slice(0, first.index).trim();
  const messages: Message[] = system === "" ? [] : [{ role: "system", content: system }];
  starts.forEach((start, index) => {
    const [prefix, , speaker = ""] = start;
    const next = starts[index + 1];
    // The match of the next turn's start includes the token or line break that ends this turn.
    const stop = next === undefined ? turns.length : next.index + (next[1]?.length ?? 1);
    const body = turns.slice(start.index + prefix.length, stop);
    messages.push(parseTurn(speaker.toLowerCase(), hasEndTokens ? body : `${body}\n`, end));
  });
  return messages;
}

/**
 * Returns the first pair whose end token is in an assistant turn that begins at the start of a line. Other turns may
 * contain the end token of another model as text.
 */
function findPairByEnd(text: string, bounds: readonly SpeakerBounds[]): SpeakerBounds | undefined {
  const turns = text.split(/\n(?=(?:User|Assistant|Tool):)/).filter((turn) => turn.startsWith("Assistant:"));
  return bounds.find(({ eosToken }) => turns.some((turn) => turn.includes(eosToken)));
}

function parseTurn(role: string, body: string, end: string): Message {
  const closed = role === "assistant" ? body.replace(new RegExp(`${end}\\s*$`), "\n") : body;
  const message = { role, content: closed.trim() };
  return role === "assistant" && !closed.endsWith("\n") ? { ...message, is_complete: false } : message;
}
