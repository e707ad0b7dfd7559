/**
 * Records what the real bash makes of each command of `commands.txt`, as `commands.json`:
 * `deno run -A tests/sandbox/guest/shell/record.ts`, on a host with bash 5.2 and coreutils.
 */

/** One command, as the real shell answers it. */
export interface RecordedCommand {
  readonly command: string;
  readonly stdout: string;
  readonly exitCode: number;
  /** Whether anything was written to stderr; the words are each shell's own. */
  readonly complains: boolean;
  /** Why ours is not held to it. */
  readonly skip?: string;
}

/** A line `#skip reason` stands before a command; commands are parted by lines of `---`. */
export function parseCommands(text: string): { command: string; skip?: string }[] {
  return text.split(/^---\n/m).map((part) => part.replace(/^\n+|\n+$/g, "")).filter((part) => part !== "")
    .map(
      (part) => {
        const found = /^#skip (.*)\n/.exec(part);
        return found ? { command: part.slice(found[0].length), skip: found[1] ?? "" } : { command: part };
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
    const text = new TextDecoder().decode(stdout).replaceAll(cwd, "/home/pyodide");
    return {
      command,
      stdout: text,
      exitCode: code,
      complains: stderr.length > 0,
      ...(skip !== undefined && { skip }),
    };
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}

if (import.meta.main) {
  const here = new URL("../../shell/", import.meta.url);
  const commands = parseCommands(await Deno.readTextFile(new URL("commands.txt", here)));
  const rows: RecordedCommand[] = [];
  for (const command of commands) rows.push(await record(command));
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
  await Deno.writeTextFile(new URL("commands.json", here), `[\n${lines}\n]\n`);
}
