import { FRAME_HEAD_BYTES, FrameKind, payloadLength, writeFrameHead } from "../protocol.ts";

/** From here on one call that moves many bytes takes less than a loop. */
const LONG_BYTES = 48;

/** Makes of what a worker sends what the host gets: whole frames, of which neighbours that are output are one. */
export class FrameMerger {
  /** Whether the worker has said that it is over. */
  ended = false;
  /** Whether the last whole frame was output, behind which more may come soon. */
  endedInOutput = false;
  readonly #session: number;
  #rest = new Uint8Array(0);
  #restBytes = 0;

  constructor(session: number) {
    this.#session = session;
  }

  /**
   * Takes a piece, in which it works, and gives the frames that are whole now; they are good until the next call.
   *
   * @throws {RangeError} when a frame is longer than any may be.
   */
  push(piece: Uint8Array): Uint8Array {
    const bytes = this.#withRest(piece);
    let [read, written, head] = [0, 0, -1];
    while (bytes.length - read >= FRAME_HEAD_BYTES) {
      const length = payloadLength(bytes, read);
      const end = read + FRAME_HEAD_BYTES + length;
      if (end > bytes.length) break;
      const kind = bytes[read + 6] as number;
      if (head < 0 || !isOutput(kind) || bytes[head + 6] !== kind) {
        head = written;
        written += FRAME_HEAD_BYTES;
      }
      move(bytes, { to: written, from: end - length, count: length });
      written += length;
      writeFrameHead(
        bytes,
        { payloadBytes: written - head - FRAME_HEAD_BYTES, session: this.#session, kind },
        head,
      );
      this.#note(kind);
      read = end;
    }
    const frames = bytes.subarray(0, written);
    this.#keep(bytes, read);
    return frames;
  }

  #note(kind: number): void {
    this.endedInOutput = isOutput(kind);
    this.ended ||= kind === FrameKind.closed || kind === FrameKind.lost;
  }

  #withRest(piece: Uint8Array): Uint8Array {
    if (this.#restBytes === 0) return piece;
    const bytes = this.#restBytes + piece.length;
    if (bytes > this.#rest.length) {
      const grown = new Uint8Array(Math.max(2 * this.#rest.length, bytes));
      grown.set(this.#rest.subarray(0, this.#restBytes));
      this.#rest = grown;
    }
    this.#rest.set(piece, this.#restBytes);
    return this.#rest.subarray(0, bytes);
  }

  /** Keeps what follows the last whole frame, which may stay where it is while there was none. */
  #keep(bytes: Uint8Array, read: number): void {
    this.#restBytes = bytes.length - read;
    if (read > 0 || bytes.buffer !== this.#rest.buffer) this.#rest = bytes.slice(read);
  }
}

function isOutput(kind: number): boolean {
  return kind === FrameKind.stdout || kind === FrameKind.stderr;
}

function move(bytes: Uint8Array, { to, from, count }: { to: number; from: number; count: number }): void {
  if (to === from) return;
  if (count >= LONG_BYTES) bytes.copyWithin(to, from, from + count);
  else for (let i = 0; i < count; i++) bytes[to + i] = bytes[from + i] as number;
}
