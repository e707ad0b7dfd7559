import { errorMessage } from "../errors.ts";

/** Error of a command whose arguments or input files are wrong. The exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Error of a command that needs what another process uses, such as a port. The exit code is 69. */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
}

/** Error of an episode that cannot be written to a file. The error ends the run: later episodes would be lost too. */
export class UnwrittenError extends Error {
  override readonly name = "UnwrittenError";
}

/** Options of {@linkcode toUsageError} and {@linkcode rethrowAsUsageError}. */
export interface UsageErrorOptions {
  /** Classes of the errors to convert; other errors stay as they are. @default every thrown value */
  kinds?: readonly (abstract new (...args: never[]) => Error)[] | undefined;
  /** Start of the new message, before the colon, such as "Cannot read 'x'". @default none */
  prefix?: string | undefined;
  /** Returns the reason that the message gives. @default the error's message */
  describe?: ((error: unknown) => string) | undefined;
}

/** Returns a {@linkcode UsageError} with the error as cause, or the error itself if not of `kinds`. */
export function toUsageError(error: unknown, options: UsageErrorOptions = {}): unknown {
  const { kinds, prefix, describe = errorMessage } = options;
  if (error instanceof UsageError) return error;
  if (kinds !== undefined && !kinds.some((kind) => error instanceof kind)) return error;
  const reason = describe(error);
  return new UsageError(prefix === undefined ? reason : `${prefix}: ${reason}`, { cause: error });
}

/**
 * Runs `work` and converts errors with {@linkcode toUsageError}.
 *
 * @throws {UsageError} if `work` fails with an error of `kinds`.
 */
export async function rethrowAsUsageError<T>(
  work: () => T | Promise<T>,
  options: UsageErrorOptions = {},
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toUsageError(error, options);
  }
}

/**
 * Runs a synchronous check of the library.
 *
 * @throws {UsageError} if the check throws a `RangeError` or a `TypeError`.
 */
export function checkUsage(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw toUsageError(error, { kinds: [RangeError, TypeError] });
  }
}
