import { MAX_TIMER_MS } from "../../async/abort.ts";
import { ArgumentTypeError, WaitingExecError } from "../../errors.ts";
import { writeIntegers } from "../../numbers/exact_numbers.ts";
import type { CompressedState } from "../checkpoint/checkpoint.ts";
import type { StateMemory, StateRoom } from "../checkpoint/state_memory.ts";
import type { ExecResult, ResumeOptions, ToolAnswer, WaitingCall } from "../contract/exec.ts";
import { limitMemory } from "../exec/exec_request.ts";
import { toExecResult, toOutcome } from "../exec/exec_result.ts";
import {
  type ContinueOptions,
  type ExecEnd,
  ExecRun,
  hostError,
  type VirtualTime,
} from "../exec/exec_run.ts";
import { parseResult } from "../guest_frames.ts";
import type { GuestLink } from "../guest_link.ts";
import type { HostTool } from "../host_tool.ts";
import type { Limits } from "../profile/schema.ts";
import { FrameKind } from "../protocol.ts";
import type { CallJournal, Divergence } from "./journal.ts";
import { JournaledCalls } from "./journaled_calls.ts";
import { fromRecord, toRecord, type WaitingProgram, type WaitingState } from "./program.ts";

/** Parts of a {@linkcode WaitingExec}. */
interface WaitingExecParts extends Omit<WaitingState, "ranMs"> {
  /** @default 0 */
  readonly ranMs?: number | undefined;
  /** State from which the program runs. */
  readonly base: Promise<CompressedState>;
  /** Memory that the base takes. */
  readonly room?: StateRoom | undefined;
  readonly tools?: readonly HostTool[] | undefined;
}

/** Limits of a run, and of its process. */
interface RunLimits {
  readonly limits: Limits;
  readonly residentBytes: number | undefined;
  readonly virtual?: VirtualTime | undefined;
}

/** A run of the program in an interpreter. */
interface LiveRun {
  readonly link: GuestLink;
  readonly run: ExecRun<ReturnType<typeof parseResult>>;
  readonly calls: JournaledCalls;
  readonly ended: Promise<ExecEnd>;
}

/** Time of a second run up to the point where the first run waited, as a multiple of the time of the first run. */
const REPLAY_FACTOR = 4;

/** What a run has come to: its end, or a call that waits. */
export interface WaitingStep {
  readonly result: ExecResult;
  /** The end, unless a call waits. */
  readonly end?: ExecEnd | undefined;
}

/**
 * An exec that waits at the calls of its tools. It waits in its interpreter as long as it has one. In another
 * interpreter it runs again from the state before it, with the answers of its journal.
 */
export class WaitingExec implements Disposable {
  readonly program: WaitingProgram;
  /** State from which the program runs. */
  readonly base: Promise<CompressedState>;
  readonly #journal: CallJournal;
  #room: StateRoom | undefined;
  /** Milliseconds that the program has run. */
  #ranMs: number;
  #tools: readonly HostTool[] | undefined;
  #live: LiveRun | undefined;
  /** The interpreter that has the state from which the program runs. */
  #ready: GuestLink | undefined;

  constructor({ program, journal, ranMs = 0, base, room, tools }: WaitingExecParts) {
    this.program = program;
    this.base = base;
    this.#journal = journal;
    this.#room = room;
    this.#ranMs = ranMs;
    this.#tools = tools;
  }

  /**
   * Reads an exec from a checkpoint, whose state an interpreter has now.
   *
   * @throws {CheckpointError} if it is damaged.
   */
  static read(record: Uint8Array, base: CompressedState, ready: GuestLink): WaitingExec {
    const exec = new WaitingExec({ ...fromRecord(record), base: Promise.resolve(base) });
    exec.setReady(ready);
    return exec;
  }

  /** The call that waits. */
  get call(): WaitingCall | undefined {
    return this.#journal.call;
  }

  /** The exec as bytes, for a checkpoint. */
  get record(): Uint8Array<ArrayBuffer> {
    return toRecord({ program: this.program, journal: this.#journal, ranMs: this.#ranMs });
  }

  /** True if the program can go on in an interpreter, where it waits or would begin again. */
  isIn(link: GuestLink): boolean {
    return link.alive && (this.#live?.link === link || this.#ready === link);
  }

  /** Sets the interpreter that has the state from which the program runs. */
  setReady(link: GuestLink): void {
    this.#ready = link;
    this.#live = undefined;
  }

  /** Takes room for the state from which the program runs, unless it has room. */
  async hold(states: StateMemory | undefined, signal: AbortSignal | undefined): Promise<void> {
    if (this.#room || !states) return;
    const { compressed } = await this.base;
    this.#room = await states.reserve(compressed.bytes.length, signal);
  }

  /**
   * Checks what an answer is for.
   *
   * @throws {WaitingExecError} if it is for another call.
   * @throws {ArgumentTypeError} if the tools are missing.
   */
  check({ callId, tools }: Pick<ResumeOptions, "callId" | "tools">): void {
    const { call } = this;
    if (callId !== undefined && callId !== call?.callId) {
      throw new WaitingExecError(
        `Cannot resume exec as its call '${callId}' must wait: it waits for '${call?.callId}'`,
        { code: "exec_not_waiting" },
      );
    }
    this.#tools = checkTools(tools ?? this.#tools, this.program);
  }

  /**
   * Takes the answer of the call that waits.
   *
   * @throws {ArgumentTypeError | ArgumentRangeError} if it is no JSON or too large.
   */
  answer(answer: ToolAnswer): void {
    this.#journal.answer(answer);
  }

  /** Runs the program until it waits or ends: from where it waits in this interpreter, or from its start. */
  async run(
    link: GuestLink,
    options: ContinueOptions & RunLimits,
  ): Promise<WaitingStep> {
    const { limits, timeoutMs, virtual, signal, onOutput, onDisplay } = options;
    if (this.#live?.link === link) {
      this.#live.run.continue({ timeoutMs, signal, onOutput, onDisplay });
      this.#live.calls.continue();
    } else {
      // what it did before takes about as long again
      const limitMs = Math.min(timeoutMs + REPLAY_FACTOR * this.#ranMs, MAX_TIMER_MS);
      this.#live = this.#start(link, { ...options, timeoutMs: limitMs });
    }
    const named = { timeoutMs: virtual?.timeoutMs ?? timeoutMs, guardMs: timeoutMs, limits };
    return await this.#next(this.#live, named);
  }

  /** Interrupts the program where it waits, and waits until it has ended. */
  async stop(): Promise<void> {
    const live = this.#live;
    this.#live = undefined;
    if (!live?.link.alive) return;
    live.run.interrupt();
    await live.ended;
  }

  /** Frees the memory of the state. */
  [Symbol.dispose](): void {
    this.#room?.[Symbol.dispose]();
    this.#room = undefined;
  }

  #start(link: GuestLink, options: ContinueOptions & RunLimits): LiveRun {
    const { limits } = options;
    const { request, inputs, entropySeed, memoryBytes } = this.program;
    const calls = new JournaledCalls(this.#journal);
    limitMemory(link, memoryBytes, limits);
    this.#ready = undefined;
    const run = new ExecRun(link, {
      ...options,
      inputs,
      entropySeed,
      tools: calls.toTools(this.#tools ?? []),
      parse: (payload) => parseResult(payload, limits.outputBytes),
      isSeen: () => calls.isReplaying,
    });
    return { link, run, calls, ended: run.run(FrameKind.exec, request) };
  }

  async #next(
    { run, calls, ended }: LiveRun,
    options: { timeoutMs: number; guardMs: number; limits: Limits },
  ): Promise<WaitingStep> {
    const stop = await Promise.race([ended, calls.stop()]);
    if ("call" in stop) {
      const outcome = toOutcome(run.pause(), options.limits);
      this.#ranMs = outcome.durationMs;
      return { result: { ...outcome, status: "waiting", call: stop.call } };
    }
    if ("divergence" in stop) run.interrupt();
    const end = await ended;
    this.#live = undefined;
    const result = toExecResult(end, options);
    const hasEnded = end.result !== undefined && end.stopped === undefined;
    const divergence = calls.divergence ?? (hasEnded ? calls.missing() : undefined);
    return { end, result: divergence ? toDiverged(divergence, result) : result };
  }
}

function checkTools(tools: readonly HostTool[] | undefined, program: WaitingProgram): readonly HostTool[] {
  const found = new Set(tools?.map(({ name }) => name));
  const missing = program.tools.filter((name) => !found.has(name));
  if (missing.length === 0) return tools ?? [];
  throw new ArgumentTypeError(
    `Cannot resume exec as 'tools' must be those of the exec, of which a checkpoint has only the names: ` +
      `missing ${missing.map((name) => `'${name}'`).join(", ")}`,
  );
}

/** Longest arguments in the message of a divergence, in characters. */
const MAX_SHOWN = 200;

function toDiverged({ call, found }: Divergence, { status: _, ...result }: ExecResult): ExecResult {
  const second = found ? `is ${shown(found)}` : "the program ended without it";
  const error = hostError(
    "DivergedError",
    `the second run of the program differs from its first: ${call.callId} was ${shown(call)}, and ${second}`,
  );
  const { stdout, stderr, durationMs, stateKept, truncated, display } = result;
  return {
    stdout,
    stderr,
    durationMs,
    stateKept,
    truncated,
    ...(display && { display }),
    status: "diverged",
    call,
    error,
  };
}

function shown({ name, arguments: args }: Omit<WaitingCall, "callId">): string {
  const text = JSON.stringify(args, writeIntegers);
  return `${name}(${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text})`;
}
