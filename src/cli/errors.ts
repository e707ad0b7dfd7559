/** The command line asks for something that cannot be: the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Runs a check of the library's; what it refuses is wrong usage. */
export function checkUsage(check: () => void): void {
  try {
    check();
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) {
      throw new UsageError(error.message, { cause: error });
    }
    throw error;
  }
}
