import { EpisodeError, errorMessage } from "./errors.ts";

/** Options of {@linkcode attributeErrors}. */
export interface BoundaryOptions {
  /** The class of the boundary; other errors are wrapped in it. */
  error: new (message: string, options: ErrorOptions) => EpisodeError;
  /** The start of the error message: `Cannot acquire session`. */
  failure: string;
  /** Once it is aborted, every error is taken as the cancellation and rethrown unchanged. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs code across a boundary. An `EpisodeError` is rethrown unchanged; any other error is wrapped in the
 * boundary's class.
 */
export async function attributeErrors<T>(run: () => T | Promise<T>, options: BoundaryOptions): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof EpisodeError || options.signal?.aborted) throw cause;
    const reason = errorMessage(cause);
    throw new options.error(`${options.failure}: ${reason}`, { cause });
  }
}
