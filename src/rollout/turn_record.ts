import type { Reply, TokenUsage } from "../policy/policy.ts";

/** Record of one turn: its times, its reward, and data from the policy's server. */
export interface TurnRecord {
  /** Number of the turn, from 1. */
  readonly turn: number;
  /** Milliseconds of waiting for the policy. */
  readonly policyMs: number;
  /** Milliseconds in the env and its tools; `null` if the env never got the reply. */
  readonly envMs: number | null;
  /** Reward of the step; `null` if it was not scored. */
  readonly reward: number | null;
  readonly finishReason?: string;
  /** Stop text that ended the reply, if the server reports it. */
  readonly stopText?: string;
  readonly usage?: TokenUsage;
  /** Sampled token ids of this turn, and their log-probabilities. */
  readonly tokens?: NonNullable<Reply["tokens"]> & {
    /** Number of tokens before them, if the env uses tokens. */
    readonly start?: number;
  };
}

/** Input of {@linkcode toTurnRecord} beside the reply. */
export interface TurnStart {
  turn: number;
  policyMs: number;
  /** Number of tokens of the prompt, if the env uses tokens. */
  promptTokens: number | undefined;
}

/** Creates the record of a turn whose reply the env has not seen yet. */
export function toTurnRecord(start: TurnStart, reply: Reply): TurnRecord {
  const { turn, policyMs, promptTokens } = start;
  const { finishReason, stopText, usage, tokens } = reply;
  return {
    turn,
    policyMs,
    envMs: null,
    reward: null,
    ...(finishReason !== undefined && { finishReason }),
    ...(stopText !== undefined && { stopText }),
    ...(usage && { usage }),
    ...(tokens && { tokens: { ...tokens, ...(promptTokens !== undefined && { start: promptTokens }) } }),
  };
}
