/**
 * Runs each command of `commands.txt` in the real bash and records its output in `commands.json`:
 * `deno run -A tests/sandbox/guest/shell/record.ts`, on a host with bash 5.2 and coreutils.
 */

/** A command and its result in the real shell. */
export interface RecordedCommand {
  readonly command: string;
  readonly stdout: string;
  readonly exitCode: number;
  /** True if stderr was not empty. Its text differs between shells, so it is not compared. */
  readonly complains: boolean;
  /** Reason why our shell is not compared with this result. */
  readonly skip?: string;
}

/** Parses commands, separated by lines of `---`. A line `#skip reason` before a command skips it. */
export function parseCommands(text: string): { command: string; skip?: string }[] {
  return text.split(/^---\n/m).map((part) => part.replace(/^\n+|\n+$/g, "")).filter((part) => part !== "")
    .map(
      (part) => {
        const match = /^#skip (.*)\n/.exec(part);
        return match ? { command: part.slice(match[0].length), skip: match[1] ?? "" } : { command: part };
      },
    );
}

async function record({ command, skip }: { command: string; skip?: string }): Promise<RecordedCommand> {
  const cwd = await Deno.makeTempDir();
  try {
    const { stdout, stderr, code } = await new Deno.Command("bash", {
      args: ["-c", command],
      cwd,
      clearEnv: true,
      env: { HOME: cwd, USER: "pyodide", PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TERM: "dumb" },
      stdin: "null",
    }).output();
    const output = new TextDecoder().decode(stdout).replaceAll(cwd, "/home/pyodide");
    return {
      command,
      stdout: output,
      exitCode: code,
      complains: stderr.length > 0,
      ...(skip !== undefined && { skip }),
    };
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}

if (import.meta.main) {
  const here = new URL("./", import.meta.url);
  const commands = parseCommands(await Deno.readTextFile(new URL("commands.txt", here)));
  const rows: RecordedCommand[] = [];
  for (const command of commands) rows.push(await record(command));
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
  await Deno.writeTextFile(new URL("commands.json", here), `[\n${lines}\n]\n`);
}
