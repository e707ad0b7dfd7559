/**
 * The frames that cross between host and guest. Both sides import this file and it imports nothing.
 *
 * A frame is `u32 payload bytes | u16 session | u8 kind | u8 0 | payload`, all little-endian. The host
 * treats each frame that comes from the child as hostile: sizes are capped here, contents are checked
 * where they are read.
 */

/** Where a session's own files live, unless its profile says where. */
export const HOME = "/home/pyodide";

/** Bytes before a frame's payload. */
export const FRAME_HEAD_BYTES = 8;

/** No frame may be larger; a child that announces more is killed. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** What a frame means. Up to 31 from the host, from 32 on from the guest. */
export const FrameKind = {
  /** Host: where the assets are and what they must hash to. JSON. */
  boot: 1,
  /** Host: start a session. JSON. */
  open: 2,
  /** Host: run code. JSON. */
  exec: 3,
  /** Host: the answer to a `call`. JSON. */
  reply: 4,
  /** Host: interrupt the running exec. */
  interrupt: 5,
  /** Host: write one file. `u16 path bytes | path | contents`. */
  put: 6,
  /** Host: read one file. The path. */
  get: 7,
  /** Host: write the image back over the heap. JSON. */
  rewind: 8,
  /** Host: end a session. */
  close: 9,
  /** Host: run a command line in the session's shell. JSON. */
  shell: 10,
  /** Guest: the child has read its assets and given up its permissions. */
  booted: 32,
  /** Guest: the session takes execs now. JSON. */
  opened: 33,
  /** Guest: a piece of stdout. Bytes. */
  stdout: 34,
  /** Guest: a piece of stderr. Bytes. */
  stderr: 35,
  /** Guest: Python calls a host tool. JSON. */
  call: 36,
  /** Guest: the exec is over. JSON. */
  result: 37,
  /** Guest: `put`, `get` or `rewind` is done. `u8 status | contents or error text`; see {@linkcode DoneStatus}. */
  done: 38,
  /** Guest: the interpreter is gone, and why. `u8 has exit code | u8 exit code | text`. */
  lost: 39,
  /** Guest: the assets are damaged or missing. Text. */
  damaged: 40,
  /** Guest: a piece of a base image that is being built. Bytes. */
  image: 41,
  /** Guest: the session that was told to close has ended. */
  closed: 42,
} as const;

/** One of the numbers in {@linkcode FrameKind}. */
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

/** First byte of a `done` frame. The host takes every other value for `failed`. */
export const DoneStatus = {
  failed: 0,
  ok: 1,
  /** There is no file at the path. */
  notFound: 2,
} as const;

/** Returns the payload of a `lost` frame. */
export function encodeLost(reason: Uint8Array | string, exitCode?: number): Uint8Array<ArrayBuffer> {
  const text = typeof reason === "string" ? encoder.encode(reason) : reason;
  return join([new Uint8Array([exitCode === undefined ? 0 : 1, exitCode ?? 0]), text]);
}

/** Takes the payload of a `lost` frame apart. The exit code is from 0 to 255. */
export function decodeLost(payload: Uint8Array): { reason: Uint8Array; exitCode: number | undefined } {
  return { reason: payload.subarray(2), exitCode: payload[0] === 1 ? payload[1] : undefined };
}

/** A frame taken apart; `payload` is a view that the next read may overwrite unless copied. */
export interface Frame {
  kind: number;
  session: number;
  payload: Uint8Array<ArrayBuffer>;
}

const encoder = new TextEncoder();

/** Puts a frame's head into `bytes` at `offset`. */
export function writeFrameHead(
  bytes: Uint8Array,
  frame: { payloadBytes: number; session: number; kind: number },
  offset = 0,
): void {
  const { payloadBytes, session, kind } = frame;
  for (let at = 0; at < 4; at++) bytes[offset + at] = payloadBytes >>> 8 * at;
  bytes[offset + 4] = session;
  bytes[offset + 5] = session >>> 8;
  bytes[offset + 6] = kind;
  bytes[offset + 7] = 0;
}

/**
 * The length of the payload behind the head at `offset`.
 *
 * @throws {RangeError} when it is more than {@linkcode MAX_FRAME_BYTES}.
 */
export function payloadLength(bytes: Uint8Array, offset = 0): number {
  const length = new DataView(bytes.buffer, bytes.byteOffset + offset, 4).getUint32(0, true);
  if (length > MAX_FRAME_BYTES) {
    throw new RangeError(
      `Cannot read frame as it must be at most ${MAX_FRAME_BYTES} bytes: current value is ${length}`,
    );
  }
  return length;
}

/** One frame as bytes; a string payload is sent as UTF-8. */
export function encodeFrame(
  kind: FrameKind,
  session: number,
  payload: Uint8Array | string = "",
): Uint8Array<ArrayBuffer> {
  const body = typeof payload === "string" ? encoder.encode(payload) : payload;
  const bytes = new Uint8Array(FRAME_HEAD_BYTES + body.length);
  writeFrameHead(bytes, { payloadBytes: body.length, session, kind });
  bytes.set(body, FRAME_HEAD_BYTES);
  return bytes;
}

/** The pieces as one, in their order. */
export function join(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Cuts a stream of bytes into frames, whatever the pieces it arrives in. */
export class FrameSplitter {
  #pending = new Uint8Array(0);
  #used = 0;

  /**
   * Takes a piece and gives the frames it completes.
   *
   * @throws {RangeError} when a frame announces more than {@linkcode MAX_FRAME_BYTES}.
   */
  *push(piece: Uint8Array): Generator<Frame> {
    let bytes = this.#join(piece);
    while (bytes.length >= FRAME_HEAD_BYTES) {
      const end = FRAME_HEAD_BYTES + payloadLength(bytes);
      if (bytes.length < end) break;
      const view = new DataView(bytes.buffer, bytes.byteOffset, FRAME_HEAD_BYTES);
      yield {
        kind: view.getUint8(6),
        session: view.getUint16(4, true),
        payload: bytes.slice(FRAME_HEAD_BYTES, end),
      };
      bytes = bytes.subarray(end);
    }
    this.#keep(bytes);
  }

  #join(piece: Uint8Array): Uint8Array {
    if (this.#used === 0) return piece;
    if (this.#used + piece.length > this.#pending.length) {
      const grown = new Uint8Array(Math.max(2 * this.#pending.length, this.#used + piece.length));
      grown.set(this.#pending.subarray(0, this.#used));
      this.#pending = grown;
    }
    this.#pending.set(piece, this.#used);
    this.#used += piece.length;
    return this.#pending.subarray(0, this.#used);
  }

  #keep(rest: Uint8Array): void {
    if (rest.length > 0 && rest.buffer === this.#pending.buffer && rest.byteOffset === 0) return;
    if (rest.length > this.#pending.length || this.#pending.length > 1 << 20) {
      this.#pending = new Uint8Array(rest.length);
    }
    this.#pending.set(rest);
    this.#used = rest.length;
  }
}
