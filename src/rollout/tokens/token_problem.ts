import type { Tokenizer } from "../../chat/tokenizer.ts";
import { errorMessage, PolicyError, TokenError } from "../../errors.ts";
import { messageText } from "../../message.ts";
import type { Reply } from "../../policy/policy.ts";
import { PromptDifferenceError, textAround } from "./prompt_difference.ts";

/**
 * Place where the tokens of a server differ: in the `prompt`; in a `reply`, whose ids and text do not match; in the
 * `log_probs`; in the `data`, if ids are missing or fewer than counted. `server` is a request that failed, `format` a
 * template or tokenizer that cannot write the chat.
 */
export type TokenProblemKind = "prompt" | "reply" | "log_probs" | "data" | "server" | "format";

/** A reason why a server's tokens cannot be used for training. */
export interface TokenProblem {
  readonly kind: TokenProblemKind;
  /** Number of the reply in the chat, from 1. */
  readonly reply: number;
  readonly message: string;
  /** Position of the first token that differs, from 0, in the prompt or in the reply. */
  readonly position?: number;
  /** Expected id at the position; left out if no token is expected there. */
  readonly expectedId?: number;
  /** The server's id at the position; left out if the server's tokens end earlier. */
  readonly serverId?: number;
  /** Expected text around the position. */
  readonly expectedText?: string;
  /** Text of the server's tokens around the position. */
  readonly serverText?: string;
}

/** Replies of a chat that failed, and the number of requests. There are fewer replies if the last request failed. */
export interface ObservedReplies {
  readonly replies: readonly Reply[];
  readonly requests: number;
}

/** Returns the reason why a chat failed, with the first different token, if any. */
export function findTokenProblem(
  error: unknown,
  { replies, requests }: ObservedReplies,
  tokenizer: Tokenizer,
): TokenProblem {
  const problem = { reply: requests, message: errorMessage(error) };
  if (error instanceof PromptDifferenceError) {
    const { recordedId: expectedId, recordedText: expectedText, ...server } = error.difference;
    return {
      ...problem,
      kind: "prompt",
      ...(expectedId !== undefined && { expectedId }),
      expectedText,
      ...server,
    };
  }
  if (error instanceof PolicyError) return { ...problem, kind: "server" };
  if (!(error instanceof TokenError)) return { ...problem, kind: "format" };
  if (replies.length < requests) return { ...problem, kind: "data" };
  const difference = findReplyDifference(replies.at(-1), tokenizer);
  return difference === undefined
    ? { ...problem, kind: "format" }
    : { ...problem, kind: "reply", ...difference };
}

/** Returns the first sampled id whose text differs from the reply, if any. */
function findReplyDifference(
  reply: Reply | undefined,
  tokenizer: Tokenizer,
): Pick<TokenProblem, "position" | "expectedId" | "serverId" | "expectedText" | "serverText"> | undefined {
  if (reply?.tokens === undefined) return undefined;
  const { tokens: { ids }, message } = reply;
  const text = messageText(message);
  let [position, prefix] = [0, ""];
  while (position < ids.length) {
    const decoded = visibleText(ids.slice(0, position + 1), tokenizer);
    if (decoded === undefined || !text.startsWith(decoded)) break;
    [position, prefix] = [position + 1, decoded];
  }
  const rest = tokenizer.encode(text.slice(prefix.length));
  const [expectedId] = rest;
  const serverId = ids[position];
  if (expectedId === undefined && serverId === undefined) return undefined;
  return {
    position,
    ...(expectedId !== undefined && { expectedId }),
    ...(serverId !== undefined && { serverId }),
    expectedText: textAround([...ids.slice(0, position), ...rest], position, tokenizer),
    serverText: textAround(ids, position, tokenizer),
  };
}

/** Decodes ids without special tokens and an incomplete last character; `undefined` if an id is unknown. */
function visibleText(ids: readonly number[], tokenizer: Tokenizer): string | undefined {
  try {
    const text = tokenizer.decode(ids);
    return tokenizer.specialTokens.reduce(
      (text, token) => token === "" ? text : text.replaceAll(token, ""),
      text,
    )
      .replace(/\ufffd{1,3}$/, "");
  } catch {
    return undefined; // the server's tokenizer has ids that this tokenizer does not know
  }
}

/** Maximum log-probability. Servers round in 16 bits. */
const MAX_LOG_PROB = 0.01;

/** Returns the first reply without log-probabilities, or with a value that is not a logarithm of a probability. */
export function findLogProbProblem(replies: readonly Reply[]): TokenProblem | undefined {
  for (const [at, { tokens }] of replies.entries()) {
    if (tokens === undefined || tokens.ids.length === 0) continue;
    const problem = { kind: "log_probs" as const, reply: at + 1 };
    const { logProbs } = tokens;
    if (logProbs === undefined) {
      return { ...problem, message: "The server returns no log-probabilities, which trainers need" };
    }
    const position = logProbs.findIndex((logProb) => logProb > MAX_LOG_PROB);
    if (position !== -1) {
      const value = logProbs[position];
      return {
        ...problem,
        position,
        message: `A log-probability must be <= 0: token ${position} has ${value}`,
      };
    }
  }
  return undefined;
}
