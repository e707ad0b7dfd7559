import type { ExecOptions, ExecResult, PythonSession, ResetOptions, SessionLease } from "./exec.ts";

/** A session on loan from a pool: it answers until it is given back, and then no more. */
export class Lease implements SessionLease {
  readonly session: PythonSession;
  readonly #giveBack: () => void;
  #over = false;

  constructor(session: PythonSession, giveBack: () => void) {
    this.session = new LeasedSession(session, () => this.#check(), () => this[Symbol.asyncDispose]());
    this.#giveBack = giveBack;
  }

  /** Gives the session back; what it was used for is wiped before anybody else has it. */
  [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over) this.#giveBack();
    this.#over = true;
    return Promise.resolve();
  }

  #check(): void {
    if (this.#over) throw new Error("Cannot use session as its lease is over");
  }
}

class LeasedSession implements PythonSession {
  readonly #session: PythonSession;
  readonly #check: () => void;
  readonly #end: () => Promise<void>;

  constructor(session: PythonSession, check: () => void, end: () => Promise<void>) {
    this.#session = session;
    this.#check = check;
    this.#end = end;
  }

  async exec(code: string, options?: ExecOptions): Promise<ExecResult> {
    this.#check();
    return await this.#session.exec(code, options);
  }

  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    this.#check();
    await this.#session.writeFile(path, contents);
  }

  async readFile(path: string): Promise<Uint8Array> {
    this.#check();
    return await this.#session.readFile(path);
  }

  async reset(options?: ResetOptions): Promise<void> {
    this.#check();
    await this.#session.reset(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }
}
