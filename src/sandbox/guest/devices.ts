import { FrameKind, join } from "../protocol.ts";
import type { Channel } from "./channel.ts";
import type { FileSystem, StreamOps } from "./emscripten.ts";
import { STANDARD } from "./session_files.ts";

/** How far beyond its limit of output a program may write before it is interrupted. */
const FLOOD_FACTOR = 64;
const ENOTTY = 59;
const EBADF = 8;
const DEVICE_MAJOR = 77;

const encoder = new TextEncoder();
const NOTHING = new Uint8Array(0);

/** What came of some work, and what it printed that nobody else was given. */
interface Captured<T> {
  readonly result: T;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** The devices through which Python writes, reads and calls; one set per session. */
export class Devices {
  /** True when output was dropped in this exec. */
  truncated = false;
  /** True when the program was interrupted because it did not stop writing. */
  flooded = false;
  #written = 0;
  #errors: FrameKind = FrameKind.stderr;
  #captured: { [kind: number]: Uint8Array[] } | undefined;
  #replies: Uint8Array[] = [];
  #reading: Uint8Array = new Uint8Array(0);
  #bytes: Uint8Array = NOTHING;
  #input: Uint8Array | undefined;
  readonly #channel: Channel;
  readonly #limits: { outputBytes: number };
  readonly #host: { now: () => number; interrupt: Uint8Array };

  constructor(
    channel: Channel,
    options: { outputBytes: number; now: () => number; interrupt: Uint8Array },
  ) {
    this.#channel = channel;
    this.#limits = options;
    this.#host = options;
  }

  /** Puts the devices into the tree in place of Emscripten's own. */
  install(fs: FileSystem): void {
    const notTerminal = { ioctl_tcgets: () => refuse(fs), ioctl_tiocgwinsz: () => refuse(fs) };
    const kinds: StreamOps[] = [
      {
        read: (_s, buffer, offset, length) => this.#readInput(buffer, offset, length),
        write: (_s, buffer, offset, length) => {
          if (this.#input) throw new fs.ErrnoError(EBADF);
          this.#input = new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset + offset, length)
            .slice();
          return length;
        },
      },
      { write: (_s, buffer, offset, length) => this.#print(FrameKind.stdout, buffer, offset, length) },
      { write: (_s, buffer, offset, length) => this.#print(FrameKind.stderr, buffer, offset, length) },
      {
        read: (_s, buffer, offset, length) => this.#readReply(buffer, offset, length),
        write: (_s, buffer, offset, length) => this.#request(buffer, offset, length),
      },
    ];
    STANDARD.forEach((path, minor) => {
      const device = fs.makedev(DEVICE_MAJOR, minor);
      fs.registerDevice(device, { ...kinds[minor], ...notTerminal });
      if (minor < 3) fs.closeStream(minor);
      if (minor < 3) fs.unlink(path);
      fs.mkdev(path, 0o666, device);
    });
  }

  /** Called before each exec. */
  begin(): void {
    this.truncated = this.flooded = false;
    this.#written = 0;
    this.#replies = [];
    this.#reading = new Uint8Array(0);
    this.#input = undefined;
  }

  /** Runs `work`, whose errors go where they are told to; nothing of what it printed is kept. */
  pass<T>(work: () => T, route: { stderr: "stdout" | "stderr" }): Captured<T> {
    this.#errors = FrameKind[route.stderr];
    try {
      return { result: work(), stdout: NOTHING, stderr: NOTHING };
    } finally {
      this.#errors = FrameKind.stderr;
    }
  }

  /** Runs `work` and gives what it printed, which goes no further. */
  capture<T>(work: () => T): Captured<T> {
    const captured = this.#captured = { [FrameKind.stdout]: [], [FrameKind.stderr]: [] };
    const written = this.#written;
    try {
      const result = work();
      return { result, stdout: join(captured[FrameKind.stdout]), stderr: join(captured[FrameKind.stderr]) };
    } finally {
      this.#captured = undefined;
      this.#written = written;
    }
  }

  /** Sends a text as output of the exec. */
  print(kind: "stdout" | "stderr", text: string): void {
    const bytes = textBytes(text);
    this.#print(FrameKind[kind], new Int8Array(bytes.buffer), bytes.byteOffset, bytes.length);
  }

  /** Reads what the runner has written here, once, before the program runs. */
  #readInput(buffer: Int8Array, offset: number, length: number): number {
    const input = this.#input ?? NOTHING;
    const piece = input.subarray(0, length);
    new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset + offset, piece.length).set(piece);
    this.#input = input.subarray(piece.length);
    return piece.length;
  }

  #print(kind: FrameKind, buffer: Int8Array, offset: number, length: number): number {
    const bytes = this.#bytesOf(buffer);
    const start = buffer.byteOffset + offset;
    if (this.#captured) this.#keep(this.#captured[kind], bytes.subarray(start, start + length));
    else this.#send(kind === FrameKind.stderr ? this.#errors : kind, bytes, start, start + length);
    this.#written += length;
    if (this.#written > FLOOD_FACTOR * this.#limits.outputBytes) {
      this.flooded = true;
      this.#host.interrupt[0] = 2;
    }
    return length;
  }

  /** The memory that lies under a buffer; kept, for a program may write a million times. */
  #bytesOf({ buffer }: Int8Array): Uint8Array {
    if (this.#bytes.buffer !== buffer) this.#bytes = new Uint8Array(buffer as ArrayBuffer);
    return this.#bytes;
  }

  #send(kind: FrameKind, bytes: Uint8Array, start: number, end: number): void {
    const room = Math.max(0, this.#limits.outputBytes - this.#written);
    if (end - start > room) this.truncated = true;
    const cut = Math.min(end, start + room);
    if (cut > start) this.#channel.sendBuffered(kind, bytes, start, cut);
  }

  /** Keeps a copy for the shell, while it is not yet a flood. */
  #keep(pieces: Uint8Array[] = [], bytes: Uint8Array): void {
    if (!this.flooded) pieces.push(bytes.slice());
  }

  /** The four requests of `bridge.py`. */
  #request(buffer: Int8Array, offset: number, length: number): number {
    const bytes = new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset + offset, length).slice();
    const operation = String.fromCharCode(bytes[0] ?? 0);
    if (operation === "C") this.#channel.send(FrameKind.call, bytes.subarray(1));
    if (operation === "S") this.#channel.pause(milliseconds(bytes), this.#host.now);
    if (operation === "W") return this.#awaitReply(milliseconds(bytes)) ? 1 : length;
    return length;
  }

  #awaitReply(ms: number): boolean {
    if (this.#replies.length === 0 && this.#channel.wait(ms, this.#host.now)) {
      const { kind, payload } = this.#channel.receive();
      if (kind === FrameKind.reply) this.#replies.push(payload);
    }
    return this.#replies.length > 0;
  }

  /** First four bytes that say how long the reply is, then the reply. */
  #readReply(buffer: Int8Array, offset: number, length: number): number {
    if (this.#reading.length === 0) {
      const reply = this.#replies.shift() ?? new Uint8Array(0);
      this.#reading = new Uint8Array(4 + reply.length);
      new DataView(this.#reading.buffer).setUint32(0, reply.length, true);
      this.#reading.set(reply, 4);
    }
    const piece = this.#reading.subarray(0, length);
    new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset + offset, piece.length).set(piece);
    this.#reading = this.#reading.subarray(piece.length);
    return piece.length;
  }
}

function milliseconds(request: Uint8Array): number {
  const ms = request.length >= 9 ? new DataView(request.buffer, request.byteOffset).getFloat64(1, true) : 0;
  return ms > 0 ? ms : 0;
}

function refuse(fs: FileSystem): never {
  throw new fs.ErrnoError(ENOTTY);
}

/** A text as the payload of a frame. */
export function textBytes(text: string): Uint8Array {
  return encoder.encode(text);
}
