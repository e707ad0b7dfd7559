import { concat } from "@std/bytes";
import { join } from "node:path";
import { errorMessage, SandboxError } from "../../errors.ts";
import { sha256 } from "../../hash.ts";
import type { ImageLayout } from "../guest/heap_image.ts";

/** The parts of an image that take long to make. */
export interface WorkerImage {
  /** Python's module, which limits its own memory. */
  readonly wasm: Uint8Array<ArrayBuffer>;
  readonly layout: ImageLayout;
  readonly data: Uint8Array<ArrayBuffer>;
}

const HASH_CHARACTERS = 64;
const HEAD_BYTES = 4;
/** Permission bit of a directory that every user may write to. */
const WRITABLE_BY_OTHERS = 0o002;

/** Returns an image from a directory; `undefined` if it is not there, or is damaged. */
export async function readImageFile(directory: string, name: string): Promise<WorkerImage | undefined> {
  await requirePrivate(directory);
  try {
    const file = await Deno.readFile(join(directory, name));
    const hash = new TextDecoder().decode(file.subarray(0, HASH_CHARACTERS));
    const bytes = file.subarray(HASH_CHARACTERS);
    return await sha256(bytes) === hash ? decodeImage(bytes) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Writes an image to a directory, which is created if it does not exist.
 *
 * @throws {SandboxError} if it cannot be written.
 */
export async function writeImageFile(
  directory: string,
  { name, image }: { name: string; image: WorkerImage },
): Promise<void> {
  const bytes = encodeImage(image);
  const hash = new TextEncoder().encode(await sha256(bytes));
  const path = join(directory, name);
  const partial = `${path}.${crypto.randomUUID()}`;
  try {
    await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
    await Deno.writeFile(partial, concat([hash, bytes]), { mode: 0o600 });
    await Deno.rename(partial, path);
  } catch (cause) {
    await Deno.remove(partial).catch(() => {}); // it may not have been created
    throw new SandboxError(
      `Cannot keep image as '${directory}' must be a writable directory: ${errorMessage(cause)}`,
      { cause },
    );
  }
}

/** Refuses a directory to which other users may write: they could replace the code of all interpreters. */
async function requirePrivate(directory: string): Promise<void> {
  const info = await Deno.stat(directory).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  });
  if (((info?.mode ?? 0) & WRITABLE_BY_OTHERS) === 0) return;
  throw new SandboxError(`Cannot use images as only their owner may write to '${directory}'`);
}

/** Length of the description, the description as JSON, the module, and the heap. */
function encodeImage({ wasm, layout, data }: WorkerImage): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify({ layout, wasmBytes: wasm.length }));
  const head = new Uint8Array(HEAD_BYTES);
  new DataView(head.buffer).setUint32(0, text.length, true);
  return concat([head, text, wasm, data]);
}

function decodeImage(bytes: Uint8Array<ArrayBuffer>): WorkerImage {
  const textBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const wasmAt = HEAD_BYTES + textBytes;
  const { layout, wasmBytes } = JSON.parse(new TextDecoder().decode(bytes.subarray(HEAD_BYTES, wasmAt)));
  return {
    layout,
    wasm: bytes.slice(wasmAt, wasmAt + wasmBytes),
    data: bytes.slice(wasmAt + wasmBytes),
  };
}
