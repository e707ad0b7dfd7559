import { UsageError } from "./usage_error.ts";

/**
 * Refuses a file that cannot be read, before anything is opened for its sake.
 *
 * @throws {UsageError} when there is no such file, or it is none.
 */
export async function requireReadable(path: string): Promise<void> {
  try {
    const { isDirectory } = await Deno.stat(path);
    if (isDirectory) throw new UsageError(`Cannot read '${path}': it is a directory`);
    using _file = await Deno.open(path);
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const isMissing = cause instanceof Deno.errors.NotFound;
    const reason = isMissing
      ? "there is no such file"
      : cause instanceof Error
      ? cause.message
      : String(cause);
    throw new UsageError(`Cannot read '${path}': ${reason}`, { cause });
  }
}
