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

/** A session on loan from a pool: it answers until it is given back, and then no more. */
export class Lease implements SessionLease {
  readonly session: PythonSession;
  readonly #giveBack: () => void;
  readonly #end = new AbortController();

  constructor(session: PythonSession, giveBack: () => void) {
    this.session = new LeasedSession(session, this.#end.signal, () => this[Symbol.asyncDispose]());
    this.#giveBack = giveBack;
  }

  /** Stops what still runs and gives the session back; it is wiped before anybody else has it. */
  [Symbol.asyncDispose](): Promise<void> {
    if (!this.#end.signal.aborted) {
      this.#end.abort(new SessionClosedError("Cannot use session as its lease is over"));
      this.#giveBack();
    }
    return Promise.resolve();
  }
}

class LeasedSession implements PythonSession {
  readonly #session: PythonSession;
  readonly #over: AbortSignal;
  readonly #end: () => Promise<void>;

  constructor(session: PythonSession, over: AbortSignal, end: () => Promise<void>) {
    this.#session = session;
    this.#over = over;
    this.#end = end;
  }

  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    return await this.#session.exec(code, { ...options, signal: this.#untilOver(options.signal) });
  }

  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    return await this.#session.shell(command, { ...options, signal: this.#untilOver(options.signal) });
  }

  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    this.#over.throwIfAborted();
    await this.#session.writeFile(path, contents);
  }

  async readFile(path: string): Promise<Uint8Array> {
    this.#over.throwIfAborted();
    return await this.#session.readFile(path);
  }

  async reset(options?: ResetOptions): Promise<void> {
    this.#over.throwIfAborted();
    await this.#session.reset(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  #untilOver(signal: AbortSignal | undefined): AbortSignal {
    this.#over.throwIfAborted();
    return signal ? AbortSignal.any([signal, this.#over]) : this.#over;
  }
}
