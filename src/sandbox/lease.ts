import { checkOptionNames } from "./contract/known_options.ts";
import { SessionClosedError } from "../errors.ts";
import type { RecoveryOptions } from "./checkpoint/recovery.ts";
import type { CaptureOptions, Checkpoint, ForkOptions, RestoreOptions } from "./contract/checkpoint.ts";
import type { ExecOptions, ExecResult, ResumeOptions, ToolAnswer, WaitingCall } from "./contract/exec.ts";
import type { BranchingLease, BranchingSession, ResetOptions } from "./contract/pool.ts";
import type { ShellOptions, ShellResult } from "./contract/shell.ts";

/** Options of a {@linkcode Lease}. */
export interface LeaseOptions extends Pick<ExecOptions, "then"> {
  readonly fork?: BranchingSession["fork"];
  readonly recovery?: Recoverable | undefined;
}

/** A session that can return to checkpoints that it takes by itself. */
export interface Recoverable {
  /** Lets it return to a checkpoint when its interpreter is lost. Without options, it starts again then. */
  setRecovery(options: RecoveryOptions | undefined): void;
  /** Takes a checkpoint now, unless nothing has happened since the last checkpoint. */
  takeCheckpoint(): Promise<void>;
}

/**
 * A session that is leased from a pool. After the lease is disposed, every call of the session throws
 * {@linkcode SessionClosedError}.
 */
export class Lease implements BranchingLease {
  /** The leased session. Disposing it also ends the lease. */
  readonly session: BranchingSession;
  /** Checkpoints that the session takes by itself; `undefined` if it cannot. */
  readonly recovery: Recoverable | undefined;
  readonly #release: () => void;
  readonly #ended = new AbortController();

  /**
   * With `then`, each exec of the lease has this option. `fork` makes copies of the session.
   *
   * @default `fork` is the method of the session
   */
  constructor(
    session: BranchingSession,
    release: () => void,
    { then, recovery, fork = session.fork.bind(session) }: LeaseOptions = {},
  ) {
    this.recovery = recovery;
    this.#release = release;
    const parts = { ended: this.#ended.signal, endLease: () => this[Symbol.asyncDispose](), then };
    this.session = new LeasedSession(session, parts, fork);
  }

  /** Aborts what still runs and returns the session to the pool, which resets it before the next lease. */
  [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended.signal.aborted) {
      this.#ended.abort(new SessionClosedError("Cannot use session as its lease is over"));
      this.#release();
    }
    return Promise.resolve();
  }
}

/** Returns a lease after `start`. If that fails, disposes the lease. */
export async function disposeUnless<L extends AsyncDisposable>(lease: L, start: Promise<void>): Promise<L> {
  try {
    await start;
    return lease;
  } catch (error) {
    await lease[Symbol.asyncDispose]();
    throw error;
  }
}

interface LeaseParts extends Pick<ExecOptions, "then"> {
  readonly ended: AbortSignal;
  readonly endLease: () => Promise<void>;
}

class LeasedSession implements BranchingSession {
  readonly #session: BranchingSession;
  readonly #parts: LeaseParts;
  readonly #fork: BranchingSession["fork"];

  constructor(session: BranchingSession, parts: LeaseParts, fork: BranchingSession["fork"]) {
    this.#session = session;
    this.#parts = parts;
    this.#fork = fork;
  }

  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    const signal = this.#withLeaseSignal(options.signal);
    return await this.#session.exec(code, { ...options, then: options.then ?? this.#parts.then, signal });
  }

  async resume(answer: ToolAnswer, options: ResumeOptions = {}): Promise<ExecResult> {
    return await this.#session.resume(answer, { ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async waitingCall(): Promise<WaitingCall | undefined> {
    this.#parts.ended.throwIfAborted();
    return await this.#session.waitingCall();
  }

  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    return await this.#session.shell(command, { ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    this.#parts.ended.throwIfAborted();
    await this.#session.writeFile(path, contents);
  }

  async readFile(path: string): Promise<Uint8Array> {
    this.#parts.ended.throwIfAborted();
    return await this.#session.readFile(path);
  }

  async reset(options?: ResetOptions): Promise<void> {
    this.#parts.ended.throwIfAborted();
    await this.#session.reset(options);
  }

  async checkpoint(options: CaptureOptions = {}): Promise<Checkpoint> {
    return await this.#session.checkpoint({ ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async restore(checkpoint: Checkpoint, options: RestoreOptions = {}): Promise<void> {
    await this.#session.restore(checkpoint, { ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async fork(count: number, options: ForkOptions = {}): Promise<BranchingLease[]> {
    checkOptionNames("fork", options);
    return await this.#fork(count, { ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.endLease();
  }

  /** Returns a signal that also aborts at the end of the lease. Throws if that is over. */
  #withLeaseSignal(signal: AbortSignal | undefined): AbortSignal {
    const { ended } = this.#parts;
    ended.throwIfAborted();
    return signal ? AbortSignal.any([signal, ended]) : ended;
  }
}
