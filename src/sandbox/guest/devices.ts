import {
  DISPLAY_COST_BYTES,
  FrameKind,
  join,
  MAX_DISPLAY_BYTES,
  MAX_DISPLAYS,
  OUTPUT_PIECE_BYTES,
} from "../protocol.ts";
import type { Channel } from "./channel.ts";
import { Connections } from "./connections.ts";
import type { FileSystem, StreamOps } from "./emscripten.ts";
import { STANDARD_DEVICES } from "./files/home_files.ts";
import { Stdin } from "./stdin.ts";

/** A program is interrupted when it has written this many times its output limit. */
const FLOOD_FACTOR = 64;
const ENOTTY = 59;
const EBADF = 8;
const ENOSYS = 52;
const DEVICE_MAJOR = 77;
const WASM_PAGE_BYTES = 65536;

/** Mode of the file of a Unix socket. */
const SOCKET_MODE = 0o140755;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const EMPTY = new Uint8Array(0);

/** Handlers of Python's requests about its clocks. */
export interface ClockRequests {
  /** Sends SIGALRM after `afterMs`, and then every `everyMs`. 0 stops it. */
  setAlarm(afterMs: number, everyMs: number): void;
  /** Sends the signal of timers after so much time of each clock. 0 stops it. */
  setTimers(cpuMs: number, wallMs: number): void;
  /** Sets the zone of local times. */
  setZone(zone: Uint8Array): void;
}

/** Handlers of Python's requests about commands of the shell. */
export interface CommandRequests {
  /** Handles a request. Returns 0 or an error code. */
  handle(operation: string, request: Uint8Array): number;
  /** Returns the next event of a command, empty if there is none. */
  nextEvent(number: number): Uint8Array;
  /** Returns the numbers of the commands that have new events. */
  takeNews(): Uint8Array;
}

/** Options of {@linkcode Devices}. */
export interface DevicesOptions {
  readonly outputBytes: number;
  readonly interrupt: Uint8Array;
  readonly clocks: ClockRequests;
  /**
   * Returns the size of the memory that programs see, in bytes.
   *
   * @default the size of the memory, which earlier programs of the session may have grown
   */
  readonly memoryBytes?: () => number;
  /** Hosts that the profile lists; `undefined` if the profile has no network. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** A result of `work`, and its output that was not sent to the host. */
interface Captured<T> {
  readonly result: T;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** The devices for Python's output, input and host calls. Each session has a set. */
export class Devices {
  /** Contents of the inputs that the next or the running exec has not read yet. */
  readonly inputs: Uint8Array[] = [];
  /** True if output of this exec was dropped. */
  truncated = false;
  /** True if the program was interrupted because it wrote too much. */
  flooded = false;
  /** Number of bundles beyond the limits of an exec. */
  droppedDisplays = 0;
  /** Number of sockets that Python has open. */
  openSockets = 0;
  /** Connections of the program to the outside. */
  readonly connections: Connections;
  #displays = 0;
  #displayBytes = 0;
  #writtenBytes = 0;
  #lastKind: FrameKind | undefined;
  #stderrKind: FrameKind = FrameKind.stderr;
  #captured: { [kind: number]: Uint8Array[] } | undefined;
  #isSilent = false;
  readonly #replies: Uint8Array[] = [];
  #reply: Uint8Array = new Uint8Array(0);
  #memory: Uint8Array = EMPTY;
  #stdin: Stdin | undefined;
  #commands: CommandRequests | undefined;
  readonly #channel: Channel;
  readonly #options: DevicesOptions;

  constructor(channel: Channel, options: DevicesOptions) {
    this.#channel = channel;
    this.#options = options;
    this.connections = new Connections(channel, options.allowedHosts);
  }

  /** Replaces Emscripten's devices in the file system. */
  install(fs: FileSystem): void {
    const notTerminal = {
      ioctl_tcgets: () => rejectTerminalCall(fs),
      ioctl_tiocgwinsz: () => rejectTerminalCall(fs),
    };
    const outputsAndCalls: StreamOps[] = [
      { write: (_s, buffer, offset, length) => this.#print(FrameKind.stdout, buffer, offset, length) },
      { write: (_s, buffer, offset, length) => this.#print(FrameKind.stderr, buffer, offset, length) },
      {
        read: (_s, buffer, offset, length) => this.#readReply(buffer, offset, length),
        write: (_s, buffer, offset, length) => {
          const result = this.#handleRequest(buffer, offset, length, fs);
          if (result < 0) throw new fs.ErrnoError(-result);
          return result;
        },
      },
    ];
    STANDARD_DEVICES.forEach((path, minor) => {
      if (minor < 3) fs.closeStream(minor);
      if (minor < 3) fs.unlink(path);
      const device = fs.makedev(DEVICE_MAJOR, minor);
      const node = fs.mkdev(path, 0o666, device);
      if (minor === 0) this.#stdin = new Stdin(fs, node);
      const operations = minor === 0 ? this.#stdin?.operations() : outputsAndCalls[minor - 1];
      fs.registerDevice(device, { ...operations, ...notTerminal });
    });
  }

  /** Lets Python run commands of the shell. */
  attachCommands(commands: CommandRequests): void {
    this.#commands = commands;
  }

  /** Resets the state of the previous exec. If the next exec `hasStdin`, stdin is the first of the inputs. */
  reset({ hasStdin }: { hasStdin: boolean }): void {
    this.truncated = this.flooded = false;
    this.droppedDisplays = this.#displays = this.#displayBytes = 0;
    this.#writtenBytes = 0;
    this.#lastKind = undefined;
    this.#replies.length = 0;
    this.#reply = EMPTY;
    this.#stdin?.set(hasStdin ? this.inputs.shift() : undefined);
  }

  /** Runs `work` and sends its stderr to the stream that `route` names. Captures nothing. */
  async runWithRoute<T>(
    work: () => Promise<T>,
    route: { stderr: "stdout" | "stderr" },
  ): Promise<Captured<T>> {
    this.#stderrKind = FrameKind[route.stderr];
    try {
      return { result: await work(), stdout: EMPTY, stderr: EMPTY };
    } finally {
      this.#stderrKind = FrameKind.stderr;
    }
  }

  /** Runs `work` and returns its output, which is not sent to the host. */
  async capture<T>(work: () => Promise<T>): Promise<Captured<T>> {
    const captured = this.#captured = { [FrameKind.stdout]: [], [FrameKind.stderr]: [] };
    const written = this.#writtenBytes;
    try {
      const result = await work();
      return { result, stdout: join(captured[FrameKind.stdout]), stderr: join(captured[FrameKind.stderr]) };
    } finally {
      this.#captured = undefined;
      this.#writtenBytes = written;
    }
  }

  /** Runs `work`, which belongs to no exec: its output is dropped, and its requests to the host fail. */
  runSilently(work: () => void): void {
    this.#isSilent = true;
    try {
      work();
    } finally {
      this.#isSilent = false;
    }
  }

  /** Sends text as output of the exec. */
  print(kind: "stdout" | "stderr", text: string): void {
    const bytes = textBytes(text);
    this.#print(FrameKind[kind], new Int8Array(bytes.buffer), bytes.byteOffset, bytes.length);
  }

  #print(kind: FrameKind, buffer: Int8Array, offset: number, length: number): number {
    if (this.#isSilent) return length;
    const bytes = this.#memoryOf(buffer);
    const start = buffer.byteOffset + offset;
    if (this.#captured) this.#capturePiece(this.#captured[kind], bytes.subarray(start, start + length));
    else {
      const sentKind = kind === FrameKind.stderr ? this.#stderrKind : kind;
      this.#charge(sentKind);
      this.#send(sentKind, bytes, start, start + length);
    }
    this.#writtenBytes += length;
    if (this.#writtenBytes > FLOOD_FACTOR * this.#options.outputBytes) {
      this.flooded = true;
      this.#options.interrupt[0] = 2;
    }
    return length;
  }

  /** Charges a change between the streams to the output limit. */
  #charge(kind: FrameKind): void {
    if (this.#lastKind !== undefined && this.#lastKind !== kind) this.#writtenBytes += OUTPUT_PIECE_BYTES;
    this.#lastKind = kind;
  }

  /** Returns the memory under a buffer. Cached, since a program may write a million times. */
  #memoryOf({ buffer }: Int8Array): Uint8Array {
    if (this.#memory.buffer !== buffer) this.#memory = new Uint8Array(buffer as ArrayBuffer);
    return this.#memory;
  }

  #send(kind: FrameKind, bytes: Uint8Array, start: number, end: number): void {
    const room = Math.max(0, this.#options.outputBytes - this.#writtenBytes);
    if (end - start > room) this.truncated = true;
    const cut = Math.min(end, start + room);
    if (cut > start) this.#channel.addOutput(kind, bytes, start, cut);
  }

  /** Copies output for the shell, up to the flood limit. */
  #capturePiece(pieces: Uint8Array[] = [], bytes: Uint8Array): void {
    if (!this.flooded) pieces.push(bytes.slice());
  }

  /** Handles a request of `bridge.py`. Returns a number of bytes or a negative error code. */
  #handleRequest(buffer: Int8Array, offset: number, length: number, fs: FileSystem): number {
    const bytes = new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset + offset, length).slice();
    const operation = String.fromCharCode(bytes[0] ?? 0);
    if (operation === "O") this.openSockets = numberOf(bytes);
    if (this.#isSilent) return operation === "O" ? length : -EBADF;
    if (operation === "C") this.#channel.send(FrameKind.call, bytes.subarray(1));
    const { clocks } = this.#options;
    if (operation === "A") clocks.setAlarm(timeoutMsOf(bytes), timeoutMsOf(bytes.subarray(8)));
    if (operation === "T") clocks.setTimers(timeoutMsOf(bytes), timeoutMsOf(bytes.subarray(8)));
    if (operation === "Z") clocks.setZone(bytes.subarray(1));
    if (operation === "U") fs.mknod(decoder.decode(bytes.subarray(1)), SOCKET_MODE, 0);
    if (operation === "M") {
      return Math.ceil((this.#options.memoryBytes?.() ?? buffer.buffer.byteLength) / WASM_PAGE_BYTES);
    }
    if (operation === "I") this.#replies.unshift(this.inputs.shift() ?? EMPTY);
    if (operation === "D") this.#display(bytes.subarray(1));
    if (operation === "S") this.#channel.pause(timeoutMsOf(bytes));
    if (this.connections.handles(operation)) return this.#handleConnection(operation, bytes);
    if (COMMAND_OPERATIONS.has(operation)) return this.#handleCommand(operation, bytes);
    if (operation === "W") return this.#awaitReply(timeoutMsOf(bytes)) ?? length;
    return length;
  }

  /** Sends a bundle that the program shows, or counts it as dropped. */
  #display(bundle: Uint8Array): void {
    const bytes = this.#displayBytes + bundle.length + DISPLAY_COST_BYTES;
    const isRemoval = bundle.length === 0;
    if (bytes > MAX_DISPLAY_BYTES || (this.#displays === MAX_DISPLAYS && !isRemoval)) {
      this.droppedDisplays++;
      return;
    }
    this.#displayBytes = bytes;
    this.#displays = isRemoval ? 0 : this.#displays + 1;
    this.#channel.send(FrameKind.display, bundle);
  }

  /** Handles a request about commands of the shell. */
  #handleCommand(operation: string, bytes: Uint8Array): number {
    const commands = this.#commands;
    if (!commands) return -ENOSYS;
    if (operation === "N") this.#replies.unshift(commands.takeNews());
    else if (operation === "E") this.#replies.unshift(commands.nextEvent(numberOf(bytes)));
    else if (operation !== "?") return -commands.handle(operation, bytes.slice(1)) || bytes.length;
    return bytes.length;
  }

  /** Handles a request about connections to the outside. */
  #handleConnection(operation: string, bytes: Uint8Array): number {
    if (operation === "G") this.#replies.unshift(this.connections.next());
    return this.connections.handle(operation, bytes);
  }

  /** Returns 1 if there is a reply, 2 if there is a packet. */
  #awaitReply(ms: number): 1 | 2 | undefined {
    if (this.#replies.length === 0 && !this.connections.hasPacket && this.#channel.wait(ms)) {
      const { kind, payload } = this.#channel.receive();
      if (kind === FrameKind.reply) this.#replies.push(payload);
      if (kind === FrameKind.network) this.connections.push(payload);
    }
    if (this.#replies.length > 0) return 1;
    return this.connections.hasPacket ? 2 : undefined;
  }

  /** Reads the reply's length in four bytes, then the reply. */
  #readReply(buffer: Int8Array, offset: number, length: number): number {
    if (this.#reply.length === 0) {
      const reply = this.#replies.shift() ?? new Uint8Array(0);
      this.#reply = new Uint8Array(4 + reply.length);
      new DataView(this.#reply.buffer).setUint32(0, reply.length, true);
      this.#reply.set(reply, 4);
    }
    const piece = this.#reply.subarray(0, length);
    new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset + offset, piece.length).set(piece);
    this.#reply = this.#reply.subarray(piece.length);
    return piece.length;
  }
}

/** Requests about commands: is there a shell, start, kill, end of a program, news, next event, and time to wait. */
const COMMAND_OPERATIONS = new Set("?XKRNEY");

function numberOf(request: Uint8Array): number {
  return request.length >= 5 ? new DataView(request.buffer, request.byteOffset).getUint32(1, true) : 0;
}

function timeoutMsOf(request: Uint8Array): number {
  const ms = request.length >= 9 ? new DataView(request.buffer, request.byteOffset).getFloat64(1, true) : 0;
  return ms > 0 ? ms : 0;
}

function rejectTerminalCall(fs: FileSystem): never {
  throw new fs.ErrnoError(ENOTTY);
}

/** Encodes text as UTF-8, for the payload of a frame. */
export function textBytes(text: string): Uint8Array {
  return encoder.encode(text);
}
