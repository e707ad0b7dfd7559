import { FrameKind } from "../protocol.ts";
import type { Channel } from "./channel.ts";
import type { FileSystem, StreamOps } from "./emscripten.ts";
import { STANDARD } from "./session_files.ts";

/** How far beyond its limit of output a program may write before it is interrupted. */
const FLOOD_FACTOR = 64;
const ENOTTY = 59;
const DEVICE_MAJOR = 77;

const encoder = new TextEncoder();

/** The devices through which Python writes, reads and calls; one set per session. */
export class Devices {
  /** True when output was dropped in this exec. */
  truncated = false;
  /** True when the program was interrupted because it did not stop writing. */
  flooded = false;
  #written = 0;
  #replies: Uint8Array[] = [];
  #reading: Uint8Array = new Uint8Array(0);
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
      { read: () => 0 },
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
  }

  #print(kind: FrameKind, buffer: Int8Array, offset: number, length: number): number {
    const room = Math.max(0, this.#limits.outputBytes - this.#written);
    this.#written += length;
    if (length > room) this.truncated = true;
    const bytes = new Uint8Array(
      buffer.buffer as ArrayBuffer,
      buffer.byteOffset + offset,
      Math.min(length, room),
    );
    if (bytes.length > 0) this.#channel.send(kind, bytes);
    if (this.#written > FLOOD_FACTOR * this.#limits.outputBytes) {
      this.flooded = true;
      this.#host.interrupt[0] = 2;
    }
    return length;
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
