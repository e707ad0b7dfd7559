import { DoneStatus, FrameKind, join, MAX_FRAME_BYTES } from "../protocol.ts";
import type { Channel } from "./channel.ts";
import { type Devices, textBytes } from "./devices.ts";
import type { Entropy } from "./entropy.ts";
import type { HeapImage, Python } from "./python.ts";
import { Rewind } from "./rewind.ts";
import { SessionFiles } from "./session_files.ts";
import type { Shell, ShellParts, ShellRequest } from "./shell/shell.ts";
import type { ProgramEnd, ProgramRequest } from "./shell/programs.ts";
import type { Route } from "./shell/terminal.ts";
import { isMissingFile, thrownText } from "./errno.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The frames of one session, answered one after the other until the interpreter is lost. */
export class Session {
  readonly #parts: SessionParts;
  readonly #files: SessionFiles;
  readonly #rewindable: Rewind;
  readonly #shell: Shell | undefined;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#shell = parts.startShell?.((request, route) => this.#runProgram(request, route));
    this.#rewindable = new Rewind(parts);
    this.#files = new SessionFiles(parts.python.fs, parts.home);
    this.#files.openStandard();
  }

  /** Serves until it is told to close; when the interpreter fails, that error is thrown on. */
  async run(): Promise<void> {
    for (;;) {
      const { kind, payload } = this.#parts.channel.receive();
      if (kind === FrameKind.close) return;
      if (kind === FrameKind.exec) this.#exec(payload);
      else if (kind === FrameKind.shell) await this.#runShell(payload);
      else if (kind === FrameKind.put) this.#answer(() => this.#put(payload));
      else if (kind === FrameKind.get) this.#answer(() => this.#files.get(decoder.decode(payload)));
      else if (kind === FrameKind.rewind) this.#answer(() => this.#rewind(payload));
    }
  }

  /** Makes this session differ from its siblings, or agree with those of the same seed. */
  seed(seed: number | undefined): void {
    this.#parts.entropy.seed(seed);
    this.#call(encoder.encode(JSON.stringify({ seed })));
  }

  #exec(request: Uint8Array): void {
    this.#begin();
    this.#end(this.#call(request));
  }

  async #runShell(payload: Uint8Array): Promise<void> {
    if (!this.#shell) throw new Error("this session has no shell");
    this.#begin();
    const request = JSON.parse(decoder.decode(payload)) as ShellRequest;
    this.#end(textBytes(JSON.stringify(await this.#shell.run(request))));
  }

  /** Runs a program of the shell; what it prints is the shell's to pass on, unless there is a route for it. */
  #runProgram(request: ProgramRequest, route: Route | undefined): ProgramEnd {
    this.#files.openStandard();
    const run = () => this.#call(encoder.encode(JSON.stringify(request)));
    const { devices } = this.#parts;
    const { result, stdout, stderr } = route ? devices.pass(run, route) : devices.capture(run);
    const end = JSON.parse(decoder.decode(result)) as { exitCode: number; interrupted: boolean };
    if (end.interrupted) this.#parts.interrupt[0] = 2;
    return { stdout, stderr, exitCode: end.exitCode };
  }

  #begin(): void {
    const { devices, interrupt } = this.#parts;
    this.#files.openStandard();
    devices.begin();
    interrupt[0] = 0;
  }

  #end(outcome: Uint8Array): void {
    const { devices, channel } = this.#parts;
    const flags = `{"truncated":${devices.truncated},"flooded":${devices.flooded},"outcome":`;
    channel.send(FrameKind.result, join([textBytes(flags), outcome, textBytes("}")]));
  }

  #put(payload: Uint8Array): void {
    const pathBytes = new DataView(payload.buffer, payload.byteOffset).getUint16(0, true);
    const path = decoder.decode(payload.subarray(2, 2 + pathBytes));
    this.#files.put(path, payload.slice(2 + pathBytes));
  }

  #rewind(payload: Uint8Array): void {
    this.#rewindable.run();
    this.#files.openStandard();
    this.#shell?.reset();
    this.seed((JSON.parse(decoder.decode(payload)) as { seed?: number }).seed);
  }

  #answer(work: () => Uint8Array | void): void {
    try {
      const contents = work() ?? new Uint8Array(0);
      if (contents.length >= MAX_FRAME_BYTES) {
        throw new Error(`${contents.length} bytes are more than can be sent`);
      }
      this.#parts.channel.send(FrameKind.done, join([new Uint8Array([DoneStatus.ok]), contents]));
    } catch (error) {
      this.#parts.channel.send(
        FrameKind.done,
        join([
          new Uint8Array([isMissingFile(error) ? DoneStatus.notFound : DoneStatus.failed]),
          textBytes(error instanceof Error ? error.message : thrownText(error)),
        ]),
      );
    }
  }

  /** Calls `runner.handle` with bytes and gives the bytes it returns. */
  #call(request: Uint8Array): Uint8Array {
    const { exports } = this.#parts.python;
    const argument = exports.PyBytes_FromStringAndSize(0, request.length);
    if (argument === 0) throw new Error("no memory is left for the request");
    new Uint8Array(exports.memory.buffer).set(request, exports.PyBytes_AsString(argument));
    const result = exports.PyObject_CallOneArg(this.#parts.image.handle, argument);
    exports.Py_DecRef(argument);
    if (result === 0) throw new Error("the runner itself failed");
    const address = exports.PyBytes_AsString(result);
    const bytes = new Uint8Array(exports.memory.buffer).slice(
      address,
      address + exports.PyBytes_Size(result),
    );
    exports.Py_DecRef(result);
    return bytes;
  }
}

/** What a session is made of. */
export interface SessionParts {
  readonly python: Python;
  readonly image: HeapImage;
  readonly devices: Devices;
  readonly channel: Channel;
  readonly entropy: Entropy;
  readonly interrupt: Uint8Array;
  /** Where its own files live. */
  readonly home: string;
  /** Starts the shell, where the profile has one, upon what runs Python programs for it. */
  readonly startShell?: (python: ShellParts["python"]) => Shell;
}
