import * as z from "zod";
import { checkPath } from "../../../sandbox/exec/exec_check.ts";
import { MAX_FOLDER_ENTRIES } from "../../../wire/limits.ts";
import { askGuest, type GuestRequest, type RunProgram } from "./guest_request.ts";
import FOLDER from "./folder.py" with { type: "text" };

/** An entry of a folder, as the guest reports it. */
export interface FolderEntry {
  /** Path relative to the working directory. */
  readonly path: string;
  readonly type: "file" | "directory" | "link" | "other";
  readonly bytes: number;
  /** Modification time by the session's clock, in nanoseconds. The guest can set it to any value. */
  readonly writtenNs: number;
}

/** The entries of a folder by name. */
export interface FolderListing {
  readonly entries: readonly FolderEntry[];
  /** Number of entries that the folder has. */
  readonly total: number;
}

/** Options of the functions of this module. */
export interface FolderOptions {
  readonly signal: AbortSignal;
}

const [LIST_MS, CHANGE_MS] = [10_000, 60_000];
/** Characters of a listing. The profile's limit of output applies too. */
const MAX_LISTING_CHARACTERS = 4 * 1024 * 1024;

const rowSchema = z.tuple([
  z.string().max(4096),
  z.enum(["file", "directory", "link", "other"]),
  z.number().nonnegative(),
  z.number(),
]);
const listingSchema = z.object({
  rows: z.array(rowSchema).max(MAX_FOLDER_ENTRIES),
  total: z.int().nonnegative(),
});
const doneSchema = z.object({});

/**
 * Lists the first entries of a folder, in the order of their names.
 *
 * @throws {ArgumentTypeError} if the path leads outside the working directory.
 * @throws {GuestFileError} if the path is no folder.
 */
export async function listFolder(
  run: RunProgram,
  path: string,
  { signal, outputBytes = Infinity }: FolderOptions & { outputBytes?: number | undefined },
): Promise<FolderListing> {
  const isHome = path.split("/").every((name, at) => name === "." || (name === "" && at > 0));
  if (!isHome) checkPath(path);
  const characters = Math.floor(Math.min(MAX_LISTING_CHARACTERS, 0.9 * outputBytes));
  const request = { action: "list", path, entries: MAX_FOLDER_ENTRIES, characters };
  const { rows, total } = await ask(
    run,
    request,
    { verb: "list", signal, timeoutMs: LIST_MS },
    listingSchema,
  );
  const folder = path.split("/").filter((name) => name !== "" && name !== ".");
  const entries = rows.map(([name, type, bytes, writtenNs]): FolderEntry => ({
    path: [...folder, name].join("/"),
    type,
    bytes,
    writtenNs,
  }));
  return { entries, total };
}

/**
 * Removes a file, a symbolic link or a folder. A folder must be empty unless `recursive`.
 *
 * @throws {ArgumentTypeError} if the path leads outside the working directory.
 * @throws {GuestFileError} if the entry does not exist or cannot be removed.
 */
export async function removePath(
  run: RunProgram,
  path: string,
  { signal, recursive }: FolderOptions & { recursive: boolean },
): Promise<void> {
  checkPath(path);
  const request = { action: "remove", path, recursive };
  await ask(run, request, { verb: "remove", signal, timeoutMs: CHANGE_MS }, doneSchema);
}

/**
 * Makes a folder and the folders above. Does nothing if the folder exists.
 *
 * @throws {ArgumentTypeError} if the path leads outside the working directory.
 * @throws {GuestFileError} if the folder cannot be made.
 */
export async function makeDirectory(run: RunProgram, path: string, { signal }: FolderOptions): Promise<void> {
  checkPath(path);
  const request = { action: "makeDirectory", path };
  await ask(run, request, { verb: "make folder", signal, timeoutMs: LIST_MS }, doneSchema);
}

async function ask<T>(
  run: RunProgram,
  request: GuestRequest,
  { verb, timeoutMs, signal }: FolderOptions & { verb: string; timeoutMs: number },
  schema: z.ZodType<T>,
): Promise<T> {
  const { answer } = await askGuest(run, request, {
    source: FOLDER,
    verb,
    schema,
    options: { timeoutMs, signal },
  });
  return answer;
}
