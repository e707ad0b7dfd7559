import * as z from "zod";
import { GuestFileError } from "../../../errors.ts";
import { parseUntrustedJson } from "../../../json.ts";
import type { PythonSession } from "../../../sandbox/contract/pool.ts";
import { HARBOR_HOME } from "../task.ts";
import pack from "./guest/pack.py" with { type: "text" };
import unpack from "./guest/unpack.py" with { type: "text" };

/** A file, folder or symbolic link of a session, with the absolute path. */
export type BundleEntry =
  | {
    readonly kind: "file";
    readonly path: string;
    readonly contents: Uint8Array;
    readonly isExecutable: boolean;
  }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

/** Files of a session. */
export interface FileBundle {
  readonly entries: readonly BundleEntry[];
  /** Names of the Python modules that a file of the same name would hide. */
  readonly modules: readonly string[];
}

/** Options of {@linkcode packFiles} and {@linkcode unpackFiles}. */
export interface BundleOptions {
  signal?: AbortSignal | undefined;
}

/** Error of files that cannot be read from a session. */
export class FileBundleError extends Error {}

const MAX_ENTRIES = 10_000;
/** Maximum size of the files together. */
export const MAX_BUNDLE_BYTES = 64 * 1024 * 1024;
const MAX_PATH_CHARACTERS = 1_000;
const TIMEOUT_MS = 60_000;
/** Packed file under the home of the session. */
const PACKED = ".paddock-files";
const NEWLINE = 10;

const path = z.string().max(MAX_PATH_CHARACTERS).refine(isPlainPath);
const headerSchema = z.object({
  entries: z.array(z.union([
    z.tuple([z.literal("file"), path, z.int().nonnegative(), z.boolean()]),
    z.tuple([z.literal("folder"), path]),
    z.tuple([z.literal("link"), path, z.string().max(MAX_PATH_CHARACTERS)]),
  ])).max(MAX_ENTRIES),
  modules: z.array(z.string()).max(MAX_ENTRIES),
});

/** True for an absolute path without `.`, `..`, empty names and control characters. */
function isPlainPath(text: string): boolean {
  const [first, ...names] = text.split("/");
  const isNamed = names.every((name) => name !== "" && name !== "." && name !== "..");
  return first === "" && isNamed && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

/**
 * Reads all that is at the paths in a session. Missing paths are left out. The session is not trusted: names, number and
 * sizes are checked.
 *
 * @throws {FileBundleError} if the files are too large or too many, or the session gives something else.
 */
export async function packFiles(
  session: PythonSession,
  roots: readonly string[],
  { signal }: BundleOptions = {},
): Promise<FileBundle> {
  const request = [roots, `${HARBOR_HOME}/${PACKED}`, MAX_ENTRIES, MAX_BUNDLE_BYTES];
  const result = await session.exec(programText(pack, request), { timeoutMs: TIMEOUT_MS, signal });
  if (result.status !== "ok") {
    throw new FileBundleError("error" in result ? result.error.message : result.status);
  }
  try {
    return parseBundle(await session.readFile(PACKED), roots);
  } catch (cause) {
    if (!(cause instanceof GuestFileError)) throw cause;
    throw new FileBundleError(cause.message, { cause });
  }
}

/**
 * Parses a packed file.
 *
 * @throws {FileBundleError} if the bytes have another form, or an entry is at none of the roots.
 */
export function parseBundle(bytes: Uint8Array, roots: readonly string[]): FileBundle {
  const end = bytes.indexOf(NEWLINE);
  const { entries, modules } = parseHeader(bytes.subarray(0, Math.max(0, end)));
  let at = end + 1;
  const found = entries.map((entry): BundleEntry => {
    const [kind, path] = entry;
    if (!roots.some((root) => path === root || path.startsWith(`${root}/`))) {
      throw new FileBundleError(`a file is at none of the paths: ${path}`);
    }
    if (kind === "folder") return { kind, path };
    if (kind === "link") return { kind, path, target: entry[2] };
    const contents = bytes.slice(at, at + entry[2]);
    at += entry[2];
    return { kind, path, contents, isExecutable: entry[3] };
  });
  if (at === bytes.length) return { entries: found, modules };
  throw new FileBundleError("the sizes of the files are wrong");
}

function parseHeader(bytes: Uint8Array): z.output<typeof headerSchema> {
  try {
    return headerSchema.parse(parseUntrustedJson(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new FileBundleError("the list of files has another form", { cause });
  }
}

/** Removes paths of a session, and writes files, folders and links. */
export async function unpackFiles(
  session: PythonSession,
  { entries, removed = [] }: { entries: readonly BundleEntry[]; removed?: readonly string[] },
  { signal }: BundleOptions = {},
): Promise<void> {
  await session.writeFile(PACKED, toBytes(entries));
  const request = [`${HARBOR_HOME}/${PACKED}`, removed];
  const result = await session.exec(programText(unpack, request), { timeoutMs: TIMEOUT_MS, signal });
  if (result.status === "ok") return;
  throw new FileBundleError("error" in result ? result.error.message : result.status);
}

function toBytes(entries: readonly BundleEntry[]): Uint8Array {
  const header = entries.map((entry) => {
    if (entry.kind === "folder") return [entry.kind, entry.path];
    if (entry.kind === "link") return [entry.kind, entry.path, entry.target];
    return [entry.kind, entry.path, entry.contents.length, entry.isExecutable];
  });
  const head = new TextEncoder().encode(`${JSON.stringify({ entries: header, modules: [] })}\n`);
  const files = entries.flatMap((entry) => entry.kind === "file" ? [entry.contents] : []);
  const bytes = new Uint8Array(files.reduce((sum, { length }) => sum + length, head.length));
  let at = 0;
  for (const part of [head, ...files]) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Returns the code that runs a program with names of its own. */
function programText(source: string, request: unknown): string {
  const names = { __name__: "paddock_harbor", REQUEST: JSON.stringify(request) };
  return `exec(${JSON.stringify(source)}, ${JSON.stringify(names)})`;
}
