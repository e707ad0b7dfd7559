import { Command } from "commander";
import { join } from "node:path";
import { abortable } from "../async/abort.ts";
import { type Line, readLines } from "../read_lines.ts";
import type { PythonSession } from "../sandbox/contract/pool.ts";
import { EXIT, runCommand } from "./run_command.ts";
import { UsageError } from "./cli_errors.ts";
import { currentIo } from "./io.ts";
import { toSinkText, writeText } from "./output.ts";
import { ReplHistory } from "./repl/history.ts";
import { setUpInterpreter } from "./repl/interpreter.ts";
import { runReplBlock } from "./repl/block.ts";
import { ReplBlocks } from "./repl/blocks.ts";
import { ReplTerminal } from "./repl/terminal.ts";
import {
  cacheDirectory,
  clockOption,
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
  startSandbox,
} from "./sandbox_options.ts";

const HISTORY_FILE = "repl_history";
const MAX_LINE_BYTES = 1024 * 1024;

const KEYS = `
An empty line ends a block of several lines. Tab completes names and attributes, and indents at the start of a line; _ is
the last value. Ctrl-C interrupts the running block and keeps the variables. Ctrl-D, exit or quit ends the session.
input() reads a line of the terminal, whose time does not count. The history is a file of the cache, for its owner only.
If stdin is not a terminal, its blocks run without prompts, and input() has nothing to read.

Exit codes: 0 ok, 2 wrong usage, 125 the sandbox failed, 130 interrupted. After sys.exit(code), the exit code is
code.`;

/** Returns the command `repl`, an interactive interpreter. */
export function replCommand(): Command {
  return new Command("repl")
    .description("Start an interactive Python interpreter in a sandbox")
    .addOption(profileOption())
    .addOption(clockOption())
    .addHelpText("after", KEYS)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runRepl(flagsOf(command), signal));
    });
}

async function runRepl(flags: SandboxFlags, signal: AbortSignal): Promise<number> {
  const loaded = await resolveProfile(flags, signal);
  const hasInput = isTerminal();
  const profile = hasInput ? { ...loaded, hostTools: true } : loaded; // input() calls a function of the host
  await using sandbox = await startSandbox(profile, { cacheDir: flags.cacheDir, signal });
  const session = await sandbox.openSession({ signal });
  const { memoryBytes, timeoutMs } = profile.limits;
  const limits = `${memoryBytes / 1024 / 1024} MiB, ${timeoutMs / 1000} s a block`;
  const greeting = `in a sandbox: profile ${profile.name}, ${limits}
Tab completes, _ is the last value, Ctrl-C interrupts, Ctrl-D ends
`;
  return await interact(session, { cacheDir: flags.cacheDir, signal, greeting, hasInput, timeoutMs });
}

/** Options of {@linkcode interact}. */
export interface InteractOptions {
  cacheDir?: string | undefined;
  signal: AbortSignal;
  /** Text before the first prompt, after the version of Python. @default "" */
  greeting?: string | undefined;
  /** True if the session has host tools, so that `input()` can read from the terminal. @default false */
  hasInput?: boolean | undefined;
  /** Time limit of a block, without the time in `input()`, in milliseconds. @default the profile's, with that time */
  timeoutMs?: number | undefined;
}

function isTerminal(): boolean {
  const { stdin, stdout } = currentIo();
  return stdin.isTerminal() && stdout.isTerminal();
}

/** Runs the blocks of stdin in a session, with prompts on a terminal. Returns the exit code. */
export async function interact(session: PythonSession, options: InteractOptions): Promise<number> {
  const { cacheDir, signal, greeting = "", hasInput = false, timeoutMs } = options;
  const { stdout } = currentIo();
  const isInteractive = isTerminal();
  const version = await setUpInterpreter(session, { hasInput: hasInput && isInteractive, signal });
  if (!isInteractive) return await runPiped(session, signal);
  const history = await ReplHistory.load(join(cacheDirectory(cacheDir), HISTORY_FILE));
  await writeText(
    stdout,
    greeting === "" ? "" : `Python ${toSinkText(stdout, version.slice(0, 20))} ${greeting}`,
  );
  using terminal = new ReplTerminal({ session, history, hasInput, timeoutMs, signal });
  const code = await terminal.run();
  signal.throwIfAborted();
  return code;
}

/** Runs the blocks of stdin, each as soon as the block is complete. */
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
