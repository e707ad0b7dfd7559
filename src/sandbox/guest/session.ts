import { DoneStatus, encodeResult, ExecFlag, FrameKind, join, MAX_FRAME_BYTES } from "../protocol.ts";
import { BootId } from "./files/boot_id.ts";
import type { Channel } from "./channel.ts";
import { type Devices, textBytes } from "./devices.ts";
import type { Entropy } from "./entropy.ts";
import type { HeapImage } from "./heap_image.ts";
import type { Python } from "./python/interpreter.ts";
import type { SignalSource } from "./python/signals.ts";
import { GuestCheckpoint } from "./checkpoint/guest_checkpoint.ts";
import type { MonotonicClock } from "./checkpoint/monotonic_clock.ts";
import type { VirtualChannel } from "./clock/virtual_channel.ts";
import type { TimeBudget, VirtualClock } from "./clock/virtual_clock.ts";
import { rewind, type StatePart, stateParts } from "./rewind.ts";
import { mountCommands } from "./files/read_only_files.ts";
import { HomeFiles } from "./files/home_files.ts";
import type { Shell, ShellParts, ShellRequest } from "./shell/shell.ts";
import type { ProgramRequest, ProgramResult } from "./shell/programs.ts";
import type { Route } from "./shell/terminal.ts";
import { isMissingFile, thrownText } from "./errno.ts";

/** Commands of a session without a shell. */
const PYTHON_COMMANDS = ["python", "python3", "python3.14"];
const NO_NOTE = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Handles the frames of a session in turn, until the session is closed or the interpreter fails. */
export class GuestSession {
  readonly #parts: SessionParts;
  readonly #files: HomeFiles;
  readonly #bootId: BootId;
  readonly #state: readonly StatePart[];
  readonly #shell: Shell | undefined;
  /** True if a rewind follows the last exec. */
  #rewinds = false;
  readonly #checkpoint: GuestCheckpoint;
  /** Limits of time of the next exec, if the session has a virtual clock. */
  #budget: TimeBudget | undefined;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#shell = parts.startShell?.((request, route) => this.#runProgram(request, route));
    if (this.#shell) this.#attachCommands(this.#shell.commands);
    else mountCommands(parts.python.fs, PYTHON_COMMANDS);
    this.#bootId = new BootId(parts.python.fs); // last, as checkpoints name earlier nodes by their numbers
    this.#files = new HomeFiles(parts.python.fs, parts.home);
    const owners = { ...parts, files: this.#files, shell: this.#shell };
    this.#state = stateParts(owners);
    this.#files.openStandard();
    this.#checkpoint = new GuestCheckpoint({ ...owners, state: this.#state });
  }

  /** Handles frames until a `close`. Rethrows an error of the interpreter. */
  async run(): Promise<void> {
    const { python, image, now, virtual } = this.#parts;
    if (virtual) await this.#shell?.loadCommands();
    const source = {
      next: () => this.#nextExec(),
      reply: (outcome: Uint8Array) => this.#endExec(outcome),
    };
    await python.stack.serve(image.handle, source, now);
  }

  /** Handles frames until an `exec`, whose request it returns, or a `close`. */
  #nextExec(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#rewinds) {
      this.#rewinds = false;
      const rewinding = this.#replaceState(() => this.#rewind(undefined));
      if (rewinding) return rewinding.then(() => this.#nextExec());
    }
    for (;;) {
      const { kind, payload } = this.#parts.channel.receive();
      if (kind === FrameKind.close) return undefined;
      if (kind === FrameKind.exec) {
        const flags = payload[0] ?? 0;
        this.#rewinds = (flags & ExecFlag.rewind) !== 0;
        this.#beginExec({ hasStdin: (flags & ExecFlag.stdin) !== 0 });
        return payload;
      }
      if (kind === FrameKind.shell) return this.#runShell(payload).then(() => this.#nextExec());
      if (kind === FrameKind.put) this.#sendDone(() => this.#put(payload));
      else if (kind === FrameKind.get) this.#sendDone(() => this.#files.get(decoder.decode(payload)));
      else if (kind === FrameKind.network) this.#parts.devices.connections.push(payload);
      else if (kind === FrameKind.input) this.#parts.devices.inputs.push(payload);
      else if (kind === FrameKind.limit) this.#parts.python.heapLimit.set(limitOf(payload));
      else if (kind === FrameKind.entropy) this.#parts.entropy.lend(JSON.parse(decoder.decode(payload)));
      else if (kind === FrameKind.budget) this.#budget = JSON.parse(decoder.decode(payload));
      else if (kind === FrameKind.checkpoint) {
        const send = () => this.#sendDone(() => this.#checkpoint.send(JSON.parse(decoder.decode(payload))));
        const ending = this.#shell?.commands.endKilled();
        if (ending) return ending.then(send).then(() => this.#nextExec());
        send();
      } else if (kind === FrameKind.rewind || kind === FrameKind.restore) {
        const work = kind === FrameKind.rewind ? this.#rewindTo(payload) : this.#receiveRestore(payload);
        const replacing = this.#replaceState(work);
        if (replacing) return replacing.then(() => this.#nextExec());
      }
    }
  }

  /**
   * Seeds the session's randomness. Without a seed, the randomness differs from all other sessions; with a virtual clock
   * the seed is 0 then.
   */
  seed(given: number | undefined): void {
    const { entropy, devices, virtual } = this.#parts;
    const seed = given ?? (virtual ? 0 : undefined);
    entropy.seed(seed);
    this.#bootId.renew(entropy.fill(new Uint8Array(16)));
    entropy.seed(seed); // whatever a program draws does not depend on the id
    // a tracer, a callback of the garbage collector or a replaced `numpy.random` of a forked program may run here
    devices.runSilently(() => this.#callRunner(encoder.encode(JSON.stringify({ seed }))));
  }

  async #runShell(payload: Uint8Array): Promise<void> {
    if (!this.#shell) throw new Error("this session has no shell");
    this.#beginExec({ hasStdin: false });
    const request = JSON.parse(decoder.decode(payload)) as ShellRequest;
    this.#endExec(textBytes(JSON.stringify(await this.#shell.run(request))));
  }

  #attachCommands(commands: Shell["commands"]): void {
    const { devices, python } = this.#parts;
    devices.attachCommands(commands);
    python.threads.onWaitForCommands(() => commands.wait());
  }

  /** Ends threads and commands. Returns `undefined` if there are none. */
  #endThreads(): Promise<void> | undefined {
    const { threads } = this.#parts.python;
    const commands = this.#shell?.commands;
    if (commands?.wereUsed) return commands.endAll().then(() => threads.endAll());
    return threads.wereUsed ? threads.endAll() : undefined;
  }

  /** Runs a Python program of the shell. With a route its output goes to the host, otherwise to the shell. */
  async #runProgram(request: ProgramRequest, route: Route | undefined): Promise<ProgramResult> {
    this.#files.openStandard();
    const { devices, python, image } = this.#parts;
    const run = () => python.stack.callWithThreads(image.handle, encoder.encode(JSON.stringify(request)));
    const { result, stdout, stderr } =
      await (route ? devices.runWithRoute(run, route) : devices.capture(run));
    const end = JSON.parse(decoder.decode(result)) as { exitCode: number; interrupted: boolean };
    if (end.interrupted) this.#parts.interrupt[0] = 2;
    return { stdout, stderr, exitCode: end.exitCode };
  }

  /** Resets what belongs to an exec. */
  #beginExec({ hasStdin }: { hasStdin: boolean }): void {
    const { devices, interrupt, signals, virtual } = this.#parts;
    this.#files.openStandard();
    devices.reset({ hasStdin });
    signals.stopTimers();
    this.#parts.python.denials.reset();
    interrupt[0] = 0;
    virtual?.channel.forgetCalls();
    virtual?.clock.begin(this.#budget);
  }

  #endExec(outcome: Uint8Array): void {
    const { devices, channel, python, entropy, virtual } = this.#parts;
    virtual?.clock.end();
    entropy.takeBack();
    python.heapLimit.clear();
    devices.inputs.length = 0;
    const { truncated, flooded, droppedDisplays } = devices;
    const { peakBytes: peakMemoryBytes } = python.heapLimit;
    const denied = python.denials.counts();
    const note = denied || droppedDisplays > 0
      ? textBytes(JSON.stringify({ denied, ...(droppedDisplays > 0 && { droppedDisplays }) }))
      : NO_NOTE;
    channel.send(FrameKind.result, encodeResult({ truncated, flooded, peakMemoryBytes, note, outcome }));
  }

  #put(payload: Uint8Array): void {
    const pathBytes = new DataView(payload.buffer, payload.byteOffset).getUint16(0, true);
    const path = decoder.decode(payload.subarray(2, 2 + pathBytes));
    this.#files.put(path, payload.slice(2 + pathBytes));
  }

  /** Returns what rewinds as a `rewind` frame names it. */
  #rewindTo(payload: Uint8Array): () => void {
    const { seed } = JSON.parse(decoder.decode(payload)) as { seed?: number };
    return () => this.#rewind(seed);
  }

  /** Ends threads and commands, does `work`, and reports it. Returns a promise only if there are threads or commands. */
  #replaceState(work: () => void): Promise<void> | undefined {
    const ending = this.#endThreads();
    if (ending) return ending.then(() => this.#sendDone(work));
    this.#sendDone(work);
    return undefined;
  }

  #rewind(seed: number | undefined): void {
    rewind(this.#state);
    this.#parts.devices.connections.clear();
    this.seed(seed);
  }

  /** Receives a checkpoint, and returns what restores it. Bytes of the operating system are new ones then. */
  #receiveRestore(payload: Uint8Array): () => void {
    const { bytes, ...entropy } = JSON.parse(decoder.decode(payload)) as RestoreRequest;
    const state = new Uint8Array(bytes);
    for (let at = 0; at < bytes;) {
      const { payload: piece } = this.#parts.channel.receive();
      state.set(piece, at);
      at += piece.length;
    }
    return () => {
      this.#parts.devices.connections.clear();
      const hasMemory = this.#checkpoint.restore(state);
      if (entropy.reseed || !hasMemory) this.seed(entropy.seed);
      else if (!this.#parts.virtual) this.#parts.entropy.seed(undefined);
    };
  }

  #sendDone(work: () => Uint8Array | void): void {
    try {
      const contents = work() ?? new Uint8Array(0);
      if (contents.length >= MAX_FRAME_BYTES) {
        throw new Error(`its size must be < ${MAX_FRAME_BYTES} bytes: found ${contents.length}`);
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

  /** Calls `runner.handle` with bytes and returns its bytes. */
  #callRunner(request: Uint8Array): Uint8Array {
    const { python, image } = this.#parts;
    return python.stack.call(image.handle, request);
  }
}

function limitOf(payload: Uint8Array): number {
  return new DataView(payload.buffer, payload.byteOffset).getUint32(0, true);
}

/** Request of the host to restore a checkpoint. */
interface RestoreRequest {
  /** Size of the checkpoint that follows. */
  readonly bytes: number;
  /** True if the generators of Python get a new seed, `seed` if given. */
  readonly reseed: boolean;
  readonly seed?: number;
}

/** The parts of a session. */
export interface SessionParts {
  readonly python: Python;
  readonly image: HeapImage;
  readonly devices: Devices;
  readonly channel: Channel;
  readonly entropy: Entropy;
  readonly interrupt: Uint8Array;
  readonly now: () => number;
  readonly signals: SignalSource;
  /** The clock that programs see as monotonic. */
  readonly clock: MonotonicClock;
  /** Present if time passes only by what programs do. */
  readonly virtual?: { readonly clock: VirtualClock; readonly channel: VirtualChannel };
  /** The session's home directory. */
  readonly home: string;
  /** Starts the shell. Absent if the profile has no shell. */
  readonly startShell?: (runProgram: ShellParts["runProgram"]) => Shell;
}
