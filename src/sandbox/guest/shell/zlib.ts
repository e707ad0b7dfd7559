/** The functions of `node:zlib` that the shell's engine and its `git` use, which no worker has. */
import { Gunzip, gzipSync as gzip, unzlibSync, zlibSync } from "fflate";

const PIECE_BYTES = 16_384;
type Level = NonNullable<Parameters<typeof gzip>[1]>["level"];

/** Named compression levels. */
export const constants = { Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: 6 } as const;

/** Compresses to gzip. */
export function gzipSync(bytes: Uint8Array, options: { level: number }): Uint8Array {
  return gzip(bytes, { level: options.level as Level & number, mtime: 0 });
}

/** Decompresses gzip. Throws if the data is damaged or the output exceeds `maxOutputLength`. */
export function gunzipSync(bytes: Uint8Array, { maxOutputLength }: { maxOutputLength: number }): Uint8Array {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const stream = new Gunzip((piece) => {
    length += piece.length;
    if (length > maxOutputLength) throw new RangeError("the output is larger than the limit");
    pieces.push(piece);
  });
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    stream.push(bytes.subarray(at, at + PIECE_BYTES), at + PIECE_BYTES >= bytes.length);
  }
  const output = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    output.set(piece, at);
    at += piece.length;
  }
  return output;
}

/** Compresses to the format of zlib. */
export function deflateSync(bytes: Uint8Array): Uint8Array {
  return zlibSync(bytes);
}

/** Decompresses the format of zlib. What follows the end of the data is ignored. Throws if the data is damaged. */
export function inflateSync(bytes: Uint8Array): Uint8Array {
  return unzlibSync(bytes);
}
