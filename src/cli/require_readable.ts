import { UsageError } from "./usage_error.ts";

/** What {@linkcode requireReadable} lets through. */
export interface RequireReadableOptions {
  mayBeFolder?: boolean | undefined;
}

/**
 * Refuses a file that cannot be read, before anything is opened for its sake.
 *
 * @throws {UsageError} when there is no such file, or it is a folder and must be none.
 */
export async function requireReadable(path: string, options: RequireReadableOptions = {}): Promise<void> {
  const { mayBeFolder = false } = options;
  try {
    const { isDirectory } = await Deno.stat(path);
    if (isDirectory && !mayBeFolder) throw new UsageError(`Cannot read '${path}': it is a directory`);
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
