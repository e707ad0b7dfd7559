import { EpisodeError, PolicyError, type PolicyFault } from "./errors.ts";

/** The failure that ended an episode. Plain data. */
export interface EpisodeFailure {
  /** The boundary that failed; `env` for an error that belongs to no boundary. */
  readonly boundary: EpisodeError["boundary"];
  readonly name: string;
  readonly message: string;
  /** Why the policy's server gave no reply. */
  readonly fault?: PolicyFault;
}

/** Converts an error to the plain data that is recorded on a trajectory. */
export function toEpisodeFailure(cause: unknown): EpisodeFailure {
  const boundary = cause instanceof EpisodeError ? cause.boundary : "env";
  const { name, message } = cause instanceof Error ? cause : { name: typeof cause, message: String(cause) };
  const fault = cause instanceof PolicyError ? cause.fault : undefined;
  return { boundary, name, message, ...(fault && { fault }) };
}
