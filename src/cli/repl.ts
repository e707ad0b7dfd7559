import { join } from "node:path";
import { Command } from "commander";
import { abortable } from "../async/abort.ts";
import type { PythonSession } from "../sandbox/exec.ts";
import { EXIT } from "./exit_code.ts";
import { type Line, readLines } from "../read_lines.ts";
import { runReplBlock } from "./repl_block.ts";
import { ReplBlocks } from "./repl_blocks.ts";
import { ReplHistory } from "./repl_history.ts";
import { ReplTerminal } from "./repl_terminal.ts";
import { runCommand } from "./run_command.ts";
import {
  cacheDirectory,
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
  startSandbox,
} from "./sandbox_flags.ts";
import { UsageError } from "./usage_error.ts";
import { writeText } from "./write_text.ts";
import { currentIo } from "./io.ts";

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
