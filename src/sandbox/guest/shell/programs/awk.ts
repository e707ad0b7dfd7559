import type { Command, ExecResult } from "just-bash";
import { defineCommand } from "../engine.ts";
import type { ShellFiles } from "../files.ts";

/** `awk` of the engine, whose arguments are first rewritten to forms that it understands. */
export function awkCommands(files: ShellFiles): Command[] {
  return ["awk", "gawk"].map((name) =>
    defineCommand(name, async (args, { cwd, origCommand }) => {
      if (!origCommand) throw new Error(`'${name}' is not a command of the engine`);
      const { words, missing } = await withProgramFiles(args, (path) =>
        files.readFile(files.resolvePath(cwd, path)));
      if (missing !== undefined) {
        const message = `cannot open source file \`${missing}' for reading: No such file or directory`;
        return { stdout: "", stderr: `awk: fatal: ${message}\n`, exitCode: 2 };
      }
      if (
        words.some((word) =>
          /(?:^|[^\w])RS\s*=(?!=)(?!\s*"\\n")/.test(word)
        )
      ) {
        return { stdout: "", stderr: "awk: RS is not available in the sandbox\n", exitCode: 2 };
      }
      return awkMessage(await origCommand(rewriteAwkArgs(words)));
    })
  );
}

/** Replaces `-f file` by the program in that file. */
async function withProgramFiles(
  args: string[],
  read: (path: string) => Promise<string>,
): Promise<{ words: string[]; missing?: string }> {
  const options: string[] = [];
  const programs: string[] = [];
  let at = 0;
  for (; at < args.length && /^-./.test(args[at] ?? ""); at++) {
    const word = args[at] ?? "";
    if (word === "--") {
      at++;
      break;
    }
    const takesNext = word === "-v" || word === "-F" || word === "-f";
    const value = takesNext ? args[++at] ?? "" : word.slice(2);
    if (!word.startsWith("-f")) options.push(word, ...takesNext ? [value] : []);
    else {
      const text = await read(value).catch(() => undefined);
      if (text === undefined) return { words: args, missing: value };
      programs.push(text);
    }
  }
  if (programs.length === 0) return { words: args };
  return { words: [...options, programs.join("\n"), ...args.slice(at)] };
}

/** Returns a result of awk with the message of GNU's about a file that is missing. */
function awkMessage(result: ExecResult): ExecResult {
  const [, before = "", file] = /^([^]*?)awk: (.+): No such file or directory\n$/.exec(result.stderr) ?? [];
  if (file === undefined || result.exitCode !== 1) return result;
  const stderr = `${before}awk: fatal: cannot open file \`${file}' for reading: No such file or directory\n`;
  return { ...result, stderr, exitCode: 2 };
}

const AWK_VARIABLES = new Set(["FS", "OFS", "ORS", "SUBSEP", "NR", "CONVFMT", "OFMT", "IGNORECASE"]);

/** Sets awk's own variables at the beginning of the program, as the engine ignores `-v` for them. */
function rewriteAwkArgs(args: string[]): string[] {
  const settings: string[] = [];
  const rest: string[] = [];
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? "";
    if (!word.startsWith("-") || word === "-" || word === "--") break;
    const isSplit = word === "-v" || word === "-F" || word === "-f";
    const value = word.startsWith("-v") ? word.slice(2) || (args[at + 1] ?? "") : undefined;
    const [, name = "", text = ""] = /^(\w+)=([^]*)$/.exec(value ?? "") ?? [];
    if (AWK_VARIABLES.has(name)) settings.push(`${name}="${text.replace(/"/g, '\\"')}"`);
    else rest.push(word, ...isSplit ? args.slice(at + 1, at + 2) : []);
    if (isSplit) at++;
  }
  const [program, ...files] = args.slice(at);
  if (settings.length === 0 || program === undefined || rest.includes("-f")) return args;
  return [...rest, `BEGIN{${settings.join(";")}}\n${program}`, ...files];
}
