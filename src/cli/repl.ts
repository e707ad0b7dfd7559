import { Command } from "commander";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { abortable } from "../async/abort.ts";
import { type Line, readLines } from "../read_lines.ts";
import type { ExecResult, PythonSession } from "../sandbox/exec.ts";
import { EXIT, exitCode, runCommand } from "./command.ts";
import { UsageError } from "./errors.ts";
import { currentIo, type TextSink } from "./io.ts";
import { TextQueue, writeText } from "./output.ts";
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
An empty line ends a block of several lines. Ctrl-C interrupts what runs and keeps the variables, Ctrl-D, exit
or quit ends. input() has nothing to read. When stdin is not a terminal its blocks are run without prompts.

Exit codes: 0, the program's own after sys.exit(code), 2 wrong usage, 125 the sandbox itself failed.`;

/** The command `repl`: Python for a person, in a sandbox. */
export function replCommand(): Command {
  return new Command("repl")
    .description("Type Python into a sandbox")
    .addOption(profileOption())
    .addHelpText("after", KEYS)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runRepl(flagsOf(command), signal));
    });
}

async function runRepl(flags: SandboxFlags, signal: AbortSignal): Promise<number> {
  const profile = await resolveProfile(flags);
  await using sandbox = await startSandbox(profile, { cacheDir: flags.cacheDir, signal });
  const session = await sandbox.openSession({ signal });
  if (!currentIo().stdin.isTerminal() || !currentIo().stdout.isTerminal()) {
    return await runPiped(session, signal);
  }
  const history = await ReplHistory.load(join(cacheDirectory(flags.cacheDir), HISTORY_FILE));
  await writeText(currentIo().stdout, `Python in a sandbox, profile ${profile.name}. Ctrl-D ends.\n`);
  using terminal = new ReplTerminal({ history, signal });
  const code = await terminal.run(session);
  signal.throwIfAborted();
  return code;
}

/** Runs the blocks of the standard input, each as soon as it is whole. */
async function runPiped(session: PythonSession, signal: AbortSignal): Promise<number> {
  const { stdout, stderr } = currentIo();
  for await (const block of pipedBlocks(signal)) {
    const code = await runReplBlock(session, block, { stdout, stderr, signal });
    signal.throwIfAborted();
    if (code !== undefined) return code;
  }
  return EXIT.ok;
}

async function* pipedBlocks(signal: AbortSignal): AsyncGenerator<string> {
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
  throw new UsageError(`Cannot read the standard input as ${line.fault}`);
}

/** Where a block's output goes, and what interrupts it. */
export interface ReplBlockOptions {
  stdout: TextSink;
  stderr: TextSink;
  signal: AbortSignal;
}

/**
 * Runs a block and prints its output, its value, and what went wrong. Gives the exit code when the block
 * was there to end the session.
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
    output.write(options[stream], text);
  };
  const result = await execOrInterrupt(session, code, { ...options, output, onOutput });
  if (!last.endsWith("\n")) output.write(stdout, "\n");
  if (result?.status === "ok" && result.value !== undefined) output.write(stdout, `${result.value}\n`);
  output.write(stderr, complaint(result));
  await output.flush();
  return result?.status === "exited" ? exitCode(result) : undefined;
}

/** Gives nothing when the block was interrupted. */
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

function complaint(result: ExecResult | undefined): string {
  if (!result) return "KeyboardInterrupt\n";
  const { restarted, truncated, stateKept } = result;
  return [
    truncated ? "paddock: some output was dropped\n" : "",
    "error" in result ? result.error.traceback : "",
    restarted ? "paddock: this ran in a fresh interpreter, as the last one was lost\n" : "",
    stateKept ? "" : "paddock: the interpreter was lost, and all variables with it\n",
  ].join("");
}

const MAX_LINES = 1000;

/** The lines typed so far, kept in a file that only its owner can read. */
export class ReplHistory {
  readonly #path: string;
  /** Newest first. */
  readonly lines: readonly string[];

  private constructor(path: string, lines: readonly string[]) {
    this.#path = path;
    this.lines = lines;
  }

  /** Reads the file; there is no history where there is no file. */
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
    // A folder that cannot be written to is no reason to stop: the history is then of this time only.
  }
}

const HISTORY_LINES = 1000;

/** The prompt on a terminal: lines can be edited and called back, and Ctrl-C stops a block but not the session. */
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

  /** Runs what is typed until the end of input or of the program; gives the exit code. */
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

  /** What Ctrl-C does: on a terminal in raw mode it is a key like any other, and no signal. */
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
