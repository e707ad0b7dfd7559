import { Command, CommanderError } from "commander";
import { fileURLToPath } from "node:url";
import { cacheCommand } from "./cli/cache/cache_command.ts";
import { clusterCommand } from "./cli/cluster/cluster_command.ts";
import { compareCommand } from "./cli/compare.ts";
import { completionCommand } from "./cli/completion/completion_command.ts";
import { doctorCommand } from "./cli/doctor.ts";
import { checkTokensCommand } from "./cli/check_tokens.ts";
import { endOptionsAtProgram, execCommand } from "./cli/exec.ts";
import { EXIT, reportFailure } from "./cli/run_command.ts";
import { currentIo, type Io, withIo } from "./cli/io.ts";
import { gradeCommand } from "./cli/grade.ts";
import { initCommand } from "./cli/init/init_command.ts";
import { mcpCommand } from "./cli/mcp.ts";
import { excludeLoopback } from "./cli/proxy.ts";
import { packagesCommand } from "./cli/packages/packages_command.ts";
import { replCommand } from "./cli/repl.ts";
import { rolloutCommand } from "./cli/rollout/rollout_command.ts";
import { replayCommand } from "./cli/replay/replay_command.ts";
import { serveCommand } from "./cli/serve.ts";
import { sessionCommand } from "./cli/session.ts";
import { templatesCommand } from "./cli/templates/templates_command.ts";
import { viewCommand } from "./cli/view.ts";
import { useOwnWords } from "./schema_words.ts";
import { escapeControls } from "./terminal_text.ts";
import { DENO_VERSION, PADDOCK_VERSION } from "./version.ts";

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

/** Returns the `paddock` command with all its subcommands. */
export function paddockCommand(): Command {
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
      writeErr: (text) => write(currentIo().stderr, oneLine(escapeControls(text))), // it repeats unknown arguments
    })
    .exitOverride();
  const groups: [string, Command[]][] = [
    ["Run programs:", [execCommand(), sessionCommand(), replCommand()]],
    ["Serve:", [serveCommand(), clusterCommand(), mcpCommand()]],
    ["Play and score episodes:", [
      rolloutCommand(),
      checkTokensCommand(),
      templatesCommand(),
      gradeCommand(),
      viewCommand(),
      compareCommand(),
      replayCommand(),
    ]],
    ["Set up:", [initCommand(), packagesCommand(), cacheCommand(), doctorCommand(), completionCommand()]],
  ];
  for (const [group, commands] of groups) {
    paddock.commandsGroup(group);
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

/** Runs the command line and returns its exit code. */
export async function runCommandLine(args: readonly string[], io: Io = currentIo()): Promise<number> {
  useOwnWords();
  return await withIo(io, async () => {
    try {
      const paddock = paddockCommand();
      await paddock.parseAsync(endOptionsAtProgram(args, paddock), { from: "user" });
      return io.exitCode;
    } catch (error) {
      if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
      return await reportFailure(error, { signal: new AbortController().signal, stderr: io.stderr });
    }
  });
}

/**
 * Makes the caller's folder the current one. `deno task` runs a task in the folder of the clone and names the caller's in
 * `INIT_CWD`, as npm does; paths of the command line are relative to the caller's.
 */
async function enterCallersFolder(): Promise<void> {
  const caller = Deno.env.get("INIT_CWD");
  if (!caller || Deno.cwd() !== await Deno.realPath(fileURLToPath(new URL("../", import.meta.url)))) return;
  try {
    Deno.chdir(caller);
  } catch {
    // the variable is stale, and the current folder stays
  }
}

if (import.meta.main) {
  excludeLoopback(Deno.env);
  if (import.meta.url.startsWith("file:")) await enterCallersFolder();
  Deno.exit(await runCommandLine(Deno.args)); // a pending read of stdin would keep the process alive
}
