/** What the shell's engine asks of a compression library, of which no worker has one. */
import { Gunzip, gzipSync as gzip } from "fflate";

const PIECE_BYTES = 16_384;
type Level = NonNullable<Parameters<typeof gzip>[1]>["level"];

/** The levels that are known by name. */
export const constants = { Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: 6 } as const;

/** Compresses. */
export function gzipSync(bytes: Uint8Array, options: { level: number }): Uint8Array {
  return gzip(bytes, { level: options.level as Level & number, mtime: 0 });
}

/** Unpacks; throws when the bytes are damaged or become more than the limit. */
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
  const whole = new Uint8Array(length);
  pieces.reduce((at, piece) => (whole.set(piece, at), at + piece.length), 0);
  return whole;
}
