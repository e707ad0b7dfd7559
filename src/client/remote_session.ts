import { SerialQueue } from "../async/semaphore.ts";
import { ArgumentTypeError, SessionClosedError } from "../errors.ts";
import type {
  ExecOptions,
  ExecResult,
  PythonSession,
  ResetOptions,
  ShellOptions,
  ShellResult,
} from "../sandbox/exec.ts";
import {
  checkContents,
  checkExec,
  checkPath,
  checkResetMode,
  checkSeed,
  checkTimeout,
} from "../sandbox/exec_check.ts";
import { filesWritten, toBase64Files } from "../wire/v1.ts";
import { toExecRequest } from "./exec_body.ts";
import { readOutput } from "./output_events.ts";
import { emptyResponse, execResponse, shellResponse } from "./responses.ts";
import type { ServerApi } from "./server_api.ts";

/**
 * A session of a server's. What is asked of it is done one after the other, in the order of the calls; it throws
 * what a local one throws.
 */
export class RemoteSession implements PythonSession {
  readonly #api: ServerApi;
  readonly #path: string;
  readonly #over = new AbortController();
  readonly #queue = new SerialQueue();

  constructor(api: ServerApi, id: string) {
    this.#api = api;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
  }

  /** {@inheritDoc PythonSession.exec} */
  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    const { timeoutMs, signal, onOutput } = options;
    checkRemoteExec(code, options);
    const body = toExecRequest(code, options);
    return await this.#enqueue(signal, async (signal) => {
      const asked = { doing: "exec", timeoutMs, signal };
      if (!onOutput) {
        return await this.#api.post(`${this.#path}/exec`, body, { ...asked, answer: execResponse });
      }
      const read = (events: AsyncIterable<Uint8Array<ArrayBuffer>>) => readOutput("exec", events, onOutput);
      return await this.#api.stream(`${this.#path}/stream`, body, { ...asked, read });
    });
  }

  /** {@inheritDoc PythonSession.shell} */
  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    const { timeoutMs, silenceMs, stdin, signal, onOutput } = options;
    checkTimeout(silenceMs, "silenceMs");
    checkRemoteExec(command, { timeoutMs, stdin, signal });
    const asked = { doing: "run command", timeoutMs, answer: shellResponse };
    const body = { command, timeoutMs, silenceMs, stdin };
    const result = await this.#enqueue(
      signal,
      (signal) => this.#api.post(`${this.#path}/shell`, body, { ...asked, signal }),
    );
    if (result.stdout !== "") onOutput?.("stdout", result.stdout);
    if (result.stderr !== "") onOutput?.("stderr", result.stderr);
    return result;
  }

  /** {@inheritDoc PythonSession.writeFile} */
  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    checkPath(path);
    checkContents(path, contents);
    const body = { files: toBase64Files({ [path]: contents }) };
    const asked = { doing: `write '${path}'`, answer: filesWritten };
    await this.#enqueue(
      undefined,
      (signal) => this.#api.post(`${this.#path}/files`, body, { ...asked, signal }),
    );
  }

  /** {@inheritDoc PythonSession.readFile} */
  async readFile(path: string): Promise<Uint8Array> {
    checkPath(path);
    const asked = `${this.#path}/file?path=${encodeURIComponent(path.toWellFormed())}`;
    const doing = `read '${path}'`;
    return await this.#enqueue(undefined, (signal) => this.#api.get(asked, { doing, signal }));
  }

  /** {@inheritDoc PythonSession.reset} */
  async reset(options: ResetOptions = {}): Promise<void> {
    const { mode, seed, signal } = options;
    checkResetMode(mode);
    checkSeed(seed);
    const asked = { doing: "reset session", answer: emptyResponse };
    await this.#enqueue(
      signal,
      (signal) => this.#api.post(`${this.#path}/reset`, { mode, seed }, { ...asked, signal }),
    );
  }

  /** Ends it, and whatever it was asked for; the server is told in the background. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new SessionClosedError("Cannot use session as its lease is over"));
    this.#api.end(this.#path);
    return Promise.resolve();
  }

  /** Runs `work` when all earlier work has ended, with a signal that the end of the lease aborts too. */
  async #enqueue<T>(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const over = this.#over.signal;
    const either = signal ? AbortSignal.any([signal, over]) : over;
    return await this.#queue.run(() => work(either), { signal: either });
  }
}

/** Throws what a local session throws before anything starts; host tools stay on the host. */
export function checkRemoteExec(code: string, options: ExecOptions): void {
  if (options.tools !== undefined && options.tools.length > 0) {
    throw new ArgumentTypeError(
      `Cannot grant host tools as the session must be in a sandbox of this process: it is a server's`,
    );
  }
  if (options.argv !== undefined) {
    throw new ArgumentTypeError("Cannot exec as 'argv' must be left out for a session of a server");
  }
  checkExec(code, options, { name: "server", hostTools: false });
}
