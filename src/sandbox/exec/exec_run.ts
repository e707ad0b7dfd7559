import { ArgumentRangeError } from "../../errors.ts";
import type { ExecOptions, GuestError, MimeBundle } from "../contract/exec.ts";
import type { GuestResult } from "../guest_frames.ts";
import { type GuestLink, type GuestListener, REQUEST_TIMEOUT_MS, type Termination } from "../guest_link.ts";
import { watchProcess } from "../process/watchdog.ts";
import type { Limits } from "../profile/schema.ts";
import { DoneStatus, type Frame, FrameKind, MAX_FRAME_BYTES } from "../protocol.ts";
import { DisplayCapture, OutputCapture } from "../output_capture.ts";
import { ToolCalls } from "../tool_calls.ts";

/** Milliseconds between repeated interrupts, for programs that catch the first interrupt. */
const INTERRUPT_INTERVAL_MS = 50;
/** An exec that ends within so many milliseconds starts no other timer. */
const SHORT_MS = 100;
/** Milliseconds between requests for the output that the guest holds back, while a caller follows it. */
const LIVE_INTERVAL_MS = 50;

/** Reason for stopping an exec before its end. */
export type StopReason = "timeout" | "guard" | "silence" | "cpu" | "aborted" | "dropped";

/** Time of the virtual clock that an exec has. The host's own limit is a guard then. */
export interface VirtualTime {
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** True if `timeoutMs` begins anew with each reply to a call. */
  readonly restarts: boolean;
}

/** Options of {@linkcode ExecRun}. */
export interface ExecRunOptions<Result>
  extends Pick<ExecOptions, "tools" | "signal" | "onOutput" | "onDisplay"> {
  /** Parses the payload of the result frame. An error that it throws is a protocol violation of the guest. */
  readonly parse: (payload: Uint8Array) => Result;
  readonly limits: Limits;
  /** Wall time until the guest is interrupted, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Limits by the guest's virtual clock, which interrupts by itself.
   *
   * @default the guest has the host's clock
   */
  readonly virtual?: VirtualTime | undefined;
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
  /** Contents of the program's inputs, in the order of the request. */
  readonly inputs?: readonly Uint8Array[] | undefined;
  /**
   * Seed of the bytes of `os.urandom`.
   *
   * @default they continue
   */
  readonly entropySeed?: number | undefined;
  /** Returns true while the caller has seen the output before, so that it is not passed on. */
  readonly isSeen?: (() => boolean) | undefined;
  /**
   * True if the guest rewinds after the result.
   *
   * @default false
   */
  readonly rewinds?: boolean | undefined;
}

/** Options that an exec gets anew when it goes on after a call. */
export type ContinueOptions = Pick<
  ExecRunOptions<unknown>,
  "timeoutMs" | "signal" | "onOutput" | "onDisplay"
>;

/** End of an exec as the host observed it. */
export interface ExecEnd<Result = GuestResult> {
  readonly stdout: string;
  readonly stderr: string;
  /** Objects that the program showed. */
  readonly display: readonly MimeBundle[];
  /** Number of bundles that were dropped since they are invalid. */
  readonly invalidDisplays: number;
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
  /** Resolves after the guest's rewind, with false if it failed. Absent if there is none. */
  readonly rewound?: Promise<boolean> | undefined;
}

/**
 * Runs a block or command in a session. At its timeout the program is interrupted; after the grace time it is
 * killed.
 */
export class ExecRun<Result> implements GuestListener {
  readonly #link: GuestLink;
  #options: ExecRunOptions<Result>;
  readonly #output: OutputCapture;
  readonly #display: DisplayCapture;
  readonly #end = Promise.withResolvers<{ result?: Result; termination?: Termination }>();
  readonly #rewind: PromiseWithResolvers<boolean> | undefined;
  /** Start of its clock, unless that has stopped. */
  #startedAt: number | undefined = performance.now();
  /** Milliseconds that it ran before it last went on after a call. */
  #earlierMs = 0;
  #tools: ToolCalls | undefined;
  #stopped: StopReason | undefined;
  /** True once the host interrupts the guest. */
  #isStopping = false;
  #hasResult = false;
  #hasEnded = false;
  /** True between the result and the end of the rewind. */
  #isRewinding = false;
  #rewindTimer: ReturnType<typeof setTimeout> | undefined;
  #failure: { error: unknown } | undefined;
  /** Number of results of `onOutput` that are not settled yet. While there are any, the guest is held back. */
  #unsettled = 0;
  #isPaused = false;
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  readonly #onAbort = () => this.#stop("aborted");
  #silence: ReturnType<typeof setTimeout> | undefined;
  #watch: AsyncDisposable | undefined;

  constructor(link: GuestLink, options: ExecRunOptions<Result>) {
    this.#link = link;
    this.#options = options;
    this.#rewind = options.rewinds ? Promise.withResolvers() : undefined;
    this.#output = new OutputCapture({
      outputBytes: options.limits.outputBytes,
      onOutput: (options.onOutput || options.isSeen) &&
        ((stream, text) => this.#emit(() => this.#options.onOutput?.(stream, text))),
    });
    this.#display = new DisplayCapture((bundle) => this.#emit(() => this.#options.onDisplay?.(bundle)));
  }

  /**
   * Sends the request and waits for its end. It never rejects because of the guest.
   *
   * @throws {ArgumentRangeError} if the request is larger than a frame.
   */
  async run(kind: FrameKind, request: Uint8Array): Promise<ExecEnd<Result>> {
    const { inputs = [], entropySeed, virtual } = this.#options;
    const bytes = Math.max(request.length, ...inputs.map(({ length }) => length));
    if (bytes > MAX_FRAME_BYTES) {
      throw new ArgumentRangeError(
        `Cannot exec as code, stdin and inputs must have at most ${MAX_FRAME_BYTES} bytes each: current value has ${bytes}`,
      );
    }
    this.#startClock();
    try {
      this.#link.listen(this);
      this.#link.network?.resume();
      if (entropySeed !== undefined) this.#link.send(FrameKind.entropy, JSON.stringify(entropySeed));
      if (virtual) this.#link.send(FrameKind.budget, JSON.stringify(virtual));
      for (const contents of inputs) this.#link.send(FrameKind.input, contents);
      this.#link.send(kind, request);
      const ended = await this.#end.promise;
      const { termination = ended.termination } = this.#link; // also of a guest that broke the protocol after its result
      const outcome = termination ? { termination } : ended;
      return {
        ...outcome,
        ...this.#observed(),
        stdout: this.#output.stdout.end(),
        stderr: this.#output.stderr.end(),
        ...(this.#hasResult && { rewound: this.#rewind?.promise }),
      };
    } finally {
      this.#hasEnded = true;
      this.#link.network?.pause();
      if (!this.#isRewinding) this.#link.listen(undefined);
      this.#tools?.end();
      this.#stopClock();
      await this.#watch?.[Symbol.asyncDispose]();
    }
  }

  /**
   * Stops its clock, as the program waits for a call, and returns what it has done until now. The limits of memory and
   * CPU time remain, as other threads of the program may run.
   */
  pause(): ExecEnd<Result> {
    this.#stopClock();
    this.#options = { ...this.#options, onOutput: undefined, onDisplay: undefined };
    this.#watch ??= this.#startWatch();
    return this.#observed();
  }

  /** Starts its clock again after {@linkcode ExecRun.pause}, with other options. */
  continue(options: ContinueOptions): void {
    if (this.#hasEnded) return;
    this.#options = { ...this.#options, ...options };
    this.#startClock();
  }

  /** Interrupts the program, whose end is of no interest: it differs from its first run, or waits for no answer. */
  interrupt(): void {
    this.#stop("dropped");
  }

  #startClock(): void {
    const { signal, timeoutMs } = this.#options;
    this.#startedAt = performance.now();
    signal?.addEventListener("abort", this.#onAbort);
    if (signal?.aborted) this.#onAbort();
    this.#timers.push(setTimeout(() => this.#startTimers(), Math.min(SHORT_MS, timeoutMs)));
    this.#startLiveTimers();
  }

  #stopClock(): void {
    this.#earlierMs = this.#durationMs;
    this.#startedAt = undefined;
    this.#resume();
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    clearTimeout(this.#silence);
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  get #durationMs(): number {
    return this.#earlierMs + (this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt);
  }

  #observed(): ExecEnd<Result> {
    return {
      stdout: this.#output.stdout.text,
      stderr: this.#output.stderr.text,
      display: this.#display.bundles,
      invalidDisplays: this.#display.invalid,
      durationMs: this.#durationMs,
      stopped: this.#stopped,
      stateKept: this.#link.alive,
      failure: this.#failure,
    };
  }

  /** {@inheritDoc GuestListener.onFrame} */
  onFrame({ kind, payload }: Frame): void {
    if (this.#hasResult) return this.#receiveDone(kind, payload);
    if (kind === FrameKind.stdout || kind === FrameKind.stderr) this.#restartSilenceTimer();
    if (kind === FrameKind.stdout) this.#output.push("stdout", payload);
    else if (kind === FrameKind.stderr) this.#output.push("stderr", payload);
    else if (kind === FrameKind.display) this.#display.push(payload);
    else if (kind === FrameKind.call) this.#receiveCall(payload);
    else if (kind === FrameKind.packet) this.#receivePacket(payload);
    else if (kind === FrameKind.result) this.#receiveResult(payload);
    else if (kind === FrameKind.late && this.#options.virtual) this.#stopped ??= "timeout";
    else throw new SyntaxError(`frame ${kind} is not one of an exec`);
  }

  /** {@inheritDoc GuestListener.onTermination} */
  onTermination(termination: Termination): void {
    this.#end.resolve({ termination });
    this.#endRewind(false);
  }

  #receiveCall(payload: Uint8Array): void {
    const { tools = [], limits } = this.#options;
    this.#tools ??= new ToolCalls(tools, {
      budget: limits.hostToolCalls,
      onReply: (text) => this.#link.send(FrameKind.reply, text),
    });
    this.#tools.receive(payload);
  }

  #receivePacket(payload: Uint8Array<ArrayBuffer>): void {
    const { network } = this.#link;
    if (!network) throw new SyntaxError("a packet came where the profile has no network");
    network.receive(payload);
  }

  #receiveResult(payload: Uint8Array): void {
    const result = this.#options.parse(payload);
    this.#hasResult = true;
    this.#link.network?.pause();
    if (this.#rewind) this.#link.network?.reset();
    this.#isRewinding = this.#rewind !== undefined;
    this.#end.resolve({ result });
    if (this.#isRewinding) this.#rewindTimer = setTimeout(() => this.#failRewind(), REQUEST_TIMEOUT_MS);
  }

  #receiveDone(kind: number, payload: Uint8Array): void {
    if (kind !== FrameKind.done || !this.#isRewinding) {
      throw new SyntaxError(`frame ${kind} came after the result`);
    }
    this.#endRewind(payload[0] === DoneStatus.ok);
  }

  #endRewind(isRewound: boolean): void {
    clearTimeout(this.#rewindTimer);
    this.#isRewinding = false;
    this.#link.listen(undefined);
    this.#rewind?.resolve(isRewound);
  }

  #failRewind(): void {
    this.#link.fail({ reason: "crashed", message: `no rewind within ${REQUEST_TIMEOUT_MS} ms` });
  }

  /** Starts what only an exec that is not short needs: its own timeout, and the watch of its process. */
  #startTimers(): void {
    const leftMs = (this.#startedAt ?? 0) + this.#options.timeoutMs - performance.now();
    const reason = this.#options.virtual ? "guard" : "timeout";
    if (leftMs <= 0) return this.#stop(reason);
    this.#timers.push(setTimeout(() => this.#stop(reason), leftMs));
    this.#watch ??= this.#startWatch();
  }

  /** Starts timers for a caller that follows the output: the guest holds it back for a moment. */
  #startLiveTimers(): void {
    const { onOutput, silenceMs } = this.#options;
    if (!onOutput && silenceMs === undefined) return;
    this.#timers.push(setInterval(() => this.#link.send(FrameKind.flush), LIVE_INTERVAL_MS));
    this.#restartSilenceTimer();
  }

  /** Passes output to the caller. If its function throws, the exec is aborted and the error rethrown. */
  #emit(take: () => unknown): void {
    if (this.#failure || this.#options.isSeen?.()) return;
    try {
      const taken = take();
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
    if (this.#isStopping || this.#hasResult) return;
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

  #restartSilenceTimer(): void {
    const { silenceMs } = this.#options;
    if (silenceMs === undefined || this.#isPaused) return;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#stop("silence"), silenceMs);
  }

  /** Interrupts the program repeatedly until it ends or its grace time is over, and then kills it. */
  #stop(reason: StopReason): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
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

  #startWatch(): AsyncDisposable | undefined {
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

/** Returns an error of the host in the form of a Python exception. */
export function hostError(type: string, message: string): GuestError {
  return { type, message, traceback: `${type}: ${message}\n` };
}
