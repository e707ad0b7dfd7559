import { defineCommand } from "./engine.ts";
import type { Command } from "just-bash";
import { latin1 } from "./files.ts";

/** A Python program that the shell starts. */
export interface ProgramRequest {
  /** The words after `python`. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The exported variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes, one in each character. */
  readonly stdin: string;
}

/** What became of it. */
export interface ProgramResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}

const decoder = new TextDecoder();
/** Who the guest is, to itself: as Python's `os.getuid` has it. */
export const USER = "pyodide";
const UID = 0;
/** The exit code of a program that wrote to a pipe which nobody reads any more. */
const SIGPIPE_CODE = 141;
/** As much as a pipe and a reader's buffer take on Linux. */
const YES_BYTES = 131_072;

/** The commands that the engine does not have: Python, and `yes`, which ends where its reader would. */
export function createCommands(runPython: (request: ProgramRequest) => ProgramResult): Command[] {
  const python = ["python", "python3"].map((name) =>
    defineCommand(name, (argv, { cwd, exportedEnv = {}, stdin }) => {
      const request = { argv, cwd, env: exportedEnv, stdin: String(stdin ?? "") };
      const { stdout, stderr, exitCode } = runPython(request);
      return Promise.resolve({
        stdout: latin1(stdout),
        stderr: decoder.decode(stderr),
        stdoutKind: "bytes",
        exitCode,
      });
    })
  );
  const yes = defineCommand("yes", (args) => {
    const line = `${args.join(" ") || "y"}\n`;
    const stdout = line.repeat(Math.ceil(YES_BYTES / line.length));
    return Promise.resolve({ stdout, stderr: "", exitCode: SIGPIPE_CODE });
  });
  return [...python, yes, ...corrected(), ...system()];
}

/** Commands of the engine that are given their words in a way that it understands. */
function corrected(): Command[] {
  const words: Readonly<Record<string, (args: string[]) => string[]>> = {
    grep: grepWords,
    od: (args) => args.flatMap((word) => /^-[At]./.test(word) ? [word.slice(0, 2), word.slice(2)] : [word]),
    sort: (args) => args.map((word) => word.replace(/^-(\w*)g/, "-$1n")),
    tr: (args) => args.map((word) => word.replace(/\\([0-7]{1,3})/g, (_, code) => byte(code))),
    xargs: (args) =>
      args.flatMap((word) => /^-[nIPL]./.test(word) ? [word.slice(0, 2), word.slice(2)] : [word]),
  };
  return Object.entries(words).map(([name, correct]) =>
    defineCommand(name, async (args, { origCommand }) => {
      if (!origCommand) throw new Error(`'${name}' is not a command of the engine`);
      return await origCommand(correct(args));
    })
  );
}

/** Without `-I`, as no binary file matches, and with a second file for `-H`, as the name is shown when there are two. */
function grepWords(args: string[]): string[] {
  const end = args.indexOf("--");
  const isFlags = (word: string, index: number) =>
    /^-[A-Za-z]*[HI]/.test(word) && (end === -1 || index < end);
  const named = args.some((word, index) => isFlags(word, index) && word.includes("H"));
  const words = args.flatMap((word, index) => {
    const kept = isFlags(word, index) ? word.replace(/[HI]/g, "") : word;
    return kept === "-" && word !== "-" ? [] : [kept];
  });
  return named ? [...words, "/dev/null"] : words;
}

function byte(octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
}

/** Commands that name the system, and paths in it. */
function system(): Command[] {
  const uname = defineCommand("uname", (args) => {
    return said(args.includes("-a") ? "Linux localhost 5.15.0 x86_64 GNU/Linux" : "Linux");
  });
  const id = defineCommand("id", (args) => {
    const asked = args.join("").replaceAll("-", "");
    if (asked === "") return said(`uid=${UID}(${USER}) gid=${UID}(${USER}) groups=${UID}(${USER})`);
    return said(asked.includes("n") ? USER : String(UID));
  });
  const realpath = defineCommand("realpath", async (args, { fs, cwd }) => {
    const paths = args.filter((word) => !word.startsWith("-")).map((path) => fs.resolvePath(cwd, path));
    const found = await Promise.all(paths.map((path) => fs.realpath(path).catch(() => path)));
    return await said(found.join("\n"));
  });
  const mktemp = defineCommand("mktemp", async (args, { fs, cwd }) => {
    const template = args.find((word) => !word.startsWith("-")) ?? "/tmp/tmp.XXXXXXXXXX";
    const path = fs.resolvePath(cwd, template.replace(/X{3,}/, (xs) => randomName(xs.length)));
    await (args.includes("-d") ? fs.mkdir(path) : fs.writeFile(path, ""));
    return await said(path);
  });
  return [uname, id, realpath, mktemp];
}

function said(line: string): ReturnType<Command["execute"]> {
  return Promise.resolve({ stdout: `${line}\n`, stderr: "", exitCode: 0 });
}

function randomName(length: number): string {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return [...bytes].map((value) => letters[value % letters.length]).join("");
}
