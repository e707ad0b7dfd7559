import * as z from "zod";
import { ArgumentTypeError } from "../../errors.ts";
import type { PythonSession } from "../../sandbox/exec.ts";
import { MAX_PATH_CHARACTERS } from "../../wire/limits.ts";
import { askGuest, type RunProgram } from "./guest_request.ts";
import FILE from "./file.py" with { type: "text" };

/** Time for a copy of as many bytes as a session's files may have, in milliseconds. */
const COPY_MS = 60_000;

const readableSchema = z.object({ at: z.string().max(MAX_PATH_CHARACTERS), isCopy: z.boolean() });
const doneSchema = z.object({});

/** The part of a session that transfers files of its working directory. */
type Transfer = Pick<PythonSession, "readFile" | "writeFile">;

/** True if a path is one of the session's whole file system, and not of its working directory. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith("/");
}

/**
 * Reads a file at an absolute path of the session's own file system, with the rights of its programs: symbolic links
 * are followed and modes apply. A file outside the working directory is copied there first.
 *
 * @throws {ArgumentTypeError} if the path is malformed.
 * @throws {GuestFileError} if it cannot be read.
 */
export async function readAbsolute(run: RunProgram, session: Transfer, path: string): Promise<Uint8Array> {
  checkAbsolutePath(path);
  const copy = newCopyName();
  const ask = <T>(action: string, schema: z.ZodType<T>) =>
    askGuest(run, { action, path, copy }, {
      source: FILE,
      verb: "read",
      schema,
      options: { timeoutMs: COPY_MS },
    });
  const { at, isCopy } = (await ask("read", readableSchema)).answer;
  try {
    return await session.readFile(at);
  } finally {
    if (isCopy) await ask("discard", doneSchema);
  }
}

/**
 * Writes a file at an absolute path of the session's own file system and makes the folders above it. The file is
 * written to the working directory and moved, with the rights of the session's programs.
 *
 * @throws {ArgumentTypeError} if the path is malformed.
 * @throws {GuestFileError} if it cannot be written.
 */
export async function writeAbsolute(
  run: RunProgram,
  session: Transfer,
  { path, contents }: { path: string; contents: Uint8Array | string },
): Promise<void> {
  checkAbsolutePath(path);
  const copy = newCopyName();
  await session.writeFile(copy, contents);
  const request = { action: "write", path, copy };
  await askGuest(run, request, {
    source: FILE,
    verb: "write",
    schema: doneSchema,
    options: { timeoutMs: COPY_MS },
  });
}

/** Returns a name between the server and the session, which its programs do not guess. */
function newCopyName(): string {
  return `.paddock-${crypto.randomUUID()}`;
}

function checkAbsolutePath(path: string): void {
  if (isAbsolutePath(path) && !path.includes("\0") && path.length <= MAX_PATH_CHARACTERS) return;
  const shown = JSON.stringify(path.length > 80 ? `${path.slice(0, 80)}…` : path);
  throw new ArgumentTypeError(
    `Cannot use path as it must be absolute, without a null character and have at most ${MAX_PATH_CHARACTERS} characters: current value is ${shown}`,
  );
}
