import { TokenError } from "../errors.ts";
import type { History } from "../history.ts";
import type { Reply, ReplyContext } from "./policy.ts";

/** Advice for a server that returns no token data. */
export const TRAINING_ADVICE =
  "use vLLM 0.10.2 or newer, or a version of SGLang whose /v1/completions takes 'return_token_ids', or " +
  "sglangPolicy() with SGLang's /generate (--policy sglang:URL), or llamaCppPolicy() with llama.cpp's /completion " +
  "(--policy llamacpp:URL); or play for evaluation, without tokens for a trainer";

/** Options of {@linkcode requireTokenData}. */
export interface TokenDataOptions {
  /**
   * True if the server counts exactly the returned ids of the reply.
   *
   * @default true
   */
  countsReply?: boolean | undefined;
}

/**
 * Checks that a reply has the token data that a trainer needs: the ids of the prompt, the sampled ids, as many as the
 * server counted and with the token that ended the reply, and a log-probability for each id, if the server gives any.
 *
 * @throws {TokenError} if data is missing or the lengths differ.
 */
export function requireTokenData(reply: Reply, options: TokenDataOptions = {}): void {
  const { countsReply = true } = options;
  const { promptIds, tokens, usage, stopId } = reply;
  const missing = [
    ...promptIds === undefined ? ["of the prompt"] : [],
    ...tokens === undefined ? ["of the reply"] : [],
  ];
  if (promptIds === undefined || tokens === undefined) {
    throw new TokenError(
      `Cannot record reply as its server must return token ids: found no ids ${
        missing.join(" and ")
      }. For training, ${TRAINING_ADVICE}`,
    );
  }
  requireLength("ids of the prompt", promptIds, usage?.promptTokens);
  if (countsReply) requireLength("ids of the reply", tokens.ids, usage?.replyTokens);
  requireLength("log-probabilities", tokens.logProbs, tokens.ids.length);
  const last = tokens.ids.at(-1);
  if (stopId === undefined || stopId === last) return;
  throw new TokenError(
    `Cannot record reply as its last token must be ${stopId}, which ended it: found ${last ?? "no token"}`,
  );
}

function requireLength(
  name: string,
  list: readonly number[] | undefined,
  length: number | undefined,
): void {
  if (list === undefined || length === undefined || list.length === length) return;
  throw new TokenError(
    `Cannot record reply as its server must return ${length} ${name}: it returned ${list.length}`,
  );
}

/** Returns a function that probes the server once for each prompt. Failed probes are repeated. */
export function cacheProbes(reply: (history: History, context: ReplyContext) => Promise<Reply>) {
  const replies = new Map<string, Promise<Reply>>();
  return async (history: History, context: ReplyContext): Promise<Reply> => {
    const { text = "" } = context;
    const probe = replies.get(text) ?? reply(history, context);
    replies.set(text, probe);
    try {
      return await probe;
    } catch (error) {
      replies.delete(text);
      throw error;
    }
  };
}
