import { Command } from "commander";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { abortable } from "../async/abort.ts";
import { type Line, readLines } from "../read_lines.ts";
import type { ExecResult, PythonSession } from "../sandbox/exec.ts";
import { EXIT, exitCode, runCommand } from "./command.ts";
import { UsageError } from "./errors.ts";
import { currentIo, type TerminalSink } from "./io.ts";
import { TextQueue, toSinkText, writeText } from "./output.ts";
import { ReplBlocks } from "./repl_blocks.ts";
import {
  cacheDirectory,
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
  startSandbox,
} from "./sandbox_options.ts";

const HISTORY_FILE = "repl_history";
const MAX_LINE_BYTES = 1024 * 1024;

const KEYS = `
An empty line ends a block of several lines. Ctrl-C interrupts the running block and keeps the variables. Ctrl-D,
exit or quit ends the session. input() has nothing to read. If stdin is not a terminal, its blocks run without prompts.

Exit codes: 0 ok, 2 wrong usage, 125 the sandbox failed, 130 interrupted. After sys.exit(code), the exit code is
code.`;

/** Returns the command `repl`, an interactive interpreter. */
export function replCommand(): Command {
  return new Command("repl")
    .description("Start an interactive Python interpreter in a sandbox")
    .addOption(profileOption())
    .addHelpText("after", KEYS)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runRepl(flagsOf(command), signal));
    });
}

async function runRepl(flags: SandboxFlags, signal: AbortSignal): Promise<number> {
  const profile = await resolveProfile(flags, signal);
  await using sandbox = await startSandbox(profile, { cacheDir: flags.cacheDir, signal });
  const session = await sandbox.openSession({ signal });
  const greeting = `Python in a sandbox, profile ${profile.name}. Ctrl-D ends.\n`;
  return await interact(session, { cacheDir: flags.cacheDir, signal, greeting });
}

/** Options of {@linkcode interact}. */
export interface InteractOptions {
  cacheDir?: string | undefined;
  signal: AbortSignal;
  /** Text before the first prompt. @default "" */
  greeting?: string | undefined;
}

/** Runs the blocks of stdin in a session, with prompts on a terminal. Returns the exit code. */
export async function interact(session: PythonSession, options: InteractOptions): Promise<number> {
  const { cacheDir, signal, greeting = "" } = options;
  const { stdin, stdout } = currentIo();
  if (!stdin.isTerminal() || !stdout.isTerminal()) return await runPiped(session, signal);
  const history = await ReplHistory.load(join(cacheDirectory(cacheDir), HISTORY_FILE));
  await writeText(stdout, greeting);
  using terminal = new ReplTerminal({ history, signal });
  const code = await terminal.run(session);
  signal.throwIfAborted();
  return code;
}

/** Runs the blocks of stdin, each as soon as it is complete. */
async function runPiped(session: PythonSession, signal: AbortSignal): Promise<number> {
  const { stdout, stderr } = currentIo();
  for await (const block of readBlocks(signal)) {
    const code = await runReplBlock(session, block, { stdout, stderr, signal });
    signal.throwIfAborted();
    if (code !== undefined) return code;
  }
  return EXIT.ok;
}

async function* readBlocks(signal: AbortSignal): AsyncGenerator<string> {
  const blocks = new ReplBlocks({ emptyLineEnds: false });
  const lines = readLines(currentIo().stdin.readable, { maxBytes: MAX_LINE_BYTES });
  for (;;) {
    const { done, value } = await abortable(lines.next(), signal);
    if (done) return yield* blocks.end();
    yield* blocks.push(textOf(value));
  }
}

function textOf(line: Line): string {
  if ("text" in line) return line.text.replace(/\r$/, "");
  throw new UsageError(`Cannot read stdin as ${line.fault}`);
}

/** Options of {@linkcode runReplBlock}. */
export interface ReplBlockOptions {
  stdout: TerminalSink;
  stderr: TerminalSink;
  signal: AbortSignal;
}

/**
 * Runs a block and prints its output, its value and its errors. Returns the exit code if the block ends the
 * session, else `undefined`.
 */
export async function runReplBlock(
  session: PythonSession,
  code: string,
  options: ReplBlockOptions,
): Promise<number | undefined> {
  if (/^(?:exit|quit)(?:\(\))?$/.test(code.trim())) return 0;
  const { stdout, stderr } = options;
  const output = new TextQueue();
  let last = "\n";
  const onOutput = (stream: "stdout" | "stderr", text: string) => {
    last = text;
    output.write(options[stream], toSinkText(options[stream], text));
  };
  const result = await execOrInterrupt(session, code, { ...options, output, onOutput });
  if (!last.endsWith("\n")) output.write(stdout, "\n");
  if (result?.status === "ok" && result.value !== undefined) {
    output.write(stdout, `${toSinkText(stdout, result.value)}\n`);
  }
  output.write(stderr, toSinkText(stderr, formatErrors(result)));
  await output.flush();
  return result?.status === "exited" ? exitCode(result) : undefined;
}

/** Runs a block. Returns `undefined` if it was interrupted. */
async function execOrInterrupt(
  session: PythonSession,
  code: string,
  options: ReplBlockOptions & {
    output: TextQueue;
    onOutput: (stream: "stdout" | "stderr", text: string) => void;
  },
): Promise<ExecResult | undefined> {
  const { signal, output, onOutput } = options;
  try {
    return await session.exec(code, { signal: AbortSignal.any([signal, output.signal]), onOutput });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

function formatErrors(result: ExecResult | undefined): string {
  if (!result) return "KeyboardInterrupt\n";
  const { restarted, truncated, stateKept } = result;
  return [
    truncated ? "paddock: some output was dropped\n" : "",
    "error" in result ? result.error.traceback : "",
    restarted ? "paddock: this block ran in a fresh interpreter, as the previous one was lost\n" : "",
    stateKept ? "" : "paddock: the interpreter and all variables were lost\n",
  ].join("");
}

const MAX_LINES = 1000;

/** History of input lines, saved in a file that only its owner can read. */
export class ReplHistory {
  readonly #path: string;
  /** Newest first. */
  readonly lines: readonly string[];

  private constructor(path: string, lines: readonly string[]) {
    this.#path = path;
    this.lines = lines;
  }

  /** Reads the history file. The history is empty if the file cannot be read. */
  static async load(path: string): Promise<ReplHistory> {
    const text = await Deno.readTextFile(path).catch(() => "");
    const lines = text.split("\n").filter((line) => line !== "");
    if (lines.length > 2 * MAX_LINES) await save(path, lines.slice(-MAX_LINES), { append: false });
    return new ReplHistory(path, lines.slice(-MAX_LINES).reverse());
  }

  async add(line: string): Promise<void> {
    if (line.trim() !== "") await save(this.#path, [line], { append: true });
  }
}

async function save(path: string, lines: readonly string[], options: { append: boolean }): Promise<void> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(path, lines.map((line) => `${line}\n`).join(""), { ...options, mode: 0o600 });
  } catch {
    // The session works without a history file: lines are then remembered until it ends.
  }
}

const HISTORY_LINES = 1000;

/** A terminal prompt with line editing and history. Ctrl-C interrupts the running block, not the session. */
export class ReplTerminal implements Disposable {
  readonly #history: ReplHistory;
  readonly #signal: AbortSignal;
  readonly #lines: Interface;
  readonly #blocks = new ReplBlocks({ emptyLineEnds: true });
  #running: AbortController | undefined;

  constructor(options: { history: ReplHistory; signal: AbortSignal }) {
    const { history, signal } = options;
    this.#history = history;
    this.#signal = signal;
    this.#lines = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: true,
      history: [...history.lines],
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
      signal,
    });
    this.#lines.on("SIGINT", () => this.#interrupt());
  }

  /** Reads and runs blocks until the input or the program ends. Returns the exit code. */
  async run(session: PythonSession): Promise<number> {
    this.#prompt();
    for await (const line of this.#lines) {
      await this.#history.add(line);
      for (const block of this.#blocks.push(line)) {
        const code = await this.#runBlock(session, block);
        if (code !== undefined) return code;
      }
      this.#prompt();
    }
    process.stdout.write("\n");
    return 0;
  }

  [Symbol.dispose](): void {
    this.#lines.close();
  }

  async #runBlock(session: PythonSession, block: string): Promise<number | undefined> {
    const { stdout, stderr } = Deno;
    this.#running = new AbortController();
    const signal = AbortSignal.any([this.#signal, this.#running.signal]);
    try {
      return await runReplBlock(session, block, { stdout, stderr, signal });
    } finally {
      this.#running = undefined;
    }
  }

  /** Handles Ctrl-C. A terminal in raw mode reports it as a key, not as a signal. */
  #interrupt(): void {
    if (this.#running) return this.#running.abort(new DOMException("Interrupted by Ctrl-C", "AbortError"));
    this.#blocks.end();
    process.stdout.write("\nKeyboardInterrupt\n");
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    this.#prompt();
  }

  #prompt(): void {
    this.#lines.setPrompt(this.#blocks.pending ? "... " : ">>> ");
    this.#lines.prompt();
  }
}
