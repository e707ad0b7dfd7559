import { loadProfile } from "../../../../mod.ts";
import type { Session, ShellResult } from "../../../../mod/sandbox.ts";
import {
  COMMANDS_PRELOAD,
  defaultCommands,
  SHELL_SUPPORT,
} from "../../../../src/envs/workspace/commands/commands.ts";
import { endNamesOf, readCommands } from "../../../../src/envs/workspace/commands/read_commands.ts";
import { insertHereDocuments } from "../../../../src/envs/workspace/episode.ts";
import { withSession } from "../../../sandbox/shared_session.ts";

const END_NAMES = endNamesOf(readCommands(defaultCommands()));
/** The shell's home in these tests, and so the folder of relative paths. */
export const HOME = "/home/pyodide";

/** A shell with Paddock's commands for agents. */
export interface BenchShell {
  readonly session: Session;
  run(command: string): Promise<ShellResult>;
  /** What a command printed, without its last newline. */
  printed(command: string): Promise<string>;
  write(path: string, text: string | Uint8Array): Promise<void>;
  read(path: string): Promise<string>;
}

/** A test with a shell that shows ten lines at a time. */
export function shellTest(
  name: string,
  test: (shell: BenchShell) => Promise<void>,
  commands: string = defaultCommands().map(({ contents }) => contents).join("\n"),
): void {
  Deno.test(name, async () => {
    const profile = { ...await loadProfile("workspace"), preload: COMMANDS_PRELOAD };
    await withSession(async (session) => {
      const variables = "WINDOW=10; OVERLAP=2; CURRENT_LINE=0; CURRENT_FILE=''";
      const started = await session.shell(`${SHELL_SUPPORT}\n${commands}\n${variables}`);
      if (started.status !== "ok") throw new Error(JSON.stringify(started));
      await test(shellOf(session));
    }, { profile });
  });
}

function shellOf(session: Session): BenchShell {
  const run = (command: string) => session.shell(insertHereDocuments(command, END_NAMES));
  return {
    session,
    run,
    printed: async (command) => {
      const { stdout, stderr } = await run(command);
      if (stderr !== "") throw new Error(`'${command}' complained: ${stderr}`);
      return stdout.replace(/\n$/, "");
    },
    write: (path, text) => session.writeFile(path, text),
    read: async (path) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(await session.readFile(path)),
  };
}

/** Lines `1` to `count`, each `text` and its number. */
export function numbered(count: number, text = "line "): string {
  return Array.from({ length: count }, (_, index) => `${text}${index + 1}\n`).join("");
}

/** What a window shows of such a file. */
export function shown(from: number, to: number, text = "line "): string {
  return Array.from({ length: to - from + 1 }, (_, index) => `${from + index}:${text}${from + index}`).join(
    "\n",
  );
}
