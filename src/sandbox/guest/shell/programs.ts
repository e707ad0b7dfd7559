import { defineCommand } from "./engine.ts";
import type { Command } from "just-bash";
import { latin1 } from "./files.ts";

/** A Python program that the shell starts. */
export interface ProgramRequest {
  /** The arguments after `python`. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The exported variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Text in which each character is one byte. */
  readonly stdin: string;
}

/** The part of an abort signal that a program needs. */
export type AbortNotice = Pick<AbortSignal, "addEventListener">;

/** Output and exit code of a Python program. */
export interface ProgramResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();
/** Name of the guest's user. Its ID is that of Python's `os.getuid`. */
export const USER = "pyodide";
const UID = 0;
/** Exit code of a program that wrote to a closed pipe. */
const SIGPIPE_CODE = 141;
/** Capacity of a pipe and a reader's buffer on Linux, together. */
const YES_BYTES = 131_072;

/** Creates the commands that the engine lacks or gets wrong. `yes` ends after the output that a reader would take. */
export function createCommands(
  runPython: (request: ProgramRequest, signal?: AbortNotice) => Promise<ProgramResult>,
): Command[] {
  const python = ["python", "python3"].map((name) =>
    defineCommand(name, async (argv, { cwd, exportedEnv = {}, stdin, signal }) => {
      const request = { argv, cwd, env: exportedEnv, stdin: String(stdin ?? "") };
      const { stdout, stderr, exitCode } = await runPython(request, signal);
      return { stdout: latin1(stdout), stderr: decoder.decode(stderr), stdoutKind: "bytes", exitCode };
    })
  );
  const yes = defineCommand("yes", (args) => {
    const line = `${args.join(" ") || "y"}\n`;
    const stdout = line.repeat(Math.ceil(YES_BYTES / line.length));
    return Promise.resolve({ stdout, stderr: "", exitCode: SIGPIPE_CODE });
  });
  return [
    ...python,
    yes,
    boundedFind(),
    ...rewrittenCommands(),
    printfOfBytes(),
    ...systemCommands(),
    ...environmentCommands(),
  ];
}

/** Nested expressions of `find`, which the engine reads by recursion on the thread's stack. */
const MAX_FIND_DEPTH = 1000;

function boundedFind(): Command {
  return defineCommand("find", async (args, { origCommand }) => {
    if (!origCommand) throw new Error("'find' is not a command of the engine");
    if (args.filter((word) => word === "(" || word === "!" || word === "-not").length <= MAX_FIND_DEPTH) {
      return await origCommand(args);
    }
    return { stdout: "", stderr: `find: more than ${MAX_FIND_DEPTH} nested expressions\n`, exitCode: 1 };
  });
}

/** Commands of the engine whose arguments are first rewritten to forms that it understands. */
function rewrittenCommands(): Command[] {
  const rewrites: Readonly<Record<string, (args: string[]) => string[]>> = {
    grep: rewriteGrepArgs,
    od: (args) => args.flatMap((word) => /^-[At]./.test(word) ? [word.slice(0, 2), word.slice(2)] : [word]),
    sort: (args) => args.map((word) => word.replace(/^-(\w*)g/, "-$1n")),
    tr: (args) => args.map((word) => word.replace(/\\([0-7]{1,3})/g, (_, code) => characterOf(code))),
    xargs: (args) =>
      args.flatMap((word) => /^-[nIPL]./.test(word) ? [word.slice(0, 2), word.slice(2)] : [word]),
  };
  return Object.entries(rewrites).map(([name, rewrite]) =>
    defineCommand(name, async (args, { origCommand }) => {
      if (!origCommand) throw new Error(`'${name}' is not a command of the engine`);
      return await origCommand(rewrite(args));
    })
  );
}

/** An octal or hexadecimal escape of a byte that is not ASCII. */
const BYTE_ESCAPE = /\\(?:0?[23][0-7]{2}|x[89a-fA-F][0-9a-fA-F])/;
/** A backslash, or a hexadecimal escape. The engine takes several of the latter for a character in UTF-8. */
const HEX_ESCAPE = /\\(?:\\|x([0-9a-fA-F]{2}))/g;
/** Escapes in arguments, and of characters, that are no single byte to the engine. */
const OTHER_ESCAPES = /\\x[89a-fA-F]|\\[uU][0-9a-fA-F]/;

/** Writes the bytes of `printf '\\303\\251'`, of which the engine makes a character each. */
function printfOfBytes(): Command {
  return defineCommand("printf", async (args, { origCommand }) => {
    if (!origCommand) throw new Error("'printf' is not a command of the engine");
    const [format = "", ...words] = args;
    const octal = format.replace(
      HEX_ESCAPE,
      (all, hex) => hex ? `\\${Number.parseInt(hex, 16).toString(8).padStart(3, "0")}` : all,
    );
    const rewritten = [octal, ...words];
    const text = rewritten.join(" ");
    if (format === "-v" || !BYTE_ESCAPE.test(text) || OTHER_ESCAPES.test(text)) {
      return await origCommand(args);
    }
    const result = await origCommand(rewritten.map((word) => latin1(encoder.encode(word))));
    return { ...result, stdoutKind: "bytes" };
  });
}

/** Removes `-I`, since binary files never match, and replaces `-H` by a second file, which makes `grep` print names. */
function rewriteGrepArgs(args: string[]): string[] {
  const end = args.indexOf("--");
  const isFlags = (word: string, index: number) =>
    /^-[A-Za-z]*[HI]/.test(word) && (end === -1 || index < end);
  const showsNames = args.some((word, index) => isFlags(word, index) && word.includes("H"));
  const rewritten = args.flatMap((word, index) => {
    const flags = isFlags(word, index) ? word.replace(/[HI]/g, "") : word;
    return flags === "-" && word !== "-" ? [] : [flags];
  });
  return showsNames ? [...rewritten, "/dev/null"] : rewritten;
}

function characterOf(octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
}

/** Commands that print facts about the system or create paths. */
function systemCommands(): Command[] {
  const uname = defineCommand("uname", (args) => {
    return printLine(args.includes("-a") ? "Linux localhost 5.15.0 x86_64 GNU/Linux" : "Linux");
  });
  const id = defineCommand("id", (args) => {
    const flags = args.join("").replaceAll("-", "");
    if (flags === "") return printLine(`uid=${UID}(${USER}) gid=${UID}(${USER}) groups=${UID}(${USER})`);
    return printLine(flags.includes("n") ? USER : String(UID));
  });
  const realpath = defineCommand("realpath", async (args, { fs, cwd }) => {
    const paths = args.filter((word) => !word.startsWith("-")).map((path) => fs.resolvePath(cwd, path));
    const found = await Promise.all(paths.map((path) => fs.realpath(path).catch(() => path)));
    return await printLine(found.join("\n"));
  });
  const mktemp = defineCommand("mktemp", async (args, { fs, cwd }) => {
    const template = args.find((word) => !word.startsWith("-")) ?? "/tmp/tmp.XXXXXXXXXX";
    const path = fs.resolvePath(cwd, template.replace(/X{3,}/, (xs) => randomName(xs.length)));
    await (args.includes("-d") ? fs.mkdir(path) : fs.writeFile(path, ""));
    return await printLine(path);
  });
  const whoami = defineCommand("whoami", () => printLine(USER));
  return [uname, id, whoami, realpath, mktemp];
}

/** Commands that print the exported variables. The engine's print all variables. */
function environmentCommands(): Command[] {
  return ["env", "printenv"].map((name) =>
    defineCommand(name, async (args, { exportedEnv = {}, origCommand }) => {
      if (args.length > 0 && origCommand) return await origCommand(args);
      const stdout = Object.entries(exportedEnv).map(([variable, value]) => `${variable}=${value}\n`).join(
        "",
      );
      return { stdout, stderr: "", exitCode: 0 };
    })
  );
}

function printLine(line: string): ReturnType<Command["execute"]> {
  return Promise.resolve({ stdout: `${line}\n`, stderr: "", exitCode: 0 });
}

function randomName(length: number): string {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return [...bytes].map((value) => letters[value % letters.length]).join("");
}
