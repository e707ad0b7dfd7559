import { createHash } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/**
 * A request to the worker: a state to compress, or a compressed state that must become `expandedBytes`. Messages have
 * buffers and no typed arrays: Deno's `node:worker_threads` visits each element of these. The compressed bytes begin at
 * `from` in their buffer.
 */
export type CompressionRequest =
  | { readonly job: number; readonly state: ArrayBuffer }
  | {
    readonly job: number;
    readonly compressed: SharedArrayBuffer;
    readonly from: number;
    readonly sha256: string;
    readonly expandedBytes: number;
  };

/** A response of the worker: the compressed bytes with their hash, the state, or what is damaged. */
export type CompressionResponse =
  | {
    readonly job: number;
    readonly compressed: SharedArrayBuffer;
    readonly from: number;
    readonly sha256: string;
  }
  | { readonly job: number; readonly state: ArrayBuffer }
  | { readonly job: number; readonly damage: string };

/** A state is compressed in slices of this size. Between two of them the worker goes on with other jobs. */
const SLICE_BYTES = 1 << 20;
const LENGTH_BYTES = 4;
/** The fastest level. Higher ones make states smaller by a tenth, and take twice the time. */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Bytes of the states of jobs after which the worker collects its garbage. */
const GARBAGE_BYTES = 64 << 20;

/** The compressed bytes are not what they are to be. */
class DamageError extends Error {}

const collectGarbage = exposedCollector();
let garbageBytes = 0;

parentPort?.on("message", (request: CompressionRequest) => {
  garbageBytes += "state" in request ? request.state.byteLength : request.compressed.byteLength;
  respond(request).then(() => setImmediate(freeSharedMemory));
});

/**
 * Frees the compressed bytes of jobs that have ended. They are in shared memory, which stays until each thread that has
 * seen it has collected its garbage, and of which V8 does not know how large it is: this thread alone would keep the
 * bytes of all checkpoints that were deleted.
 */
function freeSharedMemory(): void {
  if (garbageBytes < GARBAGE_BYTES) return;
  garbageBytes = 0;
  collectGarbage?.();
}

/** Returns V8's function that collects all garbage. Its contexts have the function while a flag is set. */
function exposedCollector(): (() => void) | undefined {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  return collect;
}

async function respond(request: CompressionRequest): Promise<void> {
  try {
    const response = "state" in request ? await compress(request) : await expand(request);
    const moved = "state" in response ? [response.state] : [];
    parentPort?.postMessage(response, moved);
  } catch (error) {
    if (!(error instanceof DamageError)) throw error; // the worker ends, which its owner reports
    parentPort?.postMessage({ job: request.job, damage: error.message } satisfies CompressionResponse);
  }
}

/**
 * Compresses a state. Each slice follows its length. The last slice comes first, and goes to the end of the result: the
 * memory of each slice is then freed, so that state and result together take no more than the state did. The part of the
 * result before `from` is never written, and takes no memory.
 */
async function compress(request: { job: number; state: ArrayBuffer }): Promise<CompressionResponse> {
  const { job, state: buffer } = request;
  const slices = Math.ceil(buffer.byteLength / SLICE_BYTES);
  let from = mostCompressed(buffer.byteLength);
  const compressed = new SharedArrayBuffer(0, { maxByteLength: from });
  compressed.grow(from);
  for (let at = (slices - 1) * SLICE_BYTES; at >= 0; at -= SLICE_BYTES) {
    const slice = zstdCompressSync(new Uint8Array(buffer).subarray(at, at + SLICE_BYTES), LEVEL);
    from -= LENGTH_BYTES + slice.length;
    new DataView(compressed).setUint32(from, slice.length, true);
    new Uint8Array(compressed).set(slice, from + LENGTH_BYTES);
    if (buffer.resizable) buffer.resize(at);
    await yieldThread();
  }
  buffer.transferToFixedLength(0);
  return { job, compressed, from, sha256: await hashOf(new Uint8Array(compressed, from)) };
}

/** Returns the most bytes to which a state is compressed: zstd adds at most a 256th to a slice, and a frame's head. */
function mostCompressed(stateBytes: number): number {
  const slices = Math.ceil(stateBytes / SLICE_BYTES);
  return stateBytes + slices * (LENGTH_BYTES + SLICE_BYTES / 128);
}

/** Expands a state. Nothing is expanded before the hash is right, and no slice to more than its size. */
async function expand(
  request: Extract<CompressionRequest, { compressed: unknown }>,
): Promise<CompressionResponse> {
  const { job, sha256, expandedBytes } = request;
  const compressed = new Uint8Array(request.compressed, request.from);
  if (await hashOf(compressed) !== sha256) throw new DamageError("its bytes were changed");
  const view = new DataView(request.compressed, request.from);
  const state = new Uint8Array(expandedBytes);
  let from = 0;
  for (let at = 0; at < expandedBytes; at += SLICE_BYTES) {
    const length = from + LENGTH_BYTES > compressed.length ? Infinity : view.getUint32(from, true);
    const end = from + LENGTH_BYTES + length;
    if (end > compressed.length) throw new DamageError("a part of its state is missing");
    state.set(expandSlice(compressed.slice(from + LENGTH_BYTES, end), expandedBytes - at), at);
    from = end;
    await yieldThread();
  }
  if (from !== compressed.length) throw new DamageError("its state is larger than announced");
  return { job, state: state.buffer };
}

/** Expands a slice, which must have the size of all slices, or the size of the rest. */
function expandSlice(slice: Uint8Array, leftBytes: number): Uint8Array {
  const bytes = Math.min(SLICE_BYTES, leftBytes);
  let expanded: Uint8Array;
  try {
    expanded = zstdDecompressSync(slice, { maxOutputLength: bytes });
  } catch {
    throw new DamageError(`a part of its state cannot be expanded to ${bytes} bytes`); // all errors of zstd mean this
  }
  if (expanded.length === bytes) return expanded;
  throw new DamageError(`a part of its state must have ${bytes} bytes: found ${expanded.length}`);
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    hash.update(bytes.slice(at, at + SLICE_BYTES)); // a copy, as the bytes are in shared memory
    await yieldThread();
  }
  return hash.digest("hex");
}

/** Lets this thread go on with other jobs. */
async function yieldThread(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
