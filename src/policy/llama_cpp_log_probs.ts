import * as z from "zod";
import { PolicyError } from "../errors.ts";
import { listOf, MAX_TOKEN_VALUES, type ModelServer } from "./model_server.ts";

/** A sampled token whose log-probability the server reports. */
export interface ListedToken {
  readonly id: number;
  readonly logprob?: number | null | undefined;
}

/** Maximum number of log-probabilities of a reply that are requested separately. */
const MAX_REQUESTS = 256;

/** Number of tokens among which a sampled token is searched. Below them are improbable tokens. */
const TOP_TOKENS = 1_000;

/** A grammar of the empty text. The server can only end the turn, whose token has no text and is therefore reported. */
const END_OF_TURN = 'root ::= ""';

const listed = z.object({
  completion_probabilities: z.tuple([
    z.object({ top_logprobs: listOf(z.object({ id: z.int(), logprob: z.number() })) }),
  ]),
});

/** Where the reply was sampled. */
export interface ReplyPlace {
  readonly model: string | undefined;
  readonly prompt: readonly number[];
  readonly signal: AbortSignal | undefined;
}

/**
 * The log-probabilities of a reply's tokens. llama.cpp reports them beside the text that a token completes: a token that
 * ends within a character, or belongs to a stop text, has none. Such log-probabilities are requested separately: with the
 * prompt up to the token, the server reports the most probable next tokens of the model.
 */
export class ReplyLogProbs {
  readonly #server: ModelServer;
  readonly #place: ReplyPlace;

  constructor(server: ModelServer, place: ReplyPlace) {
    this.#server = server;
    this.#place = place;
  }

  /** Returns the log-probability of each id; `undefined` if the server does not give all of them. */
  async of(ids: readonly number[], listed: readonly ListedToken[]): Promise<number[] | undefined> {
    const known = alignListed(ids, listed);
    if (known === undefined || ids.length - known.size > MAX_REQUESTS) return undefined;
    const logProbs: number[] = [];
    for (const [at, id] of ids.entries()) {
      const logProb = known.get(at) ?? await this.#request(ids.slice(0, at), id);
      if (logProb === undefined) return undefined;
      logProbs.push(logProb);
    }
    return logProbs;
  }

  async #request(before: readonly number[], id: number): Promise<number | undefined> {
    const { model, prompt, signal } = this.#place;
    const request = {
      ...(model !== undefined && { model }),
      prompt: [...prompt, ...before],
      n_predict: 1,
      n_probs: TOP_TOKENS,
      post_sampling_probs: false,
      grammar: END_OF_TURN,
      stream: false,
    };
    try {
      const response = await this.#server.post(request, { signal, maxValues: MAX_TOKEN_VALUES });
      const { data } = listed.safeParse(response);
      return data?.completion_probabilities[0].top_logprobs.find((token) => token.id === id)?.logprob;
    } catch (error) {
      if (error instanceof PolicyError && error.fault === "refused") return undefined; // no room, or no grammars
      throw error;
    }
  }
}

/**
 * Returns the log-probabilities that are certain, by the position of their token. A listed token belongs to the only
 * position at which the list fits; where an id is repeated, several may fit.
 */
function alignListed(
  ids: readonly number[],
  listed: readonly ListedToken[],
): Map<number, number> | undefined {
  const first = subsequence(ids, listed);
  const last = subsequence(ids.toReversed(), listed.toReversed())
    ?.map((at) => ids.length - 1 - at).reverse();
  if (first === undefined || last === undefined) return undefined;
  const known = new Map<number, number>();
  for (const [at, { logprob }] of listed.entries()) {
    const position = first[at];
    if (position === undefined || position !== last[at] || typeof logprob !== "number") continue;
    known.set(position, logprob);
  }
  return known;
}

/** Returns the first positions of the listed ids, in order; `undefined` if they are not all there. */
function subsequence(ids: readonly number[], listed: readonly ListedToken[]): number[] | undefined {
  const positions: number[] = [];
  let at = 0;
  for (const { id } of listed) {
    while (at < ids.length && ids[at] !== id) at++;
    if (at === ids.length) return undefined;
    positions.push(at++);
  }
  return positions;
}
