import { CheckpointError, WaitingExecError } from "../../errors.ts";
import { deriveSeed } from "../../seeded_random.ts";
import {
  type CheckpointScope,
  type CompressedState,
  compressState,
  sealCompressed,
  type SealedCheckpoint,
} from "../checkpoint/checkpoint.ts";
import type { CapturedState } from "../checkpoint/state.ts";
import { type StateMemory, statesOf } from "../checkpoint/state_memory.ts";
import type { ExecOptions, ExecResult, ResumeOptions, ToolAnswer, WaitingCall } from "../contract/exec.ts";
import type { EncodedOptions } from "../exec/exec_request.ts";
import type { ExecEnd, VirtualTime } from "../exec/exec_run.ts";
import { getFiles, putFiles } from "../guest_files.ts";
import type { GuestLink } from "../guest_link.ts";
import type { Interpreter } from "../interpreter.ts";
import type { Limits } from "../profile/schema.ts";
import { CallJournal } from "./journal.ts";
import { toProgram, type WaitingProgram } from "./program.ts";
import { WaitingExec } from "./waiting_exec.ts";

/** Parts of the session whose execs wait. Its calls must not overlap. */
export interface WaitingExecsParts {
  readonly interpreter: Interpreter;
  scope(): Promise<CheckpointScope>;
  /** Returns the limits of a call in the time of this machine. */
  limits(options: Pick<ExecOptions, "timeoutMs">): {
    readonly limits: Limits;
    readonly residentBytes: number | undefined;
    readonly timeoutMs: number;
    readonly virtual?: VirtualTime | undefined;
  };
  /** Captures the state of the session. */
  capture(
    link: GuestLink,
    options: { states: StateMemory; signal: AbortSignal | undefined },
  ): Promise<CapturedState>;
  /** Replaces the state of the session. */
  restore(state: Uint8Array): Promise<unknown>;
  /** Ends an exec of the session, and throws the errors of its caller. */
  finish(
    link: GuestLink,
    end: ExecEnd,
    options: { program: WaitingProgram; result: ExecResult; signal: AbortSignal | undefined },
  ): Promise<void>;
}

/**
 * The execs of a session that wait at calls of tools. A single exec waits at a time, and nothing else runs meanwhile.
 */
export class WaitingExecs implements Disposable {
  readonly #parts: WaitingExecsParts;
  #current: WaitingExec | undefined;
  #seed: number | undefined;
  /** Number of execs since the session has its seed. */
  #count = 0;

  constructor(parts: WaitingExecsParts, seed: number | undefined) {
    this.#parts = parts;
    this.#seed = seed;
  }

  /** The call that an exec waits for. */
  get call(): WaitingCall | undefined {
    return this.#current?.call;
  }

  /** @throws {WaitingExecError} if an exec waits. */
  requireNone(): void {
    const call = this.#current?.call;
    if (!call) return;
    throw new WaitingExecError(
      `Cannot use session as its exec waits for the answer to '${call.callId}' (${call.name}): resume or reset it first`,
      { code: "exec_waiting" },
    );
  }

  /** Runs a program until it waits for a call or ends. */
  async start(
    code: string,
    options: EncodedOptions,
  ): Promise<ExecResult> {
    const { interpreter } = this.#parts;
    const { tools, files } = options;
    const { limits } = this.#parts.limits(options);
    const program = toProgram(code, options, { entropySeed: this.#nextSeed(), limits });
    const link = await interpreter.ensure();
    if (files) await putFiles(link, files);
    const { base, room } = await this.#captureBase(link, options);
    const exec = new WaitingExec({ program, journal: new CallJournal(), base, room, tools });
    return await this.#run(exec, link, options);
  }

  /**
   * Answers the call that the exec waits for, and runs its program until it waits again or ends.
   *
   * @throws {WaitingExecError} if no exec waits, or an exec for another call.
   */
  async resume(answer: ToolAnswer, options: ResumeOptions): Promise<ExecResult> {
    const exec = this.#current;
    if (!exec) {
      throw new WaitingExecError("Cannot resume exec as none of the session waits for the answer to a call", {
        code: "exec_not_waiting",
      });
    }
    exec.check(options);
    const { captures = {}, signal } = options;
    await exec.hold(statesOf(captures), signal);
    const link = await this.#readyFor(exec, captures.owner);
    exec.answer(answer);
    return await this.#run(exec, link, options);
  }

  /** Returns a checkpoint of the exec that waits; `undefined` if none does. */
  async seal(
    { owner, digest }: { owner: string; digest: string | undefined },
  ): Promise<SealedCheckpoint | undefined> {
    const exec = this.#current;
    if (!exec) return undefined;
    const { program: { tools }, record: waiting } = exec;
    return await sealCompressed(await exec.base, await this.#parts.scope(), {
      owner,
      tools,
      digest,
      waiting,
    });
  }

  /**
   * Continues the exec of a checkpoint, whose state the session has now.
   *
   * @throws {CheckpointError} if it is damaged.
   */
  async read(record: Uint8Array, base: CompressedState): Promise<void> {
    this.#current = WaitingExec.read(record, base, await this.#parts.interpreter.ensure());
  }

  /** Ends the exec that waits. */
  async end(): Promise<void> {
    const exec = this.#current;
    this[Symbol.dispose]();
    await exec?.stop();
  }

  /** Sets the seed of the session, from which programs get their random numbers. */
  setSeed(seed: number | undefined): void {
    this.#seed = seed;
    this.#count = 0;
  }

  [Symbol.dispose](): void {
    this.#current?.[Symbol.dispose]();
    this.#current = undefined;
  }

  #nextSeed(): number {
    return this.#seed === undefined ? randomSeed() : deriveSeed(this.#seed, this.#count++);
  }

  /** Captures the state from which a program can run again. It is compressed while the program runs. */
  async #captureBase(link: GuestLink, { captures = {}, signal }: Pick<ExecOptions, "captures" | "signal">) {
    const { owner = "" } = captures;
    const scope = await this.#parts.scope();
    const states = statesOf(captures) ?? scope.compressor.memoryOf(owner);
    const { bytes, room } = await this.#parts.capture(link, { states, signal });
    const base = compressState(bytes, scope, { owner }).then((state) => {
      room?.shrink(state.compressed.bytes.length);
      return state;
    });
    base.catch(() => {}); // a checkpoint reports the error
    return { base, room };
  }

  /**
   * Returns the interpreter in which an exec can go on. If it waits in none, the interpreter gets the state before it.
   */
  async #readyFor(exec: WaitingExec, owner = ""): Promise<GuestLink> {
    const { interpreter, scope, restore } = this.#parts;
    const link = await interpreter.ensure();
    if (exec.isIn(link)) return link;
    const { compressor } = await scope();
    const { compressed, stateBytes } = await exec.base;
    await restore(await compressor.expand(compressed, { owner, stateBytes }));
    const restored = await interpreter.ensure();
    exec.setReady(restored);
    return restored;
  }

  async #run(exec: WaitingExec, start: GuestLink, options: ExecOptions | ResumeOptions): Promise<ExecResult> {
    this.#current = undefined;
    const { interpreter, limits, finish } = this.#parts;
    const { timeoutMs = exec.program.timeoutMs, signal, onOutput, onDisplay, captures } = options;
    const run = async (link: GuestLink) => ({
      link,
      ...await exec.run(link, { signal, onOutput, onDisplay, ...limits({ timeoutMs }) }),
    });
    let step = await run(start);
    if (isKilledByOthers(step.end)) step = await run(await this.#readyFor(exec, captures?.owner));
    const { link, result, end } = step;
    interpreter.noteLoss(result);
    if (!end) {
      this.#current = exec;
      return result;
    }
    exec[Symbol.dispose]();
    const { fetchFiles } = exec.program;
    if (link.alive && fetchFiles) result.files = await getFiles(link, fetchFiles);
    await finish(link, end, { program: exec.program, result, signal });
    return result;
  }
}

/** Returns the error of a checkpoint whose exec waits, and that is restored with other random numbers. */
export function refuseReseeding(): CheckpointError {
  return new CheckpointError(
    "Cannot restore checkpoint with other random numbers as its exec waits: the program would differ from its first run",
    { code: "checkpoint_refused" },
  );
}

/** True if an interpreter ended through no fault of its program, which can then run again. */
function isKilledByOthers(end: ExecEnd | undefined): boolean {
  if (end?.termination === undefined || end.stopped !== undefined || end.failure) return false;
  return end.termination.reason === "collateral" || end.termination.signal === "SIGKILL";
}

/** Returns a seed that cannot be guessed. */
function randomSeed(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high % 2 ** 21) * 2 ** 32 + low;
}
