import * as z from "zod";
import { ArgumentTypeError, GuestFileError } from "../../../errors.ts";
import type { PythonSession } from "../../../sandbox/contract/pool.ts";
import { MAX_PATH_CHARACTERS } from "../../../wire/limits.ts";
import { askGuest, type GuestRequest, type RunProgram } from "./guest_request.ts";
import FILE from "./absolute_file.py" with { type: "text" };

/** Time for a copy of as many bytes as a session's files may have, in milliseconds. */
const COPY_MS = 60_000;
const DISCARD_MS = 10_000;

const readableSchema = z.object({ at: z.string().max(MAX_PATH_CHARACTERS), isCopy: z.boolean() });
const doneSchema = z.object({});

/** The part of a session that transfers files of its working directory. */
type Transfer = Pick<PythonSession, "readFile" | "writeFile">;

/** True if a path is of the session's whole file system, and not of the working directory. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith("/");
}

/** Options of {@linkcode readAbsolute} and {@linkcode writeAbsolute}. */
export interface AbsoluteOptions {
  readonly path: string;
  readonly signal: AbortSignal;
}

/**
 * Reads a file at an absolute path of the session's own file system, with the rights of its programs:
 * symbolic links are followed and modes apply. A file outside the working directory is copied there first.
 *
 * @throws {ArgumentTypeError} if the path is malformed.
 * @throws {GuestFileError} if the file cannot be read.
 */
export async function readAbsolute(
  run: RunProgram,
  session: Transfer,
  { path, signal }: AbsoluteOptions,
): Promise<Uint8Array> {
  checkAbsolutePath(path);
  const request = { action: "read", path, copy: newCopyName() };
  return await discardingCopy(run, request, async () => {
    const ask = {
      source: FILE,
      verb: "read",
      schema: readableSchema,
      options: { timeoutMs: COPY_MS, signal },
    };
    const { answer } = await askGuest(run, request, ask);
    const contents = await session.readFile(answer.at);
    if (answer.isCopy) await discard(run, request);
    return contents;
  });
}

/**
 * Writes a file at an absolute path of the session's own file system and makes the folders above it. The file
 * is written to the working directory and moved, with the rights of the session's programs.
 *
 * @throws {ArgumentTypeError} if the path is malformed.
 * @throws {GuestFileError} if the file cannot be written.
 */
export async function writeAbsolute(
  run: RunProgram,
  session: Transfer,
  { path, contents, signal }: AbsoluteOptions & { readonly contents: Uint8Array },
): Promise<void> {
  checkAbsolutePath(path);
  const request = { action: "write", path, copy: newCopyName() };
  await session.writeFile(request.copy, contents);
  await discardingCopy(run, request, async () => {
    const ask = { source: FILE, verb: "write", schema: doneSchema, options: { timeoutMs: COPY_MS, signal } };
    await askGuest(run, request, ask);
  });
}

interface CopyRequest extends GuestRequest {
  readonly copy: string;
}

/** Runs `work`, and removes the copy if that fails for another reason than the file, such as an abort. */
async function discardingCopy<T>(run: RunProgram, request: CopyRequest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // after a refusal the program has removed the copy; a session that has ended has no copy
    if (!(error instanceof GuestFileError)) await discard(run, request).catch(() => {});
    throw error;
  }
}

async function discard(run: RunProgram, request: CopyRequest): Promise<void> {
  const options = { timeoutMs: DISCARD_MS };
  await askGuest(run, { ...request, action: "discard" }, {
    source: FILE,
    verb: "read",
    schema: doneSchema,
    options,
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
