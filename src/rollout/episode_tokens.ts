import type { TurnRecord } from "./turn_record.ts";

/** Tokens of an episode, for a trainer. */
export interface EpisodeTokens {
  /** Token ids of the whole conversation, as prompted and sampled, turn by turn. */
  readonly ids: readonly number[];
  /** For each id: 1 if the policy sampled it, else 0. */
  readonly lossMask: readonly (0 | 1)[];
  /** First prompt, as text. */
  readonly promptText?: string;
  /** Number of ids of the first prompt. */
  readonly promptLength?: number;
  /** Number of messages in the first prompt. */
  readonly promptMessages?: number;
  /** For each id: its log-probability if it was sampled, else 0. Left out if a reply had none. */
  readonly logProbs?: readonly number[];
  /** Number of prompts after the first that differ from `ids`, because the template rewrote earlier turns. */
  readonly rewrittenPrompts?: number;
}

/**
 * Returns the tokens of an episode with their loss mask. `ids` are the env's tokens at the end.
 *
 * Returns `undefined` if a turn has no token ids, and `null` if sampled tokens are no longer at their position: an env
 * that tokenises again gives no tokens for a loss.
 */
export function tokensOfEpisode(
  ids: readonly number[] | undefined,
  steps: readonly TurnRecord[],
): EpisodeTokens | null | undefined {
  if (ids === undefined || steps.length === 0) return undefined;
  const lossMask = Array<0 | 1>(ids.length).fill(0);
  for (const { tokens } of steps) {
    if (tokens?.start === undefined) return undefined;
    const { start } = tokens;
    if (tokens.ids.some((id, at) => ids[start + at] !== id)) return null;
    lossMask.fill(1, start, start + tokens.ids.length);
  }
  return { ids, lossMask };
}
