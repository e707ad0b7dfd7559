import { SessionClosedError } from "../errors.ts";
import type {
  ExecOptions,
  ExecResult,
  PythonSession,
  ResetOptions,
  SessionLease,
  ShellOptions,
  ShellResult,
} from "./exec.ts";

/**
 * A session that is leased from a pool. After the lease is disposed, every call of the session throws
 * {@linkcode SessionClosedError}.
 */
export class Lease implements SessionLease {
  /** The leased session. Disposing it also ends the lease. */
  readonly session: PythonSession;
  readonly #release: () => void;
  readonly #ended = new AbortController();

  /** With `then`, each exec of the lease has this option. */
  constructor(session: PythonSession, release: () => void, options: Pick<ExecOptions, "then"> = {}) {
    const endLease = () => this[Symbol.asyncDispose]();
    this.session = new LeasedSession(session, { ended: this.#ended.signal, endLease, ...options });
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

class LeasedSession implements PythonSession {
  readonly #session: PythonSession;
  readonly #ended: AbortSignal;
  readonly #endLease: () => Promise<void>;
  readonly #then: ExecOptions["then"];

  constructor(
    session: PythonSession,
    { ended, endLease, then }:
      & { ended: AbortSignal; endLease: () => Promise<void> }
      & Pick<ExecOptions, "then">,
  ) {
    this.#session = session;
    this.#ended = ended;
    this.#endLease = endLease;
    this.#then = then;
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endLease();
  }

  #withLeaseSignal(signal: AbortSignal | undefined): AbortSignal {
    this.#ended.throwIfAborted();
    return signal ? AbortSignal.any([signal, this.#ended]) : this.#ended;
  }
}
