/**
 * Runs each command of `commands.txt` in the real bash and records its output in `commands.json`, and those of other
 * lists likewise: `deno run -A tests/sandbox/guest/shell/record.ts [NAME…]`, on a host with bash 5.2, coreutils,
 * git 2.39, and ripgrep 13.
 */

/** Fixes all that the hashes of commits depend on. */
export const GIT_SETTINGS = [
  ...["AUTHOR", "COMMITTER"].flatMap((role) => [
    `export GIT_${role}_NAME=Tester GIT_${role}_EMAIL=t@example.com GIT_${role}_DATE='1700000000 +0000'`,
  ]),
  "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=init.defaultBranch GIT_CONFIG_VALUE_0=main GIT_CONFIG_NOSYSTEM=1",
  "",
].join("\n");

/** Lists of commands, with what precedes each of their commands. */
const LISTS: Readonly<Record<string, string>> = {
  awk: "",
  bash_forms: "",
  commands: "",
  rare_commands: "",
  ripgrep: 'rg() { command rg -j1 --sort path "$@"; }; ',
  "git/git": GIT_SETTINGS,
};

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

async function record(
  { command, skip }: { command: string; skip?: string },
  settings: string,
): Promise<RecordedCommand> {
  const cwd = await Deno.makeTempDir();
  try {
    const { stdout, stderr, code } = await new Deno.Command("bash", {
      args: ["-c", settings + command],
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
  for (const [name, settings] of Object.entries(LISTS)) {
    if (Deno.args.length > 0 && !Deno.args.includes(name)) continue;
    const file = new URL(`./${name}`, import.meta.url);
    const commands = parseCommands(await Deno.readTextFile(new URL(`${file}.txt`)));
    const rows: RecordedCommand[] = [];
    for (const command of commands) rows.push(await record(command, settings));
    const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
    await Deno.writeTextFile(new URL(`${file}.json`), `[\n${lines}\n]\n`);
  }
}
