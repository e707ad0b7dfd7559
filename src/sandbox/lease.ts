import { SessionClosedError } from "../errors.ts";
import type {
  BranchingLease,
  BranchingSession,
  Checkpoint,
  CheckpointOptions,
  ExecOptions,
  ExecResult,
  ForkOptions,
  ResetOptions,
  ShellOptions,
  ShellResult,
} from "./exec.ts";

/** Options of a {@linkcode Lease}. */
export interface LeaseOptions extends Pick<ExecOptions, "then"> {
  readonly fork?: BranchingSession["fork"];
}

/**
 * A session that is leased from a pool. After the lease is disposed, every call of the session throws
 * {@linkcode SessionClosedError}.
 */
export class Lease implements BranchingLease {
  /** The leased session. Disposing it also ends the lease. */
  readonly session: BranchingSession;
  readonly #release: () => void;
  readonly #ended = new AbortController();

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
    const endLease = () => this[Symbol.asyncDispose]();
    this.session = new LeasedSession(session, { ended: this.#ended.signal, endLease, then, fork });
    this.#release = release;
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

interface LeaseParts extends Required<Pick<LeaseOptions, "fork">>, Pick<LeaseOptions, "then"> {
  readonly ended: AbortSignal;
  readonly endLease: () => Promise<void>;
}

class LeasedSession implements BranchingSession {
  readonly #session: BranchingSession;
  readonly #ended: AbortSignal;
  readonly #endLease: () => Promise<void>;
  readonly #then: ExecOptions["then"];
  readonly #fork: BranchingSession["fork"];

  constructor(session: BranchingSession, { ended, endLease, then, fork }: LeaseParts) {
    this.#session = session;
    this.#ended = ended;
    this.#endLease = endLease;
    this.#then = then;
    this.#fork = fork;
  }

  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    const signal = this.#withLeaseSignal(options.signal);
    return await this.#session.exec(code, { ...options, then: options.then ?? this.#then, signal });
  }

  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    return await this.#session.shell(command, { ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    this.#ended.throwIfAborted();
    await this.#session.writeFile(path, contents);
  }

  async readFile(path: string): Promise<Uint8Array> {
    this.#ended.throwIfAborted();
    return await this.#session.readFile(path);
  }

  async reset(options?: ResetOptions): Promise<void> {
    this.#ended.throwIfAborted();
    await this.#session.reset(options);
  }

  async checkpoint(options: CheckpointOptions = {}): Promise<Checkpoint> {
    return await this.#session.checkpoint({ ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async restore(checkpoint: Checkpoint, options: CheckpointOptions = {}): Promise<void> {
    await this.#session.restore(checkpoint, { ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async fork(count: number, options: ForkOptions = {}): Promise<BranchingLease[]> {
    return await this.#fork(count, { ...options, signal: this.#withLeaseSignal(options.signal) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endLease();
  }

  #withLeaseSignal(signal: AbortSignal | undefined): AbortSignal {
    this.#ended.throwIfAborted();
    return signal ? AbortSignal.any([signal, this.#ended]) : this.#ended;
  }
}
