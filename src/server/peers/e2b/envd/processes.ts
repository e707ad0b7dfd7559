import { Code, ConnectError } from "@connectrpc/connect";
import type { ShellResult } from "../../../../sandbox/contract/shell.ts";
import { MAX_TIMEOUT_MS } from "../../../../wire/limits.ts";
import type { Account, BudgetLease } from "../../../admission/budget.ts";
import { ServerError } from "../../../http/http_errors.ts";
import { toConnectError } from "./connect_error.ts";
import { EventQueue, type ProcessOutput } from "./event_queue.ts";
import { E2B_HOME, type HomeSession } from "../home_session.ts";

/** A command, in the client's form. */
export interface CommandConfig {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** Options of {@linkcode Processes.start}. */
export interface StartOptions {
  readonly tag?: string | undefined;
  /** True if the command reads input, which clients send. */
  readonly stdin: boolean;
  readonly timeoutMs?: number | undefined;
  /** Memory of the owner, which input and unread output take. */
  readonly memory: Account;
}

/** Commands of a sandbox that run or wait. */
const MAX_PROCESSES = 64;
/** Names of variables that a shell has. */
const SHELL_NAME = /^[A-Za-z_]\w*$/;
const MAX_STDIN_BYTES = 4 * 1024 * 1024;
/** Milliseconds without further input after which a command runs with the input so far. */
const STDIN_QUIET_MS = 500;

/**
 * A command of a sandbox. The shell runs one command at a time, so a command may wait for others. A command reads
 * input as a whole, and starts when the input is closed, or when no more input follows the first input.
 */
export class ShellProcess {
  readonly pid: number;
  readonly config: CommandConfig;
  readonly tag: string | undefined;
  readonly #queues = new Set<EventQueue>();
  readonly #kill = new AbortController();
  readonly #input: BudgetLease | undefined;
  readonly #inputReady = Promise.withResolvers<void>();
  #pieces: Uint8Array[] = [];
  #inputBytes = 0;
  #isInputClosed: boolean;
  #quietTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(pid: number, config: CommandConfig, { tag, stdin, memory }: StartOptions) {
    this.pid = pid;
    this.config = config;
    this.tag = tag;
    this.#isInputClosed = !stdin;
    this.#input = stdin ? memory.take(0) : undefined;
    if (!stdin) this.#inputReady.resolve();
  }

  /** Returns a queue of further output, which the caller disposes. */
  subscribe(memory: Account): EventQueue {
    const queue = new EventQueue(memory, () => this.#queues.delete(queue));
    this.#queues.add(queue);
    return queue;
  }

  /** @throws {ConnectError} if the command reads no more input, or has too much input. */
  write(data: Uint8Array): void {
    if (this.#isInputClosed) {
      throw new ConnectError("the stdin of the process is closed", Code.FailedPrecondition);
    }
    this.#inputBytes += data.length;
    if (this.#inputBytes > MAX_STDIN_BYTES) {
      throw new ConnectError(`stdin must have at most ${MAX_STDIN_BYTES} bytes`, Code.ResourceExhausted);
    }
    this.#input?.grow(data.length);
    this.#pieces.push(data);
    clearTimeout(this.#quietTimer);
    this.#quietTimer = setTimeout(() => this.closeInput(), STDIN_QUIET_MS);
  }

  /** Ends the input, so that the command runs. */
  closeInput(): void {
    this.#isInputClosed = true;
    clearTimeout(this.#quietTimer);
    this.#inputReady.resolve();
  }

  /** Ends the command. */
  kill(): void {
    this.#kill.abort(new DOMException("The process is killed", "AbortError"));
    this.closeInput();
  }

  /** Runs the command to the end, and tells the clients. */
  async run(home: HomeSession, timeoutMs: number): Promise<void> {
    const signal = AbortSignal.any([this.#kill.signal, home.session.life.endSignal]);
    const onEnd = () => this.#inputReady.resolve();
    signal.addEventListener("abort", onEnd);
    try {
      await this.#inputReady.promise;
      signal.throwIfAborted();
      const stdin = await new Blob(this.#pieces as Uint8Array<ArrayBuffer>[]).text();
      const onOutput = (stream: "stdout" | "stderr", text: string) => this.#send(stream, text);
      const result = await home.shell(toCommandLine(this.config, home.envVars), {
        timeoutMs,
        signal,
        stdin,
        onOutput,
      });
      this.#end(endOf(result));
    } catch (thrown) {
      if (this.#kill.signal.aborted && !home.session.ended) {
        return this.#end({ exitCode: -1, exited: false, status: "signal: killed" });
      }
      const error = toProcessError(thrown);
      for (const queue of this.#queues) queue.fail(error);
    } finally {
      signal.removeEventListener("abort", onEnd);
      clearTimeout(this.#quietTimer);
      this.#isInputClosed = true;
      this.#pieces = [];
      this.#input?.[Symbol.dispose]();
    }
  }

  #send(stream: "stdout" | "stderr", text: string): Promise<unknown> | undefined {
    const bytes = new TextEncoder().encode(text);
    const rooms = [...this.#queues].flatMap((queue) => queue.push({ stream, bytes }) ?? []);
    return rooms.length === 0 ? undefined : Promise.all(rooms);
  }

  #end(end: ProcessOutput & { exitCode: number }): void {
    for (const queue of this.#queues) queue.end(end);
  }
}

/** The commands of a sandbox that run or wait. */
export class Processes {
  readonly #home: HomeSession;
  readonly #byPid = new Map<number, ShellProcess>();
  #lastPid = 1000;

  constructor(home: HomeSession) {
    this.#home = home;
  }

  /** Starts a command. @throws {ConnectError} if there are too many. */
  start(config: CommandConfig, options: StartOptions): ShellProcess {
    if (this.#byPid.size >= MAX_PROCESSES) {
      throw new ConnectError(`a sandbox has at most ${MAX_PROCESSES} processes`, Code.ResourceExhausted);
    }
    const wrong = Object.entries(config.envs).find(([name, value]) =>
      !SHELL_NAME.test(name) || value.includes("\0")
    );
    if (wrong) throw new ConnectError("the name or value of a variable is invalid", Code.InvalidArgument);
    const process = new ShellProcess(++this.#lastPid, config, options);
    this.#byPid.set(process.pid, process);
    const timeoutMs = Math.min(options.timeoutMs ?? MAX_TIMEOUT_MS, MAX_TIMEOUT_MS);
    // the caller subscribes before the command runs
    queueMicrotask(() =>
      void process.run(this.#home, timeoutMs).finally(() => this.#byPid.delete(process.pid))
    );
    return process;
  }

  list(): ShellProcess[] {
    return [...this.#byPid.values()];
  }

  /** @throws {ConnectError} if there is no such process. */
  find(selector: { pid: number } | { tag: string }): ShellProcess {
    const found = "pid" in selector
      ? this.#byPid.get(selector.pid)
      : this.list().find(({ tag }) => tag === selector.tag);
    if (found) return found;
    throw new ConnectError("the process was not found", Code.NotFound);
  }
}

/**
 * Returns the command line of a command in the command's directory, with the variables of the sandbox and of the command.
 */
export function toCommandLine(
  { cmd, args, envs, cwd = "" }: CommandConfig,
  sandboxEnvs: Readonly<Record<string, string>>,
): string {
  const isShell = /^(\/(usr\/)?bin\/)?(ba)?sh$/.test(cmd) && args.includes("-c");
  const script = isShell ? args[args.indexOf("-c") + 1] ?? "" : [cmd, ...args].map(quote).join(" ");
  const variables = Object.entries({ ...sandboxEnvs, ...envs }).filter(([name]) => SHELL_NAME.test(name));
  const exports = variables.map(([name, value]) => `export ${name}=${quote(value)}`);
  const enter = [`cd ${quote(E2B_HOME)}`, ...(cwd === "" ? [] : [`cd ${quote(cwd)} || exit 1`])];
  return `(${[...enter, ...exports, script].join("; ")}\n)`; // errors name the lines of the script
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function endOf(result: ShellResult): ProcessOutput & { exitCode: number } {
  if (result.status === "ok" || result.status === "exited") {
    const { exitCode } = result;
    return { exitCode, exited: true, status: `exit status ${exitCode}` };
  }
  const { status, error } = result;
  return { exitCode: status === "memory" ? 137 : -1, exited: false, status, error: error.message };
}

/** Returns the error of a command that could not run. */
function toProcessError(thrown: unknown): ConnectError {
  const isUnsupported = thrown instanceof ServerError && thrown.code === "invalid";
  if (isUnsupported) {
    return new ConnectError(`${thrown.message}: start it with the profile workspace`, Code.Unimplemented);
  }
  return toConnectError(thrown);
}
