import { EpisodeError, errorMessage } from "./errors.ts";

/** What {@linkcode crossBoundary} needs to know of the crossing. */
export interface BoundaryOptions {
  /** The class that strangers are turned into. */
  error: new (message: string, options: ErrorOptions) => EpisodeError;
  /** What is being done, as the start of the message: `Cannot acquire session`. */
  failure: string;
  /** When it is aborted, what is thrown is the cancellation and passes as it is. */
  signal?: AbortSignal | undefined;
}

/** Runs what lies beyond a boundary: errors that know their boundary pass, others become this boundary's. */
export async function crossBoundary<T>(run: () => T | Promise<T>, options: BoundaryOptions): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof EpisodeError || options.signal?.aborted) throw cause;
    const reason = errorMessage(cause);
    throw new options.error(`${options.failure}: ${reason}`, { cause });
  }
}
