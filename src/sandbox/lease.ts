import { SessionClosedError } from "../errors.ts";
import type {
  BranchingLease,
  BranchingSession,
  Checkpoint,
  CheckpointOptions,
  ExecOptions,
  ExecResult,
  ForkOptions,
  PythonSession,
  ResetOptions,
  SessionLease,
  ShellOptions,
  ShellResult,
} from "./exec.ts";

/** The end of a lease: it aborts what still runs, and returns the session to its pool. */
class LeaseEnd implements AsyncDisposable {
  readonly #release: () => void;
  readonly #ended = new AbortController();

  constructor(release: () => void) {
    this.#release = release;
  }

  /** What the leased session needs of its lease. */
  protected get parts(): LeaseParts {
    return { ended: this.#ended.signal, endLease: () => this[Symbol.asyncDispose]() };
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

/**
 * A session that is leased from a server. After the lease is disposed, every call of the session throws
 * {@linkcode SessionClosedError}.
 */
export class PlainLease extends LeaseEnd implements SessionLease {
  /** The leased session. Disposing it also ends the lease. */
  readonly session: PythonSession;

  constructor(session: PythonSession, release: () => void) {
    super(release);
    this.session = new LeasedSession(session, this.parts);
  }
}

/** Options of a {@linkcode Lease}. */
export interface LeaseOptions extends Pick<ExecOptions, "then"> {
  readonly fork?: BranchingSession["fork"];
}

/**
 * A session that is leased from a pool of this process. After the lease is disposed, every call of the session throws
 * {@linkcode SessionClosedError}.
 */
export class Lease extends LeaseEnd implements BranchingLease {
  /** The leased session. Disposing it also ends the lease. */
  readonly session: BranchingSession;

  /**
   * With `then`, each exec of the lease has this option. `fork` makes copies of the session.
   *
   * @default `fork` is that of the session
   */
  constructor(
    session: BranchingSession,
    release: () => void,
    { then, fork = session.fork.bind(session) }: LeaseOptions = {},
  ) {
    super(release);
    this.session = new LeasedBranchingSession(session, { ...this.parts, then }, fork);
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

class LeasedSession implements PythonSession {
  readonly #session: PythonSession;
  readonly #parts: LeaseParts;

  constructor(session: PythonSession, parts: LeaseParts) {
    this.#session = session;
    this.#parts = parts;
  }

  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    const signal = this.withLeaseSignal(options.signal);
    return await this.#session.exec(code, { ...options, then: options.then ?? this.#parts.then, signal });
  }

  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    return await this.#session.shell(command, { ...options, signal: this.withLeaseSignal(options.signal) });
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.endLease();
  }

  /** Returns a signal that also aborts at the end of the lease. Throws if that is over. */
  protected withLeaseSignal(signal: AbortSignal | undefined): AbortSignal {
    const { ended } = this.#parts;
    ended.throwIfAborted();
    return signal ? AbortSignal.any([signal, ended]) : ended;
  }
}

class LeasedBranchingSession extends LeasedSession implements BranchingSession {
  readonly #session: BranchingSession;
  readonly #fork: BranchingSession["fork"];

  constructor(session: BranchingSession, parts: LeaseParts, fork: BranchingSession["fork"]) {
    super(session, parts);
    this.#session = session;
    this.#fork = fork;
  }

  async checkpoint(options: CheckpointOptions = {}): Promise<Checkpoint> {
    return await this.#session.checkpoint({ ...options, signal: this.withLeaseSignal(options.signal) });
  }

  async restore(checkpoint: Checkpoint, options: CheckpointOptions = {}): Promise<void> {
    await this.#session.restore(checkpoint, { ...options, signal: this.withLeaseSignal(options.signal) });
  }

  async fork(count: number, options: ForkOptions = {}): Promise<BranchingLease[]> {
    return await this.#fork(count, { ...options, signal: this.withLeaseSignal(options.signal) });
  }
}
