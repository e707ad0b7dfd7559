import { CheckpointError } from "../../errors.ts";
import { join } from "../protocol.ts";

/** Bytes between which other work of this thread can run: some milliseconds of deflating. */
const YIELD_BYTES = 256 * 1024;
/** Bytes that are inflated at once. They become at most a thousand times as many. */
const SLICE_BYTES = 16 * 1024;

/** Deflates bytes. */
export async function deflate(bytes: Uint8Array): Promise<Uint8Array> {
  return await transform(new CompressionStream("deflate-raw"), bytes, { maxBytes: Infinity });
}

/**
 * Inflates data of a known size. It stops at the first byte beyond that size.
 *
 * @throws {CheckpointError} if the data are damaged, or have another size.
 */
export async function inflate(data: Uint8Array, { bytes }: { bytes: number }): Promise<Uint8Array> {
  const inflated = await transform(new DecompressionStream("deflate-raw"), data, { maxBytes: bytes })
    .catch((cause) => {
      if (cause instanceof CheckpointError) throw cause;
      throw damaged("its state cannot be inflated", cause);
    });
  if (inflated.length !== bytes) {
    throw damaged(`its state must have ${bytes} bytes: found ${inflated.length}`);
  }
  return inflated;
}

async function transform(
  stream: CompressionStream | DecompressionStream,
  bytes: Uint8Array,
  { maxBytes }: { maxBytes: number },
): Promise<Uint8Array> {
  const writing = writeSlices(stream.writable, bytes);
  writing.catch(() => {}); // the reader reports the error
  const pieces: Uint8Array[] = [];
  let count = 0;
  for await (const piece of stream.readable as ReadableStream<Uint8Array>) {
    count += piece.length;
    if (count > maxBytes) throw damaged(`its state must have ${maxBytes} bytes: found more`);
    pieces.push(piece);
  }
  await writing;
  return join(pieces);
}

async function writeSlices(writable: WritableStream<BufferSource>, bytes: Uint8Array): Promise<void> {
  const writer = writable.getWriter();
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0 && at % YIELD_BYTES === 0) await new Promise((resolve) => setTimeout(resolve));
    await writer.write(bytes.subarray(at, at + SLICE_BYTES) as Uint8Array<ArrayBuffer>);
  }
  await writer.close();
}

function damaged(reason: string, cause?: unknown): CheckpointError {
  return new CheckpointError(`Cannot restore checkpoint as ${reason}`, { code: "checkpoint_damaged", cause });
}
