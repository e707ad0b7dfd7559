import { ArgumentRangeError, GuestFileError } from "../errors.ts";
import { type GuestLink, GuestRefusal } from "./guest_link.ts";
import { FrameKind, MAX_FRAME_BYTES } from "./protocol.ts";

const encoder = new TextEncoder();

/**
 * Writes a file of an interpreter.
 *
 * @throws {ArgumentRangeError} if the file is larger than a frame.
 * @throws {GuestFileError} with the guest's message if the guest cannot write the file.
 */
export async function putFile(link: GuestLink, path: string, contents: Uint8Array | string): Promise<void> {
  const encodedPath = encoder.encode(path);
  const bytes = typeof contents === "string" ? encoder.encode(contents) : contents;
  const payload = new Uint8Array(2 + encodedPath.length + bytes.length);
  new DataView(payload.buffer).setUint16(0, encodedPath.length, true);
  if (payload.length > MAX_FRAME_BYTES) {
    throw new ArgumentRangeError(
      `Cannot write '${path}' as it must be at most ${MAX_FRAME_BYTES} bytes: it has ${bytes.length}`,
    );
  }
  payload.set(encodedPath, 2);
  payload.set(bytes, 2 + encodedPath.length);
  try {
    await link.request(FrameKind.put, payload);
  } catch (cause) {
    if (!(cause instanceof GuestRefusal)) throw cause;
    throw new GuestFileError(`Cannot write '${path}' as ${cause.message}`, {
      code: "file_unwritable",
      cause,
    });
  }
}

/** Writes files in turn. Throws as {@linkcode putFile} does. */
export async function putFiles(
  link: GuestLink,
  files: Readonly<Record<string, Uint8Array | string>>,
): Promise<void> {
  for (const [path, contents] of Object.entries(files)) await putFile(link, path, contents);
}

/**
 * Reads a file of an interpreter.
 *
 * @throws {GuestFileError} with the guest's message if the guest cannot read the file.
 */
export async function getFile(link: GuestLink, path: string): Promise<Uint8Array> {
  try {
    return await link.request(FrameKind.get, path);
  } catch (cause) {
    if (!(cause instanceof GuestRefusal)) throw cause;
    const code = cause.isMissingFile ? "file_not_found" : "file_unreadable";
    throw new GuestFileError(`Cannot read '${path}' as ${cause.message}`, { code, cause });
  }
}

/**
 * Maximum size of all files that an exec returns, in bytes. Many names, such as links, can denote a single file, so the
 * limit of a session's files does not bound it.
 */
export const MAX_FETCHED_BYTES: number = 64 * 1024 * 1024;

/** Reads files, each once. The result leaves out those that cannot be read, and those beyond 64 MiB together. */
export async function getFiles(
  link: GuestLink,
  paths: readonly string[],
): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  let bytes = 0;
  const read = new Map<string, Uint8Array>();
  for (const path of new Set(paths)) {
    const name = path.split("/").filter((part) => part !== "" && part !== ".").join("/");
    try {
      const contents = read.get(name) ?? await getFile(link, path);
      read.set(name, contents);
      bytes += contents.length;
      if (bytes > MAX_FETCHED_BYTES) break;
      files[path] = contents;
    } catch {
      if (!link.alive) break; // a lost interpreter has no more files
    }
  }
  return files;
}
