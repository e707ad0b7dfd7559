import { ArgumentRangeError, GuestFileError } from "../errors.ts";
import { type GuestLink, GuestRefusal } from "./guest_link.ts";
import { FrameKind, MAX_FRAME_BYTES } from "./protocol.ts";

const encoder = new TextEncoder();

/**
 * Writes one file of an interpreter's.
 *
 * @throws {ArgumentRangeError} when it has more bytes than can be sent.
 * @throws {GuestFileError} with the guest's message when it refuses.
 */
export async function putFile(link: GuestLink, path: string, contents: Uint8Array | string): Promise<void> {
  const name = encoder.encode(path);
  const bytes = typeof contents === "string" ? encoder.encode(contents) : contents;
  const payload = new Uint8Array(2 + name.length + bytes.length);
  new DataView(payload.buffer).setUint16(0, name.length, true);
  if (payload.length > MAX_FRAME_BYTES) {
    throw new ArgumentRangeError(
      `Cannot write '${path}' as it must be at most ${MAX_FRAME_BYTES} bytes: it has ${bytes.length}`,
    );
  }
  payload.set(name, 2);
  payload.set(bytes, 2 + name.length);
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

/**
 * Reads one file of an interpreter's.
 *
 * @throws {GuestFileError} with the guest's message when it refuses.
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

/** Reads files; those that are missing are left out. */
export async function getFiles(
  link: GuestLink,
  paths: readonly string[],
): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const path of paths) {
    try {
      files[path] = await getFile(link, path);
    } catch {
      if (!link.alive) break; // no other can be had any more
    }
  }
  return files;
}
