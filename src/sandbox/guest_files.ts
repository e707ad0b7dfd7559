import type { GuestLink } from "./guest_link.ts";
import { FrameKind, MAX_FRAME_BYTES } from "./protocol.ts";

const encoder = new TextEncoder();

/**
 * Writes one file of an interpreter's.
 *
 * @throws {RangeError} when it has more bytes than can be sent.
 * @throws {Error} with the guest's words when it refuses.
 */
export async function putFile(link: GuestLink, path: string, contents: Uint8Array | string): Promise<void> {
  const name = encoder.encode(path);
  const bytes = typeof contents === "string" ? encoder.encode(contents) : contents;
  const payload = new Uint8Array(2 + name.length + bytes.length);
  new DataView(payload.buffer).setUint16(0, name.length, true);
  if (payload.length > MAX_FRAME_BYTES) {
    throw new RangeError(
      `Cannot write '${path}' as it must be at most ${MAX_FRAME_BYTES} bytes: it has ${bytes.length}`,
    );
  }
  payload.set(name, 2);
  payload.set(bytes, 2 + name.length);
  await naming(`Cannot write '${path}'`, link.request(FrameKind.put, payload));
}

/**
 * Reads one file of an interpreter's.
 *
 * @throws {Error} with the guest's words when it refuses.
 */
export async function getFile(link: GuestLink, path: string): Promise<Uint8Array> {
  return await naming(`Cannot read '${path}'`, link.request(FrameKind.get, path));
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

/** Puts what was tried before the words of a guest that refuses. */
async function naming<T>(tried: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof Error) || cause.constructor !== Error) throw cause;
    throw new Error(`${tried} as ${cause.message}`, { cause });
  }
}
