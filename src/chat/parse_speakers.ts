import type { Message } from "../message.ts";
import type { InverseParserOptions } from "./chat_template.ts";

/** How {@linkcode parseSpeakers} reads. */
export interface ParseSpeakersOptions extends InverseParserOptions {
  /**
   * Pairs of tokens of which one opens the text and the other ends each turn of the assistant. Where the tokenizer
   * does not tell its own, they are those of the pair that opens the text, or else of the first.
   */
  bounds?: readonly SpeakerBounds[] | undefined;
}

/** The token that opens a text, and the one that ends each turn of the assistant. */
export interface SpeakerBounds {
  readonly bosToken: string;
  readonly eosToken: string;
}

const NO_TOKEN = "(?!)";

/**
 * Reads turns that begin with `User:`, `Assistant:` or `Tool:`, at the start of a line or behind the token that
 * ends an assistant's turn. What stands before the first is the system's. An assistant's turn that nothing ends,
 * neither such a token nor a line break, was cut off; of a text from which all tokens were taken nobody can tell.
 *
 * @throws {SyntaxError} when nobody speaks.
 */
export function parseSpeakers(text: string, options: ParseSpeakersOptions = {}): Message[] {
  const { bounds = [], bosToken, eosToken } = options;
  const own = bounds.find(({ bosToken }) => text.startsWith(bosToken)) ?? bounds[0];
  const opening = own ? tokenPattern(bosToken || own.bosToken) : NO_TOKEN;
  const end = own ? tokenPattern(eosToken || own.eosToken) : NO_TOKEN;
  const turns = text.replace(new RegExp(`^${opening}`), "");
  const tellsEnds = own === undefined || eosToken !== undefined || turns.length < text.length;
  const starts = [...turns.matchAll(new RegExp(`(?:^|\\n|(${end}))(User|Assistant|Tool):`, "g"))];
  const [first] = starts;
  if (first === undefined) throw new SyntaxError(`Couldn't get a single item out of text ${text}.`);
  const system = turns.slice(0, first.index).trim();
  const messages: Message[] = system === "" ? [] : [{ role: "system", content: system }];
  starts.forEach((start, index) => {
    const [prefix, , speaker = ""] = start;
    const next = starts[index + 1];
    // What ends a turn, the token or the line break, was read with the start of the next.
    const stop = next === undefined ? turns.length : next.index + (next[1]?.length ?? 1);
    const body = turns.slice(start.index + prefix.length, stop);
    messages.push(turn(speaker.toLowerCase(), tellsEnds ? body : `${body}\n`, end));
  });
  return messages;
}

function turn(role: string, body: string, end: string): Message {
  const ended = role === "assistant" ? body.replace(new RegExp(`${end}\\s*$`), "\n") : body;
  const message = { role, content: ended.trim() };
  return role === "assistant" && !ended.endsWith("\n") ? { ...message, is_complete: false } : message;
}

function tokenPattern(token: string): string {
  return token.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
