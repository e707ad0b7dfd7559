import { z } from "zod";
import { ArgumentRangeError } from "../errors.ts";
import type { ExecOptions, GuestError, HostTool } from "./exec.ts";
import type { GuestResult } from "./guest_frames.ts";
import type { GuestLink, Termination } from "./guest_link.ts";
import { watchProcess } from "./process/watchdog.ts";
import type { Limits } from "./profile/schema.ts";
import { type Frame, FrameKind, MAX_FRAME_BYTES } from "./protocol.ts";
import { ToolCalls } from "./tool_calls.ts";

const encoder = new TextEncoder();

/** How often an interrupt is repeated to a program that swallows it. */
const INTERRUPT_INTERVAL_MS = 50;

/** Why an exec was told to stop before its end. */
export type StopReason = "timeout" | "silence" | "cpu" | "aborted";

/** What one run needs of its caller, of the profile and of the session. */
export interface ExecRunOptions<Result> extends Pick<ExecOptions, "tools" | "signal" | "onOutput"> {
  /** Reads what the guest says in the end; what it throws is a breach of the protocol. */
  readonly parse: (payload: Uint8Array) => Result;
  readonly limits: Limits;
  readonly timeoutMs: number;
  /** How long the guest may write nothing; as long as it likes unless given. */
  readonly silenceMs?: number | undefined;
  /** The most resident memory that the process may have, or nothing where the watchdog is off. */
  readonly residentBytes?: number | undefined;
}

/** How an exec ended, as the host saw it. */
export interface ExecEnd<Result = GuestResult> {
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
  readonly stopped?: StopReason | undefined;
  readonly stateKept: boolean;
  /** What the caller's `onOutput` threw. */
  readonly failure?: { readonly error: unknown } | undefined;
  /** What the guest said, or why it can say nothing any more. */
  readonly result?: Result | undefined;
  readonly termination?: Termination | undefined;
}

/** Runs one block or command in a session: first asked to stop, then killed, when its time is over. */
export class ExecRun<Result> {
  readonly #link: GuestLink;
  readonly #options: ExecRunOptions<Result>;
  readonly #output: OutputCapture;
  readonly #tools: ToolCalls;
  readonly #result = Promise.withResolvers<Result>();
  #stopped: StopReason | undefined;
  #over = false;
  #failure: { error: unknown } | undefined;
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
      answer: (text) => link.send(FrameKind.reply, text),
    });
  }

  /** Sends the request and waits for its end; never rejects for what the guest does. */
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
      const ended = await this.#link.listen((frame) => this.#receive(frame), () => this.#send(kind, request));
      return {
        ...ended,
        stdout: this.#output.stdout.end(),
        stderr: this.#output.stderr.end(),
        durationMs: performance.now() - startedAt,
        stopped: this.#stopped,
        stateKept: this.#link.alive,
        failure: this.#failure,
      };
    } finally {
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
    if (this.#over) throw new SyntaxError(`frame ${kind} came after the result`);
    if (kind === FrameKind.stdout || kind === FrameKind.stderr) this.#restartSilenceTimer();
    if (kind === FrameKind.stdout) this.#output.push("stdout", payload);
    else if (kind === FrameKind.stderr) this.#output.push("stderr", payload);
    else if (kind === FrameKind.call) this.#tools.receive(payload);
    else if (kind === FrameKind.result) this.#end(payload);
    else throw new SyntaxError(`frame ${kind} is not one of an exec`);
  }

  /** Hands output to the caller; one who cannot take it ends the exec, and hears of its own error. */
  #emitOutput(stream: "stdout" | "stderr", text: string): void {
    if (this.#failure) return;
    try {
      this.#options.onOutput?.(stream, text);
    } catch (error) {
      this.#failure = { error };
      this.#stop("aborted");
    }
  }

  #end(payload: Uint8Array): void {
    const result = this.#options.parse(payload);
    this.#over = true;
    this.#result.resolve(result);
  }

  /** Counts the silence from now on. */
  #restartSilenceTimer(): void {
    const { silenceMs } = this.#options;
    if (silenceMs === undefined) return;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#stop("silence"), silenceMs);
  }

  /** Interrupts the program, again and again, until it ends or its grace does. */
  #stop(reason: StopReason): void {
    if (this.#stopped) return;
    this.#stopped = reason;
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
      if (breach === "cpu") this.#stop("cpu");
      else {this.#link.fail({
          reason: "memory",
          message: `the process held more than ${residentBytes} bytes`,
        });}
    });
  }
}

/** What the guest is told of a block. */
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

/** What the guest is told of a tool. */
function toolSpec({ name, description, parameters }: HostTool): object {
  return { name, description, parameters: z.toJSONSchema(parameters, { io: "input" }) };
}

/** An error of the host's own words, in the shape of one of the guest's. */
export function hostError(type: string, message: string): GuestError {
  return { type, message, traceback: `${type}: ${message}\n` };
}

/** Collects the output of one exec, stream by stream, and holds it to the limit once more. */
export class OutputCapture {
  readonly stdout: StreamText;
  readonly stderr: StreamText;
  #left: number;

  constructor(options: {
    outputBytes: number;
    onOutput?: ((stream: "stdout" | "stderr", text: string) => void) | undefined;
  }) {
    this.#left = options.outputBytes;
    this.stdout = new StreamText((text) => options.onOutput?.("stdout", text));
    this.stderr = new StreamText((text) => options.onOutput?.("stderr", text));
  }

  /**
   * Takes what a frame carried.
   *
   * @throws {RangeError} when the guest sent more than its own side should have let through.
   */
  push(stream: "stdout" | "stderr", bytes: Uint8Array): void {
    this.#left -= bytes.length;
    if (this.#left < 0) throw new RangeError("more output than the limit");
    this[stream].push(bytes);
  }
}

/** The text of one stream; a character that two frames share is put together. */
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

  /** The whole text; the stream is at its end. */
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
