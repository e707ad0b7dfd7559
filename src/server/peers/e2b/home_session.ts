import { pythonStr } from "../../../tools/python_repr.ts";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";
import type { ShellOptions, ShellResult } from "../../../sandbox/contract/shell.ts";
import type { LiveExecOptions, LiveSession } from "../../sessions/live_session.ts";

/** Home directory of E2B's sandboxes. */
export const E2B_HOME = "/home/user";

/** A session that has E2B's home directory and the environment variables of the sandbox. */
export class HomeSession {
  readonly session: LiveSession;
  /** Environment variables of the sandbox. */
  readonly envVars: Readonly<Record<string, string>>;
  /** Program that makes the home directory and sets the variables. */
  readonly #prepare: string;
  /** Program that the interpreter still needs. */
  #missing: string | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #running = new Set<Promise<unknown>>();
  #busyMs = 0;

  /**
   * @param options.isPrepared true if the interpreter has the home directory and the variables, as the interpreter of an
   * earlier server
   * @param options.continues true if the interpreter has the state of another sandbox, which needs only the variables
   */
  constructor(
    session: LiveSession,
    envVars: Readonly<Record<string, string>>,
    { cwd = E2B_HOME, isPrepared = false, continues = false }: {
      cwd?: string;
      isPrepared?: boolean;
      continues?: boolean;
    } = {},
  ) {
    this.session = session;
    this.envVars = envVars;
    const setVariables = (variables: Readonly<Record<string, string>>) =>
      `${os}.environ.update(${pythonStr(variables)})\nNone`;
    const [os, folders] = [`__import__("os")`, [E2B_HOME, cwd]];
    this.#prepare = [
      `${os}.umask(0o22)`,
      `[${os}.makedirs(folder, 0o755, True) for folder in ${pythonStr(folders)}]`,
      `${os}.chdir(*${pythonStr([cwd])})`,
      setVariables({ HOME: E2B_HOME, ...envVars }),
    ].join("\n");
    if (!isPrepared) this.#missing = continues ? setVariables(envVars) : this.#prepare;
  }

  /**
   * Calls back after each program and command, which may have changed files. Returns a function that ends the
   * callbacks, and returns true at the first call.
   */
  onChange(listener: () => void): () => boolean {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Time that programs and commands of the session have run, in milliseconds. */
  get busyMs(): number {
    return this.#busyMs;
  }

  /** True if the interpreter has the home directory and the variables. */
  get isPrepared(): boolean {
    return this.#missing === undefined;
  }

  /** True if the interpreter has the home directory. */
  get hasHome(): boolean {
    return this.#missing !== this.#prepare;
  }

  /** Resolves when no program or command of the session runs. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /** Makes the home directory and sets the variables, if a new interpreter needs them. */
  async prepare(): Promise<ExecResult | undefined> {
    const missing = this.#missing;
    if (missing === undefined) return undefined;
    this.#missing = undefined;
    return await this.session.exec(missing, { timeoutMs: 10_000 });
  }

  /** Runs a program, as {@linkcode LiveSession.exec} does. */
  async exec(code: string, options: LiveExecOptions = {}): Promise<ExecResult> {
    return await this.#run(() => this.session.exec(code, options));
  }

  /** Runs a program that changes no file. */
  async query(code: string, options: LiveExecOptions = {}): Promise<ExecResult> {
    return await this.#run(() => this.session.exec(code, options), { isQuery: true });
  }

  /** Runs a command, as {@linkcode LiveSession.shell} does. */
  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    return await this.#run(() => this.session.shell(command, options));
  }

  /** Resets the interpreter. */
  async reset(signal: AbortSignal): Promise<void> {
    await this.session.reset({ signal });
    this.beginAnew();
  }

  /** Makes the home directory and sets the variables before the next program, as the interpreter is fresh then. */
  beginAnew(): void {
    this.#missing = this.#prepare;
  }

  async #run<Result extends ExecResult | ShellResult>(
    run: () => Promise<Result>,
    { isQuery = false } = {},
  ): Promise<Result> {
    const running = this.#runPrepared(run);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      if (!isQuery) this.#listeners.forEach((listener) => listener());
    }
  }

  async #runPrepared<Result extends ExecResult | ShellResult>(run: () => Promise<Result>): Promise<Result> {
    await this.prepare();
    const result = await run();
    if (!result.stateKept) this.#missing = this.#prepare;
    this.#busyMs += result.durationMs;
    return result;
  }
}
