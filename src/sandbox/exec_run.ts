import { ArgumentRangeError } from "../errors.ts";
import type { ExecOptions, GuestError } from "./exec.ts";
import type { GuestResult } from "./guest_frames.ts";
import type { GuestLink, Termination } from "./guest_link.ts";
import type { HostTool } from "./host_tool.ts";
import type { Limits } from "./limits.ts";
import { OutputCapture } from "./output_capture.ts";
import { type Frame, FrameKind, MAX_FRAME_BYTES } from "./protocol.ts";
import { ToolCalls } from "./tool_calls.ts";
import { watchProcess } from "./watchdog.ts";
import { z } from "zod";

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
      onOutput: (stream, text) => this.#tell(stream, text),
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
    this.#hearken();
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
    if (kind === FrameKind.stdout || kind === FrameKind.stderr) this.#hearken();
    if (kind === FrameKind.stdout) this.#output.push("stdout", payload);
    else if (kind === FrameKind.stderr) this.#output.push("stderr", payload);
    else if (kind === FrameKind.call) this.#tools.receive(payload);
    else if (kind === FrameKind.result) this.#end(payload);
    else throw new SyntaxError(`frame ${kind} is not one of an exec`);
  }

  /** Hands output to the caller; one who cannot take it ends the exec, and hears of its own error. */
  #tell(stream: "stdout" | "stderr", text: string): void {
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
  #hearken(): void {
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
    this.#link.lose({ reason: "killed", message: "it did not stop when it was interrupted, and was killed" });
  }

  #watch(): AsyncDisposable | undefined {
    const { residentBytes, limits } = this.#options;
    const { thread, pid } = this.#link;
    if (residentBytes === undefined || pid === undefined) return undefined;
    const watchLimits = { cpuSeconds: limits.cpuSeconds, memoryBytes: residentBytes, thread };
    return watchProcess(pid, watchLimits, (breach) => {
      if (breach === "cpu") this.#stop("cpu");
      else {this.#link.lose({
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
