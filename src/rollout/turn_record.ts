import type { Reply, TokenUsage } from "../policy/policy.ts";

/** One turn: what it took, what it was worth, and what the policy's server told. */
export interface TurnRecord {
  /** From 1. */
  readonly turn: number;
  /** Waiting for the policy. */
  readonly policyMs: number;
  /** Waiting for the env and its tools; `null` when the env never got the reply. */
  readonly envMs: number | null;
  /** `null` when nobody scored it. */
  readonly reward: number | null;
  readonly finishReason?: string;
  /** The stop text that ended the reply, where the server tells it. */
  readonly stopText?: string;
  readonly usage?: TokenUsage;
  /** The token ids that were sampled in this turn, and their log-probabilities. */
  readonly tokens?: NonNullable<Reply["tokens"]> & {
    /** How many tokens stood before them, where the env counts in tokens. */
    readonly start?: number;
  };
}

/** What a {@linkcode turnRecord} begins with. */
export interface TurnStart {
  turn: number;
  policyMs: number;
  /** How many tokens the prompt had, where the env counts in tokens. */
  promptTokens: number | undefined;
}

/** The record of a turn whose reply is there and whose env has not seen it. */
export function turnRecord(begun: TurnStart, reply: Reply): TurnRecord {
  const { turn, policyMs, promptTokens: start } = begun;
  const { finishReason, stopText, usage, tokens } = reply;
  return {
    turn,
    policyMs,
    envMs: null,
    reward: null,
    ...(finishReason !== undefined && { finishReason }),
    ...(stopText !== undefined && { stopText }),
    ...(usage && { usage }),
    ...(tokens && { tokens: { ...tokens, ...(start !== undefined && { start }) } }),
  };
}
