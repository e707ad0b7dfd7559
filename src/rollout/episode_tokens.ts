import type { TurnRecord } from "./turn_record.ts";

/** An episode as a trainer reads it. */
export interface EpisodeTokens {
  /** The whole conversation as it was sampled and prompted, one turn behind the other. */
  readonly ids: readonly number[];
  /** For each of the ids: 1 when the policy sampled it, else 0. */
  readonly lossMask: readonly (0 | 1)[];
  /** The first prompt, and how many of the ids are its own. */
  readonly promptText?: string;
  readonly promptLength?: number;
  /** How many messages the first prompt was made of. */
  readonly promptMessages?: number;
  /** For each of the ids: the log-probability of what was sampled, else 0; left out where a reply had none. */
  readonly logProbs?: readonly number[];
  /** How many prompts after the first were not what stands in the ids, as the template wrote them anew. */
  readonly rewrittenPrompts?: number;
}

/**
 * The tokens of an episode and which of them the policy sampled; `ids` is what the env has at the end.
 *
 * Gives `undefined` when a turn came without token ids, and `null` when what a policy sampled no longer stands
 * where it was put: an env that tokenises anew gives nothing that a loss may be computed of.
 */
export function episodeTokens(
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
