import { Command, CommanderError } from "commander";
import { EXIT, reportFailure } from "./run_command.ts";
import { endOptionsAtProgram } from "./exec/program_arguments.ts";
import { currentIo, type Io, withIo } from "./io.ts";
import { useOwnWords } from "../schema_words.ts";
import { escapeControls } from "../terminal_text.ts";
import { DENO_VERSION, PADDOCK_VERSION } from "../version.ts";

const EXAMPLES = `
Examples:
  paddock exec -e 'print(sum(range(10)))'
  paddock repl
  paddock packages add msgspec
  paddock doctor
  paddock serve
  paddock rollout --tasks examples/tasks.jsonl --out runs/a.jsonl
  paddock view runs/a.jsonl --wrong

Here 'paddock' stands for 'npx -y deno@${DENO_VERSION} task paddock' in a clone.`;

const encoder = new TextEncoder();

/** Commands under a heading of the help. */
export interface CommandGroup {
  readonly heading: string;
  readonly commands: readonly Command[];
}

/** Returns the command `paddock` with these subcommands. */
export function makePaddock(groups: readonly CommandGroup[]): Command {
  const paddock = new Command("paddock")
    .description("Run model-written Python in a sandbox")
    .version(PADDOCK_VERSION)
    .option(
      "--cache-dir <dir>",
      "folder of cached base images (default: $PADDOCK_CACHE_DIR, else the user's cache)",
    )
    .option("-y, --yes", "download packages of the profile that are missing without a prompt")
    .addHelpText("after", EXAMPLES)
    .configureOutput({
      writeOut: (text) => write(currentIo().stdout, text),
      writeErr: (text) => write(currentIo().stderr, oneLine(escapeControls(text))), // the message repeats unknown arguments
    })
    .exitOverride();
  for (const { heading, commands } of groups) {
    paddock.commandsGroup(heading);
    for (const command of commands) {
      paddock.addCommand(command.copyInheritedSettings(paddock));
      for (const subcommand of command.commands) subcommand.copyInheritedSettings(command);
    }
  }
  return paddock;
}

/** Puts the suggestion of a similar name behind the error. */
function oneLine(text: string): string {
  return text.replace(/\n\(Did you mean (.*)\?\)$/m, ": did you mean $1?");
}

function write(sink: { writeSync(bytes: Uint8Array): number }, text: string): void {
  try {
    for (let rest = encoder.encode(text); rest.length > 0;) rest = rest.subarray(sink.writeSync(rest));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error; // the reader has closed the pipe
  }
}

/** Runs a command line with the command that `open` returns. Returns the exit code. */
export async function runPaddock(
  open: () => Command | Promise<Command>,
  args: readonly string[],
  io: Io = currentIo(),
): Promise<number> {
  using _words = useOwnWords();
  return await withIo(io, async () => {
    try {
      const paddock = await open();
      await paddock.parseAsync(endOptionsAtProgram(args, paddock), { from: "user" });
      return io.exitCode;
    } catch (error) {
      if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
      return await reportFailure(error, { signal: new AbortController().signal, stderr: io.stderr });
    }
  });
}
