import type { Command, IFileSystem } from "just-bash";
import { defineCommand } from "../engine.ts";
import { latin1Bytes } from "../script/byte_text.ts";

const decoder = new TextDecoder();

/** A shell that a command starts. */
export interface StartedShell {
  readonly isCommandString: boolean;
  /** True for `sh`, which is dash on Debian. */
  readonly isDash: boolean;
}

/** `bash` and `sh` with options before the program, which become `set`. The options of a login have no effect. */
export function shells(onShell: (shell: StartedShell) => void): Command[] {
  return ["bash", "sh"].map((name) =>
    defineCommand(name, async (args, { origCommand, stdin, fs, cwd }) => {
      if (!origCommand) throw new Error(`'${name}' is not a command of the engine`);
      const { settings, source, rest, unknown } = readShellOptions(args);
      if (unknown !== undefined) {
        return { stdout: "", stderr: `${name}: ${unknown}: invalid option\n`, exitCode: 2 };
      }
      onShell({ isCommandString: source === "argument", isDash: name === "sh" });
      if (source === "stdin") {
        const program = decoder.decode(latin1Bytes(String(stdin ?? "")));
        return await origCommand(["-c", [...settings, program].join("\n"), name, ...rest]);
      }
      if (source === "file") {
        const [file] = rest;
        const program = file === undefined ? undefined : await programNamed(file, fs, cwd);
        if (program !== undefined) {
          const stderr = `${program}: ${program}: cannot execute binary file\n`;
          return { stdout: "", stderr, exitCode: 126 };
        }
        if (settings.length === 0 || file === undefined) return await origCommand(rest);
        // A file that runs with settings is sourced by a program, so that `$0` and the arguments are the same.
        return await origCommand(["-c", `${settings.join("\n")}\n. "$0"`, ...rest]);
      }
      const [program, ...words] = rest;
      if (program === undefined) {
        return { stdout: "", stderr: `${name}: -c: option requires an argument\n`, exitCode: 2 };
      }
      return await origCommand(["-c", [...settings, program].join("\n"), ...words]);
    })
  );
}

/** Returns the path of the command that a shell finds for the name of a missing script, and cannot read. */
async function programNamed(name: string, fs: IFileSystem, cwd: string): Promise<string | undefined> {
  if (name.includes("/") || await fs.exists(fs.resolvePath(cwd, name))) return undefined;
  const path = `/usr/bin/${name}`;
  return await fs.exists(path) ? path : undefined;
}

const LOGIN_OPTIONS = /^--(?:login|norc|noprofile|posix|restricted|noediting|debug|verbose)$/;

/** Splits the arguments of a shell into settings and what follows them. */
function readShellOptions(
  args: readonly string[],
): { settings: string[]; source: "file" | "argument" | "stdin"; rest: string[]; unknown?: string } {
  const settings: string[] = [];
  let source: "file" | "argument" | "stdin" = "file";
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--" || word === "-") {
      at++;
      break;
    }
    if (LOGIN_OPTIONS.test(word)) continue;
    if (word === "--rcfile" || word === "--init-file") {
      at++;
      continue;
    }
    if (word.startsWith("--")) return { settings, source, rest: [], unknown: word };
    const [, sign, letters] = /^([-+])([a-zA-Z]+)$/.exec(word) ?? [];
    if (sign === undefined || letters === undefined) break;
    for (const letter of letters) {
      if (letter === "c") source = "argument";
      else if (letter === "s") source = source === "argument" ? source : "stdin";
      else if (letter === "o" || letter === "O") {
        const option = args[++at] ?? "";
        settings.push(
          letter === "o" ? `set ${sign}o ${option}` : `shopt ${sign === "-" ? "-s" : "-u"} ${option}`,
        );
      } else if (!"lir".includes(letter)) settings.push(`set ${sign}${letter}`);
    }
  }
  return { settings, source, rest: args.slice(at) };
}
