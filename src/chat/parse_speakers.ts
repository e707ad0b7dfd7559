import type { Message } from "../message.ts";
import type { InverseParserOptions } from "./chat_template.ts";

/** Options of {@linkcode parseSpeakers}. */
export interface ParseSpeakersOptions extends InverseParserOptions {
  /**
   * Pairs of tokens: one opens the text, the other ends each assistant turn. Without the tokenizer's own
   * tokens, the pair whose first token opens the text is used, or else the first pair.
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
 * that ends an assistant turn. Text before the first turn is the system message. An assistant turn that ends
 * with neither such a token nor a line break was cut off; this cannot be detected if the tokens were removed
 * from the text.
 *
 * @throws {SyntaxError} if there is no turn.
 */
export function parseSpeakers(text: string, options: ParseSpeakersOptions = {}): Message[] {
  const { bounds = [], bosToken, eosToken } = options;
  const pair = bounds.find(({ bosToken }) => text.startsWith(bosToken)) ?? bounds[0];
  const opening = pair ? RegExp.escape(bosToken || pair.bosToken) : NO_TOKEN;
  const end = pair ? RegExp.escape(eosToken || pair.eosToken) : NO_TOKEN;
  const turns = text.replace(new RegExp(`^${opening}`), "");
  const hasEndTokens = pair === undefined || eosToken !== undefined || turns.length < text.length;
  const starts = [...turns.matchAll(new RegExp(`(?:^|\\n|(${end}))(User|Assistant|Tool):`, "g"))];
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

function parseTurn(role: string, body: string, end: string): Message {
  const closed = role === "assistant" ? body.replace(new RegExp(`${end}\\s*$`), "\n") : body;
  const message = { role, content: closed.trim() };
  return role === "assistant" && !closed.endsWith("\n") ? { ...message, is_complete: false } : message;
}
