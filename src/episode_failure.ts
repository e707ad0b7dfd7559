import { EpisodeError, PolicyError, type PolicyFault } from "./errors.ts";

/** The failure that ended an episode. Plain data. */
export interface EpisodeFailure {
  /** Where it happened; `env` when no boundary claims it. */
  readonly boundary: EpisodeError["boundary"];
  readonly name: string;
  readonly message: string;
  /** Why the policy's server gave no answer. */
  readonly fault?: PolicyFault;
}

/** What is written down of an error. */
export function episodeFailure(cause: unknown): EpisodeFailure {
  const boundary = cause instanceof EpisodeError ? cause.boundary : "env";
  const { name, message } = cause instanceof Error ? cause : { name: typeof cause, message: String(cause) };
  const fault = cause instanceof PolicyError ? cause.fault : undefined;
  return { boundary, name, message, ...(fault && { fault }) };
}
