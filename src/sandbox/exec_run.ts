import { z } from "zod";
import { ArgumentRangeError } from "../errors.ts";
import type { ExecOptions, GuestError, HostTool } from "./exec.ts";
import type { GuestResult } from "./guest_frames.ts";
import type { GuestLink, Termination } from "./guest_link.ts";
import { watchProcess } from "./process/watchdog.ts";
import type { Limits } from "./profile/schema.ts";
import { type Frame, FrameKind, MAX_FRAME_BYTES, OUTPUT_PIECE_BYTES } from "./protocol.ts";
import { ToolCalls } from "./tool_calls.ts";

const encoder = new TextEncoder();

/** Milliseconds between repeated interrupts, for programs that catch the first one. */
const INTERRUPT_INTERVAL_MS = 50;

/** Reason for stopping an exec before its end. */
export type StopReason = "timeout" | "silence" | "cpu" | "aborted";

/** Options of {@linkcode ExecRun}. */
export interface ExecRunOptions<Result> extends Pick<ExecOptions, "tools" | "signal" | "onOutput"> {
  /** Parses the payload of the result frame. An error that it throws is a protocol violation of the guest. */
  readonly parse: (payload: Uint8Array) => Result;
  readonly limits: Limits;
  /** Wall time until the guest is interrupted, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Time without output after which the guest is interrupted, in milliseconds.
   *
   * @default no limit
   */
  readonly silenceMs?: number | undefined;
  /**
   * Maximum resident memory of the process, in bytes.
   *
   * @default no watchdog
   */
  readonly residentBytes?: number | undefined;
}

/** End of an exec as the host observed it. */
export interface ExecEnd<Result = GuestResult> {
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
  /** Reason for which the host stopped the exec, if it did. */
  readonly stopped?: StopReason | undefined;
  readonly stateKept: boolean;
  /** Error that the caller's `onOutput` threw. */
  readonly failure?: { readonly error: unknown } | undefined;
  /** Result that the guest sent. Untrusted. */
  readonly result?: Result | undefined;
  /** Termination of the interpreter, if it ended before it sent a result. */
  readonly termination?: Termination | undefined;
}

/**
 * Runs one block or command in a session. At its timeout the program is interrupted; after the grace time it is
 * killed.
 */
export class ExecRun<Result> {
  readonly #link: GuestLink;
  readonly #options: ExecRunOptions<Result>;
  readonly #output: OutputCapture;
  readonly #tools: ToolCalls;
  readonly #result = Promise.withResolvers<Result>();
  #stopped: StopReason | undefined;
  #hasResult = false;
  #failure: { error: unknown } | undefined;
  /** Number of results of `onOutput` that are not settled yet. While there are any, the guest is held back. */
  #unsettled = 0;
  #isPaused = false;
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(link: GuestLink, options: ExecRunOptions<Result>) {
    this.#link = link;
    this.#options = options;
    this.#output = new OutputCapture({
      outputBytes: options.limits.outputBytes,
      onOutput: (stream, text) => this.#emitOutput(stream, text),
    });
    this.#tools = new ToolCalls(options.tools ?? [], {
      budget: options.limits.hostToolCalls,
      onReply: (text) => link.send(FrameKind.reply, text),
    });
  }

  /** Sends the request and waits for its end. It never rejects because of the guest. */
  async run(kind: FrameKind, request: object): Promise<ExecEnd<Result>> {
    const { signal, timeoutMs } = this.#options;
    const onAbort = () => this.#stop("aborted");
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted) onAbort();
    await using _watch = this.#watch();
    const startedAt = performance.now();
    this.#timers.push(setTimeout(() => this.#stop("timeout"), timeoutMs));
    this.#restartSilenceTimer();
    try {
      const outcome = await this.#link.listen(
        (frame) => this.#receive(frame),
        () => this.#send(kind, request),
      );
      return {
        ...outcome,
        stdout: this.#output.stdout.end(),
        stderr: this.#output.stderr.end(),
        durationMs: performance.now() - startedAt,
        stopped: this.#stopped,
        stateKept: this.#link.alive,
        failure: this.#failure,
      };
    } finally {
      this.#resume();
      this.#timers.forEach((timer) => clearTimeout(timer));
      clearTimeout(this.#silence);
      signal?.removeEventListener("abort", onAbort);
      this.#tools.end();
    }
  }

  async #send(kind: FrameKind, request: object): Promise<{ result?: Result; termination?: Termination }> {
    const payload = encoder.encode(JSON.stringify(request));
    if (payload.length > MAX_FRAME_BYTES) {
      throw new ArgumentRangeError(
        `Cannot exec as code and stdin must have at most ${MAX_FRAME_BYTES} bytes: current value has ${payload.length}`,
      );
    }
    this.#link.send(kind, payload);
    const { done, termination } = await this.#link.unlessLost(this.#result.promise);
    return termination ? { termination } : { result: done };
  }

  #receive({ kind, payload }: Frame): void {
    if (this.#hasResult) throw new SyntaxError(`frame ${kind} came after the result`);
    if (kind === FrameKind.stdout || kind === FrameKind.stderr) this.#restartSilenceTimer();
    if (kind === FrameKind.stdout) this.#output.push("stdout", payload);
    else if (kind === FrameKind.stderr) this.#output.push("stderr", payload);
    else if (kind === FrameKind.call) this.#tools.receive(payload);
    else if (kind === FrameKind.result) this.#end(payload);
    else throw new SyntaxError(`frame ${kind} is not one of an exec`);
  }

  /** Passes output to the caller. If `onOutput` throws, the exec is aborted and the error rethrown. */
  #emitOutput(stream: "stdout" | "stderr", text: string): void {
    if (this.#failure) return;
    try {
      const taken = this.#options.onOutput?.(stream, text);
      if (taken instanceof Promise) this.#holdBack(taken);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Holds the guest back until the caller has taken its output. */
  async #holdBack(taken: Promise<unknown>): Promise<void> {
    if (this.#unsettled++ === 0) this.#pause();
    try {
      await taken;
    } catch (error) {
      this.#fail(error);
    }
    if (--this.#unsettled === 0) this.#resume();
  }

  #pause(): void {
    if (this.#stopped || this.#hasResult) return;
    this.#isPaused = true;
    clearTimeout(this.#silence);
    this.#link.send(FrameKind.pause);
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#restartSilenceTimer();
    this.#link.send(FrameKind.resume);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop("aborted");
  }

  #end(payload: Uint8Array): void {
    const result = this.#options.parse(payload);
    this.#hasResult = true;
    this.#result.resolve(result);
  }

  #restartSilenceTimer(): void {
    const { silenceMs } = this.#options;
    if (silenceMs === undefined || this.#isPaused) return;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#stop("silence"), silenceMs);
  }

  /** Interrupts the program repeatedly until it ends or its grace time is over, and then kills it. */
  #stop(reason: StopReason): void {
    if (this.#stopped) return;
    this.#stopped = reason;
    this.#resume(); // a guest that is held back could not end
    const interrupt = () => this.#link.send(FrameKind.interrupt);
    interrupt();
    this.#timers.push(setInterval(interrupt, INTERRUPT_INTERVAL_MS));
    this.#timers.push(setTimeout(() => this.#kill(), this.#options.limits.graceMs));
  }

  #kill(): void {
    this.#link.fail({ reason: "killed", message: "it did not stop when it was interrupted, and was killed" });
  }

  #watch(): AsyncDisposable | undefined {
    const { residentBytes, limits } = this.#options;
    const { thread, pid } = this.#link;
    if (residentBytes === undefined || pid === undefined) return undefined;
    const watchLimits = { cpuSeconds: limits.cpuSeconds, memoryBytes: residentBytes, thread };
    return watchProcess(pid, watchLimits, (breach) => {
      if (breach === "cpu") return this.#stop("cpu");
      this.#link.fail({ reason: "memory", message: `the process held more than ${residentBytes} bytes` });
    });
  }
}

const MIN_MEMORY_BYTES = 64 * 1024 * 1024;

/** Limits the memory of the next exec or command line, if `bytes` is below the limit of the profile. */
export function limitMemory(link: GuestLink, bytes: number | undefined, limits: Limits): void {
  if (bytes === undefined || bytes >= limits.memoryBytes) return;
  const payload = new Uint8Array(4);
  new DataView(payload.buffer).setUint32(0, Math.max(MIN_MEMORY_BYTES, Math.floor(bytes)), true);
  link.send(FrameKind.limit, payload);
}

/** Returns the payload of an `exec` frame. */
export function execRequest(code: string, options: ExecOptions, limits: Limits): object {
  const { stdin, argv, tools = [] } = options;
  return {
    code,
    stdin,
    script: argv,
    tools: tools.map(toolSpec),
    calls: limits.hostToolCalls,
    valueCap: limits.outputBytes,
  };
}

/** Returns the description of a tool that is sent to the guest. */
function toolSpec({ name, description, parameters }: HostTool): object {
  return { name, description, parameters: z.toJSONSchema(parameters, { io: "input" }) };
}

/** Returns an error of the host in the form of a Python exception. */
export function hostError(type: string, message: string): GuestError {
  return { type, message, traceback: `${type}: ${message}\n` };
}

/**
 * Collects the output of one exec for each stream. It enforces the output limit again, as the guest is not trusted
 * to.
 */
export class OutputCapture {
  readonly stdout: StreamText;
  readonly stderr: StreamText;
  #remainingBytes: number;
  #last: "stdout" | "stderr" | undefined;

  constructor(options: {
    outputBytes: number;
    onOutput?: ((stream: "stdout" | "stderr", text: string) => void) | undefined;
  }) {
    this.#remainingBytes = options.outputBytes;
    this.stdout = new StreamText((text) => options.onOutput?.("stdout", text));
    this.stderr = new StreamText((text) => options.onOutput?.("stderr", text));
  }

  /**
   * Adds the payload of a frame.
   *
   * @throws {RangeError} if the guest sent more than the limit, which its own side must enforce.
   */
  push(stream: "stdout" | "stderr", bytes: Uint8Array): void {
    if (this.#last !== undefined && this.#last !== stream) this.#remainingBytes -= OUTPUT_PIECE_BYTES;
    this.#last = stream;
    this.#remainingBytes -= bytes.length;
    if (this.#remainingBytes < 0) throw new RangeError("more output than the limit");
    this[stream].push(bytes);
  }
}

/** Text of one stream. It joins characters that are split over two frames. */
class StreamText {
  readonly #decoder = new TextDecoder();
  readonly #onText: (text: string) => void;
  readonly #pieces: string[] = [];

  constructor(onText: (text: string) => void) {
    this.#onText = onText;
  }

  push(bytes: Uint8Array): void {
    this.#add(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Ends the stream and returns its text. */
  end(): string {
    this.#add(this.#decoder.decode());
    return this.#pieces.join("");
  }

  #add(text: string): void {
    if (text === "") return;
    this.#pieces.push(text);
    this.#onText(text);
  }
}
