/**
 * Frames between host and guest. Both sides import this file, which imports nothing.
 *
 * A frame is `u32 payload bytes | u16 session | u8 kind | u8 0 | payload`, all little-endian. The host treats each
 * frame from the child as hostile: this file limits the sizes, and the code that reads a payload checks the contents.
 */

/** Default home directory of a session. A profile may set another directory. */
export const HOME = "/home/pyodide";

/** Size of a frame's header, in bytes. */
export const FRAME_HEAD_BYTES = 8;

/** Maximum payload of a frame, in bytes. The host kills a child that announces more. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** Size of each part of a checkpoint but the last, in bytes. The host kills a child that sends smaller ones. */
export const PART_BYTES = 64 * 1024;

/**
 * Bytes of an exec's output limit that each change between stdout and stderr costs: writes to the same stream are
 * joined, others are separate frames and cost memory beside their bytes.
 */
export const OUTPUT_PIECE_BYTES = 32;

/** Maximum number of bundles that an exec shows. The guest drops others, and reports their number. */
export const MAX_DISPLAYS = 100;
/** Maximum size of all bundles that an exec shows, in bytes. Bundles that were removed again count, too. */
export const MAX_DISPLAY_BYTES = 8 * 1024 * 1024;
/** Bytes of that limit that each bundle costs beside the bundle's own. */
export const DISPLAY_COST_BYTES = 64;

/** Kinds of frames. The host sends kinds up to 31, the guest sends kinds from 32. */
export const FrameKind = {
  /** Host: paths and hashes of the assets. JSON. */
  boot: 1,
  /** Host: start a session. JSON. */
  open: 2,
  /** Host: run code. See {@linkcode encodeExec}. */
  exec: 3,
  /** Host: the result of a `call`. JSON. */
  reply: 4,
  /** Host: interrupt the running exec. */
  interrupt: 5,
  /** Host: write a file. `u16 path bytes | path | contents`. */
  put: 6,
  /** Host: read a file. The path. */
  get: 7,
  /** Host: restore the heap from the image. JSON. */
  rewind: 8,
  /** Host: end a session. */
  close: 9,
  /** Host: run a command line in the session's shell. JSON. */
  shell: 10,
  /** Host: stop sending frames of the session. The session's program then waits when writing. */
  pause: 11,
  /** Host: send frames of the session again. */
  resume: 12,
  /** Host: limit the heap of the next exec or command line. `u32 bytes`. */
  limit: 13,
  /** Host: the contents of an input of the next exec. Bytes. */
  input: 14,
  /** Host: send the output that the session holds back. */
  flush: 15,
  /** Host: send the session's state. JSON. */
  checkpoint: 16,
  /** Host: replace the session's state by the parts that follow. JSON. */
  restore: 17,
  /** Host: a piece of a checkpoint that is to be restored. Bytes. */
  piece: 18,
  /** Host: seed of the bytes of `os.urandom` in the next exec. JSON. */
  entropy: 19,
  /** Host: limits of time of the next exec in a session with a virtual clock. JSON. */
  budget: 20,
  /** Host: a packet of a connection to the outside. See `network/packets.ts`. */
  network: 21,
  /** Guest: the child has read the assets and given up all permissions. */
  booted: 32,
  /** Guest: the session is ready for execs. JSON. */
  opened: 33,
  /** Guest: a piece of stdout. Bytes. */
  stdout: 34,
  /** Guest: a piece of stderr. Bytes. */
  stderr: 35,
  /** Guest: Python calls a host tool. JSON. */
  call: 36,
  /** Guest: the result of an exec or of a command line. See {@linkcode ResultParts}. */
  result: 37,
  /**
   * Guest: a request such as `put` or `restore` is done, or the rewind after an exec. `u8 status | contents or error
   * text`; see {@linkcode DoneStatus}.
   */
  done: 38,
  /** Guest: the interpreter has ended, with the reason. `u8 has exit code | u8 exit code | text`. */
  lost: 39,
  /** Guest: the assets are damaged or missing. Text. */
  damaged: 40,
  /** Guest: a piece of the base image that the child builds. Bytes. */
  image: 41,
  /** Guest: the session has ended after a `close`. */
  closed: 42,
  /** Guest: data by MIME type that the program shows, as JSON. Empty: remove the shown data of the exec. */
  display: 43,
  /** Guest: a part of a checkpoint. See {@linkcode PART_BYTES}. */
  part: 44,
  /** Guest: by the virtual clock of its session, the exec has reached its timeout. */
  late: 45,
  /** Guest: a packet of a connection to the outside. See `network/packets.ts`. */
  packet: 46,
  /** Broker: a request with its response, to be recorded. JSON. */
  exchange: 47,
} as const;

/** A number of {@linkcode FrameKind}. */
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

/** First byte of a `done` frame. The host treats every other value as `failed`. */
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

/** Parses the payload of a `lost` frame. The exit code is from 0 to 255. */
export function decodeLost(payload: Uint8Array): { reason: Uint8Array; exitCode: number | undefined } {
  return { reason: payload.subarray(2), exitCode: payload[0] === 1 ? payload[1] : undefined };
}

/**
 * Returns the payload of an `exec` frame: `u8 flags | u32 calls | u32 value characters | u32 code bytes | code |
 * extras`. The extras are JSON: `script`, `inputs` and `tools`. Most execs have none. Flags: 1 extras follow, 2 the
 * guest rewinds after the result and then sends `done`, 4 the first `input` frame before this frame is the program's
 * stdin.
 */
export function encodeExec(
  code: string,
  options: {
    calls: number;
    valueCap: number;
    extras?: object | undefined;
    rewinds?: boolean;
    hasStdin?: boolean;
  },
): Uint8Array<ArrayBuffer> {
  const { calls, valueCap, extras, rewinds = false, hasStdin = false } = options;
  const json = extras && encoder.encode(JSON.stringify(extras));
  const source = encodeText(code);
  const payload = new Uint8Array(EXEC_HEAD_BYTES + source.length + (json?.length ?? 0));
  const view = new DataView(payload.buffer);
  view.setUint8(
    0,
    (json ? ExecFlag.extras : 0) | (rewinds ? ExecFlag.rewind : 0) | (hasStdin ? ExecFlag.stdin : 0),
  );
  view.setUint32(1, calls, true);
  view.setUint32(5, valueCap, true);
  view.setUint32(9, source.length, true);
  payload.set(source, EXEC_HEAD_BYTES);
  if (json) payload.set(json, EXEC_HEAD_BYTES + source.length);
  return payload;
}

const EXEC_HEAD_BYTES = 13;

/** Bits of the first byte of an `exec` frame. */
export const ExecFlag = { extras: 1, rewind: 2, stdin: 4 } as const;

/** Returns text as UTF-8. An unpaired surrogate becomes three bytes, as with Python's `surrogatepass`. */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  const bytes = encoder.encode(text); // an unpaired surrogate is U+FFFD here, which has three bytes, too
  if (text.isWellFormed()) return bytes;
  let at = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) at++;
    else if (unit < 0x800) at += 2;
    else if ((text.codePointAt(index) ?? 0) > 0xffff) {
      at += 4;
      index++;
    } else {
      if (unit >= 0xd800 && unit < 0xe000) {
        bytes[at] = 0xe0 | unit >> 12;
        bytes[at + 1] = 0x80 | unit >> 6 & 0x3f;
        bytes[at + 2] = 0x80 | unit & 0x3f;
      }
      at += 3;
    }
  }
  return bytes;
}

/** Statuses of an exec's outcome. The first byte of an outcome is an index. */
export const OUTCOME_STATUSES = ["ok", "error", "memory", "interrupted", "exited"] as const;

/**
 * Size of an outcome's head: `u8 status | u8 flag | u32 | u32 | u32`, the lengths of three texts, in bytes. The flag
 * is the exit code; with status `ok` 2 if there is a value, and 3 if the value was cut. The texts are the value and
 * the value's JSON, or the type, the message and the traceback of an error. Counts of refused attempts follow as JSON,
 * if there are any.
 */
export const OUTCOME_HEAD_BYTES = 14;

/** The parts of a `result` frame: `u8 flags | u32 note bytes | u32 peak memory bytes | note | outcome`. */
export interface ResultParts {
  /** True if output was dropped. */
  readonly truncated: boolean;
  /** True if the program wrote far too much and was interrupted. */
  readonly flooded: boolean;
  /** Peak size of the interpreter's heap. */
  readonly peakMemoryBytes: number;
  /** `denied` and `droppedDisplays` as JSON. Empty if there are none. */
  readonly note: Uint8Array;
  /** Of a command line: JSON. Of an exec: see {@linkcode OUTCOME_HEAD_BYTES}. */
  readonly outcome: Uint8Array;
}

const RESULT_HEAD_BYTES = 9;

/** Returns the payload of a `result` frame. */
export function encodeResult(
  { truncated, flooded, peakMemoryBytes, note, outcome }: ResultParts,
): Uint8Array<ArrayBuffer> {
  const payload = new Uint8Array(RESULT_HEAD_BYTES + note.length + outcome.length);
  payload[0] = Number(truncated) | Number(flooded) << 1;
  const view = new DataView(payload.buffer);
  view.setUint32(1, note.length, true);
  view.setUint32(5, peakMemoryBytes, true);
  payload.set(note, RESULT_HEAD_BYTES);
  payload.set(outcome, RESULT_HEAD_BYTES + note.length);
  return payload;
}

/**
 * Parses the payload of a `result` frame.
 *
 * @throws {SyntaxError} if the payload is too short, or has unknown flags.
 */
export function decodeResult(payload: Uint8Array): ResultParts {
  const flags = payload[0] ?? 0;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const isCut = payload.length < RESULT_HEAD_BYTES;
  const end = isCut ? Infinity : RESULT_HEAD_BYTES + view.getUint32(1, true);
  if (end > payload.length || flags > 3) throw new SyntaxError("Cannot read result as its head is invalid");
  return {
    truncated: (flags & 1) !== 0,
    flooded: (flags & 2) !== 0,
    peakMemoryBytes: view.getUint32(5, true),
    note: payload.subarray(RESULT_HEAD_BYTES, end),
    outcome: payload.subarray(end),
  };
}

/** A parsed frame. `payload` is a part of what was read, or a copy. */
export interface Frame {
  kind: number;
  session: number;
  payload: Uint8Array<ArrayBuffer>;
}

const encoder = new TextEncoder();

/** Writes a frame's header into `bytes` at `offset`. */
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
 * Returns the payload length from the header at `offset`.
 *
 * @throws {RangeError} if the length exceeds {@linkcode MAX_FRAME_BYTES}.
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

/** Encodes a frame. A string payload is sent as UTF-8. */
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

/** Concatenates the pieces. */
export function join(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** A frame with a larger payload can be passed on before the whole frame has arrived. */
const LARGE_BYTES = 64 * 1024;

/** The beginning of a frame. `bytes` has the head and is valid until the next call of the splitter. */
export interface StartedFrame {
  readonly session: number;
  readonly bytes: Uint8Array;
  /** Number of bytes of the frame that have not arrived yet. */
  readonly restBytes: number;
}

/** Splits a byte stream into frames. The pieces may have any length. */
export class FrameSplitter {
  #pending = new Uint8Array(0);
  #pendingBytes = 0;

  /**
   * Adds a piece and yields the frames that the piece completes. A payload may be a part of the piece, so that the
   * caller must not overwrite the piece while keeping the payload.
   *
   * @throws {RangeError} if a frame announces more than {@linkcode MAX_FRAME_BYTES}.
   */
  *push(piece: Uint8Array): Generator<Frame> {
    const isOwn = this.#pendingBytes > 0;
    let bytes = this.#append(piece);
    while (bytes.length >= FRAME_HEAD_BYTES) {
      const end = FRAME_HEAD_BYTES + payloadLength(bytes);
      if (bytes.length < end) break;
      const view = new DataView(bytes.buffer, bytes.byteOffset, FRAME_HEAD_BYTES);
      yield {
        kind: view.getUint8(6),
        session: view.getUint16(4, true),
        payload:
          (isOwn ? bytes.slice(FRAME_HEAD_BYTES, end) : bytes.subarray(FRAME_HEAD_BYTES, end)) as Uint8Array<
            ArrayBuffer
          >,
      };
      bytes = bytes.subarray(end);
    }
    this.#store(bytes);
  }

  /** The frame that has started, if the payload is large. */
  get started(): StartedFrame | undefined {
    if (this.#pendingBytes < FRAME_HEAD_BYTES) return undefined;
    const payloadBytes = payloadLength(this.#pending);
    if (payloadBytes <= LARGE_BYTES) return undefined;
    return {
      session: new DataView(this.#pending.buffer, 0, FRAME_HEAD_BYTES).getUint16(4, true),
      bytes: this.#pending.subarray(0, this.#pendingBytes),
      restBytes: FRAME_HEAD_BYTES + payloadBytes - this.#pendingBytes,
    };
  }

  /** Forgets the frame that has started. The next piece must begin after the frame's end. */
  dropStarted(): void {
    this.#pendingBytes = 0;
  }

  #append(piece: Uint8Array): Uint8Array {
    if (this.#pendingBytes === 0) return piece;
    if (this.#pendingBytes + piece.length > this.#pending.length) {
      const neededBytes = this.#pendingBytes + piece.length;
      const frameBytes = this.#pendingBytes < FRAME_HEAD_BYTES
        ? 0
        : FRAME_HEAD_BYTES + payloadLength(this.#pending);
      // A large frame gets a buffer of the exact size at once: each larger buffer would leave a smaller buffer as
      // garbage.
      const grownBytes = frameBytes >= neededBytes
        ? frameBytes
        : Math.max(2 * this.#pending.length, neededBytes);
      const grown = new Uint8Array(grownBytes);
      grown.set(this.#pending.subarray(0, this.#pendingBytes));
      this.#pending = grown;
    }
    this.#pending.set(piece, this.#pendingBytes);
    this.#pendingBytes += piece.length;
    return this.#pending.subarray(0, this.#pendingBytes);
  }

  #store(rest: Uint8Array): void {
    if (rest.length > 0 && rest.buffer === this.#pending.buffer && rest.byteOffset === 0) return;
    if (rest.length > this.#pending.length || this.#pending.length > 1 << 20) {
      this.#pending = new Uint8Array(rest.length);
    }
    this.#pending.set(rest);
    this.#pendingBytes = rest.length;
  }
}
