import { EpisodeError } from "./errors.ts";

/** The failure that ended an episode. Plain data. */
export interface EpisodeFailure {
  /** Where it happened; `env` when no boundary claims it. */
  readonly boundary: EpisodeError["boundary"] | "env";
  readonly name: string;
  readonly message: string;
}

/** What is written down of an error. */
export function episodeFailure(cause: unknown): EpisodeFailure {
  const boundary = cause instanceof EpisodeError ? cause.boundary : "env";
  const { name, message } = cause instanceof Error ? cause : { name: typeof cause, message: String(cause) };
  return { boundary, name, message };
}
