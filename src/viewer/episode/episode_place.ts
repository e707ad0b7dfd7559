import type { Message } from "../../message.ts";
import { type MessageLimits, type MessageRange, messageRange } from "./message_range.ts";

/** Part of an episode that the episode's page shows. */
export interface EpisodePlace {
  /** Index of the first message. */
  readonly message: number;
  /** Turn that is shown instead. */
  readonly turn?: number | undefined;
  /** Number of the first token. */
  readonly token: number;
  /** True to show more of long texts. */
  readonly all: boolean;
}

/** Limits of a page, and of a page with more of long texts. */
const LIMITS: MessageLimits = { text: 20_000, page: 500_000 };
const LARGE_LIMITS: MessageLimits = { text: 400_000, page: 2_000_000 };

/** Reads a place from the parameters of an address. Invalid values are left out. */
export function parsePlace(parameters: URLSearchParams): EpisodePlace {
  const numberOf = (name: string) => Math.max(0, Math.floor(Number(parameters.get(name)) || 0));
  const turn = numberOf("turn");
  return {
    message: numberOf("message"),
    token: numberOf("from"),
    all: parameters.has("all"),
    ...turn > 0 && { turn },
  };
}

/** Returns the parameters of a list and of a place, after `?`. */
export function toPlaceSearch(search: string, { message, turn, token, all }: Partial<EpisodePlace>): string {
  const parameters = new URLSearchParams(search);
  if (message) parameters.set("message", `${message}`);
  if (turn) parameters.set("turn", `${turn}`);
  if (token) parameters.set("from", `${token}`);
  if (all) parameters.set("all", "1");
  return `?${parameters}`;
}

/** Returns the characters that the page of a place shows. */
export function messageLimits({ all }: Pick<EpisodePlace, "all">): MessageLimits {
  return all ? LARGE_LIMITS : LIMITS;
}

/**
 * Returns the messages of a place: the page of the place's message, or the page of the turn if the former lacks the
 * turn.
 */
export function rangeOf(
  { message, turn, all }: EpisodePlace,
  { messages, turnOf }: { messages: readonly Message[]; turnOf: ReadonlyMap<number, number> },
): MessageRange {
  const limits = messageLimits({ all });
  const range = messageRange(messages, { from: message, limits });
  const [start] = [...turnOf].find(([, number]) => number === turn) ?? [];
  return start === undefined || (start >= range.from && start < range.to)
    ? range
    : messageRange(messages, { from: start, limits });
}
