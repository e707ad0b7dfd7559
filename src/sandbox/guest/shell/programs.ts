import { defineCommand } from "./engine.ts";
import type { Command, ExecResult, IFileSystem } from "just-bash";
import { latin1, latin1Bytes, type ShellFiles } from "./files.ts";
import { byteText, type CommandFiles, type GnuCommand, unicodeText, UsageError } from "./gnu/command.ts";
import { clock } from "./clock.ts";
import { consoleScripts } from "./console_scripts.ts";
import type { RareCommand } from "./rare_commands.ts";
import { GNU_NAMES } from "./gnu/gnu_names.ts";
import type { MergedStreams } from "./script/merged_streams.ts";
import { signalOf } from "./builtins/signal_names.ts";

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

/** Commands that a module of the guest's library runs in Python. */
const ARCHIVE_COMMANDS = [
  "tar",
  "zip",
  "unzip",
  "bzip2",
  "bunzip2",
  "bzcat",
  "xz",
  "unxz",
  "xzcat",
];

/** Program that runs `pip`. */
const PIP = ["-m", "_shell_packages", "pip"];

const decoder = new TextDecoder();
/** Name of the guest's user. Its ID is that of Python's `os.getuid`. */
export const USER = "pyodide";
const UID = 0;
/** Exit code of a program that wrote to a closed pipe. */
const SIGPIPE_CODE = 141;
/** Capacity of a pipe and a reader's buffer on Linux, together. */
const YES_BYTES = 131_072;

/** What the commands use. */
export interface CommandParts {
  readonly runPython: (request: ProgramRequest, signal?: AbortNotice) => Promise<ProgramResult>;
  /** Called before a command starts a shell. */
  readonly onShell: (isCommandString: boolean) => void;
  readonly streams: Pick<MergedStreams, "isMerged">;
}

/** Creates the commands that the engine lacks or gets wrong. `yes` ends after the output that a reader would take. */
export function createCommands(files: ShellFiles, parts: CommandParts): Command[] {
  const { runPython, onShell } = parts;
  const pythonCommand = (name: string, head: readonly string[]) =>
    defineCommand(name, async (args, { cwd, exportedEnv = {}, stdin, signal, fs }) => {
      const request = { argv: [...head, ...args], cwd, env: exportedEnv, stdin: String(stdin ?? "") };
      const run = async (argv: readonly string[]): ReturnType<Command["execute"]> => {
        const { stdout, stderr, exitCode } = await runPython({ ...request, argv }, signal);
        return { stdout: latin1(stdout), stderr: decoder.decode(stderr), stdoutKind: "bytes", exitCode };
      };
      return await runWithFiles(request.argv, { files, fs, run });
    });
  const python = ["python", "python3"].map((name) => {
    const plain = pythonCommand(name, []);
    const pip = pythonCommand(name, PIP);
    const isPip = (args: readonly string[]) => args[0] === "-m" && args[1] === "pip";
    return defineCommand(
      name,
      (args, context) => isPip(args) ? pip.execute(args.slice(2), context) : plain.execute(args, context),
    );
  });
  const pips = ["pip", "pip3"].map((name) => pythonCommand(name, PIP));
  const scripts = consoleScripts(files.forCommands).map((name) =>
    pythonCommand(name, ["-m", "_shell_packages", "script", name])
  );
  const archives = ARCHIVE_COMMANDS.map((name) => pythonCommand(name, ["-m", "_shell_archives", name]));
  const yes = defineCommand("yes", (args) => {
    const words = args[0] === "--" ? args.slice(1) : args;
    const line = `${words.join(" ") || "y"}\n`;
    const stdout = line.repeat(Math.ceil(YES_BYTES / line.length));
    return Promise.resolve({ stdout, stderr: "", exitCode: SIGPIPE_CODE });
  });
  return [
    ...scripts,
    ...python,
    ...pips,
    ...archives,
    ...shells(onShell),
    timeoutCommand(),
    umaskCommand(files),
    yes,
    ...GNU_NAMES.map((name) => {
      return toEngineCommand(name, async () => (await gnuModule.get()).GNU_COMMANDS[name], {
        files,
        ...parts,
      });
    }),
    ...(Object.keys(RARE_COMMANDS) as RareCommand[]).map((name) => {
      return toEngineCommand(name, () => Promise.resolve(rareCommand(name)), { files, ...parts });
    }),
    ...awkCommands(files),
    ...refusingCommands(),
    printfCommand(files),
    ...systemCommands(),
    ...environmentCommands(),
  ];
}

/** A module that is loaded at its first use. */
class LazyModule<Module> {
  readonly #load: () => Promise<Module>;
  #module: Promise<Module> | undefined;

  constructor(load: () => Promise<Module>) {
    this.#load = load;
  }

  get(): Promise<Module> {
    this.#module ??= clock.load(this.#load);
    return this.#module;
  }
}

const gnuModule = new LazyModule(() => import("./gnu/gnu_commands.ts"));
const rareModule = new LazyModule(() => import("./rare_commands.ts"));

/** Commands that few programs use, which are a module of their own. */
const RARE_COMMANDS: Readonly<Record<RareCommand, true>> = {
  base32: true,
  cksum: true,
  csplit: true,
  factor: true,
  fmt: true,
  git: true,
  hexdump: true,
  iconv: true,
  less: true,
  md5sum: true,
  more: true,
  numfmt: true,
  od: true,
  rg: true,
  sha1sum: true,
  sha256sum: true,
  sha384sum: true,
  sha512sum: true,
  shuf: true,
  sum: true,
  truncate: true,
  tsort: true,
  xxd: true,
};

/** Makes a command that is loaded when it is first run. */
function rareCommand(name: RareCommand): GnuCommand {
  return async (args, context) => {
    const { runRareCommand } = await rareModule.get();
    const result = await runRareCommand(name, args, context);
    if (typeof result === "number") return result;
    throw new UsageError(result.message, result);
  };
}

/** Makes a command of the engine from one of ours, which is loaded when it first runs. */
function toEngineCommand(
  name: string,
  load: () => Promise<GnuCommand>,
  { files, streams }: { readonly files: ShellFiles } & Pick<CommandParts, "streams">,
): Command {
  return defineCommand(name, async (args, context) => {
    const { cwd, exportedEnv = {}, signal, exec, fs } = context;
    const input = new CommandInput(() => String(context.stdin ?? ""));
    const output = { stdout: "", stderr: "" };
    const { isMerged } = streams;
    const printError = (text: string) => {
      if (isMerged) output.stdout += byteText(text);
      else output.stderr += text;
    };
    const warn = (text: string) => printError(`${name}: ${text}\n`);
    const poll = () => signal?.throwIfAborted();
    const command = await load();
    try {
      const exitCode = await command(args.map(byteText), {
        files: await withSubstitutions(files.forCommands, args, fs),
        cwd,
        variables: exportedEnv,
        get stdin() {
          return input.text;
        },
        leaveStdin: (length) => input.leave(length),
        print: (text) => {
          output.stdout += text;
        },
        warn,
        printError,
        poll,
        run: async (words, { stdin = "", cwd: folder = cwd, variables } = {}) => {
          const [first = "", ...operands] = words.map(unicodeText);
          const rest = first === "printf" && operands[0] !== "--" ? ["--", ...operands] : operands; // no builtin
          const options = {
            cwd: folder,
            stdin,
            stdinKind: "bytes",
            args: rest,
            ...(variables && { env: { ...variables }, replaceEnv: true }),
            ...(signal && { signal }),
          } as const;
          const result = await exec?.(quoteWord(first), options);
          if (!result) throw new Error(`'${name}' cannot run commands here`);
          const stdout = result.stdoutKind === "bytes" ? result.stdout : byteText(result.stdout);
          output.stdout += stdout;
          printError(result.stderr);
          return { stdout, stderr: result.stderr, exitCode: result.exitCode };
        },
      });
      const internalStdinConsumed = STDIN_READERS.has(name) ? input.takenBytes : 0;
      return { ...output, stdoutKind: "bytes", exitCode, internalStdinConsumed } as ExecResult;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      warn(shownText(error.message));
      if (error.hasHint) printError(`Try '${name} --help' for more information.\n`);
      return { ...output, stdoutKind: "bytes", exitCode: error.exitCode };
    }
  });
}

/** Commands that read their stdin only if they need it, so that what they took is known. */
const STDIN_READERS: ReadonlySet<string> = new Set(
  "cat column cut egrep fgrep fold grep head paste sed sort tac tail tr uniq wc xargs".split(" "),
);

/** The stdin of a command, which knows how much of it the command has taken. */
class CommandInput {
  readonly #read: () => string;
  #text: string | undefined;
  #left = 0;

  constructor(read: () => string) {
    this.#read = read;
  }

  get text(): string {
    this.#text ??= this.#read();
    return this.#text;
  }

  /** Number of bytes that the command took. */
  get takenBytes(): number {
    return (this.#text?.length ?? 0) - this.#left;
  }

  leave(length: number): void {
    if (this.#text !== undefined) this.#left = length;
  }
}

/** Converts byte text to text. A text that has other characters is text. */
function shownText(text: string): string {
  return [...text].some((sign) => sign > "\xff") ? text : unicodeText(text);
}

const SUBSTITUTION = /\/dev\/fd\/\d+/;

/** Runs a Python program, for which the outputs of `<(…)` among its arguments are files meanwhile. */
async function runWithFiles(
  argv: readonly string[],
  { files, fs, run }: {
    readonly files: ShellFiles;
    readonly fs: IFileSystem;
    readonly run: (argv: readonly string[]) => ReturnType<Command["execute"]>;
  },
): ReturnType<Command["execute"]> {
  const written: string[] = [];
  const words: string[] = [];
  for (const word of argv) {
    const [path] = SUBSTITUTION.exec(word) ?? [];
    const bytes = path === undefined ? undefined : await fs.readFileBuffer(path).catch(() => undefined);
    if (path === undefined || !bytes) words.push(word);
    else {
      const file = `/tmp/.substitution-${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
      await files.writeFile(file, bytes);
      written.push(file);
      words.push(word.replace(path, file));
    }
  }
  try {
    return await run(words);
  } finally {
    for (const file of written) await files.rm(file, { force: true });
  }
}

/** Adds the outputs of `<(…)` among the arguments, which the engine keeps in a file system of its own. */
async function withSubstitutions(
  files: CommandFiles,
  args: readonly string[],
  fs: IFileSystem,
): Promise<CommandFiles> {
  const paths = args.flatMap((word) => SUBSTITUTION.exec(word) ?? []);
  if (paths.length === 0) return files;
  const outputs = new Map<string, Uint8Array>();
  for (const path of paths) {
    const bytes = await fs.readFileBuffer(path).catch(() => undefined);
    if (bytes) outputs.set(path, bytes);
  }
  return {
    ...files,
    read: (path) => outputs.get(path) ?? files.read(path),
    status: (path, options) => {
      const bytes = outputs.get(path);
      if (!bytes) return files.status(path, options);
      return { kind: "file", mode: 0o600, size: bytes.length, changedMs: Date.now(), inode: 0 };
    },
  };
}

/** `bash` and `sh` with options before the program, which become `set`. Those of a login have no effect. */
function shells(onShell: (isCommandString: boolean) => void): Command[] {
  return ["bash", "sh"].map((name) =>
    defineCommand(name, async (args, { origCommand, stdin }) => {
      if (!origCommand) throw new Error(`'${name}' is not a command of the engine`);
      const { settings, source, rest, unknown } = readShellOptions(args);
      if (unknown !== undefined) {
        return { stdout: "", stderr: `${name}: ${unknown}: invalid option\n`, exitCode: 2 };
      }
      onShell(source === "argument");
      if (source === "stdin") {
        const program = decoder.decode(latin1Bytes(String(stdin ?? "")));
        return await origCommand(["-c", [...settings, program].join("\n"), name, ...rest]);
      }
      if (source === "file") {
        const [file] = rest;
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

const TIMEOUT_USAGE = "Try 'timeout --help' for more information.\n";
const [TIMED_OUT_CODE, TIMEOUT_FAILED_CODE] = [124, 125];
/** Suffixes of durations are `s`, `m`, `h` and `d`. */
const DURATION = /^\+?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?[smhd]?$/i;

/** `timeout` of the engine, with the options and exit codes of GNU's. */
function timeoutCommand(): Command {
  return defineCommand("timeout", async (args, { origCommand }) => {
    if (!origCommand) throw new Error("'timeout' is not a command of the engine");
    const complain = (message: string) => {
      return { stdout: "", stderr: `timeout: ${message}\n${TIMEOUT_USAGE}`, exitCode: TIMEOUT_FAILED_CODE };
    };
    let [signal, keepsStatus, at] = ["TERM", false, 0];
    for (; at < args.length && /^-./.test(args[at] ?? ""); at++) {
      const word = args[at] ?? "";
      if (word === "--") {
        at++;
        break;
      }
      if (word === "--help" || word === "--version") return await origCommand(args);
      const [, name = "", value] = /^(--(?:signal|kill-after)|-[sk])=?(.+)?$/.exec(word) ?? [];
      if (name !== "") {
        const text = value ?? args[++at];
        if (text === undefined) {
          return complain(`option requires an argument -- '${name.replace(/^-+/, "")}'`);
        }
        if (/^(?:-k|--kill)/.test(name) && !DURATION.test(text)) {
          return complain(`invalid time interval '${text}'`);
        }
        if (!/^-k|^--kill/.test(name)) signal = text.toUpperCase().replace(/^SIG/, "");
      } else if (word === "-p" || word === "--preserve-status") keepsStatus = true;
      else if (!/^(?:-[fv]|--foreground|--verbose)$/.test(word)) {
        return complain(`unrecognized option '${word}'`);
      }
    }
    const known = signalOf(signal);
    if (!known && signal !== "0") return complain(`'${signal}': invalid signal`);
    const [duration, ...command] = args.slice(at);
    if (duration === undefined || command.length === 0) return complain("missing operand");
    if (!DURATION.test(duration)) return complain(`invalid time interval '${duration}'`);
    const result = await origCommand([duration, ...command]);
    const isKilled = keepsStatus || signal === "KILL" || signal === "9";
    if (result.exitCode !== TIMED_OUT_CODE || !isKilled || !known) return result;
    return { ...result, exitCode: 128 + known.number };
  });
}

/** `umask`, which prints or sets the permissions that new files do not have. */
function umaskCommand(files: ShellFiles): Command {
  return defineCommand("umask", (args) => {
    const words = args.filter((word) => word !== "-p" && word !== "--");
    const [word = ""] = words.filter((text) => text !== "-S");
    if (word === "") {
      const rights = (shift: number) =>
        [..."rwx"].filter((_, at) => !(files.umask >> shift & 4 >> at)).join("");
      const symbols = `u=${rights(6)},g=${rights(3)},o=${rights(0)}`;
      return printLine(words.includes("-S") ? symbols : files.umask.toString(8).padStart(4, "0"));
    }
    const mask = /^[0-7]{1,4}$/.test(word) ? Number.parseInt(word, 8) : maskOf(word, files.umask);
    if (mask === undefined) {
      const message = /^\d/.test(word) ? "octal number out of range" : "invalid symbolic mode";
      return Promise.resolve({ stdout: "", stderr: `bash: umask: ${word}: ${message}\n`, exitCode: 1 });
    }
    files.umask = mask & 0o777;
    return Promise.resolve({ stdout: "", stderr: "", exitCode: 0 });
  });
}

/** Applies a symbolic mode such as `u=rwx,go-w` to the permissions that a mask leaves. */
function maskOf(text: string, mask: number): number | undefined {
  let rights = ~mask & 0o777;
  for (const clause of text.split(",")) {
    const [, who = "", operator, letters = ""] = /^([ugoa]*)([-+=])([rwx]*)$/.exec(clause) ?? [];
    if (operator === undefined) return undefined;
    const all = [...who || "a"].reduce(
      (bits, one) => bits | (one === "u" ? 0o700 : one === "g" ? 0o070 : one === "o" ? 0o007 : 0o777),
      0,
    );
    const bits = [...letters].reduce((sum, letter) =>
      sum | 0o111 * (letter === "r" ? 4 : letter === "w" ? 2 : 1), 0) & all;
    if (operator === "-") {
      rights &= ~bits;
    } else rights = operator === "=" ? rights & ~all | bits : rights | bits;
  }
  return ~rights & 0o777;
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

/** Quotes a word for the shell. */
function quoteWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** `awk` of the engine, whose arguments are first rewritten to forms that it understands. */
function awkCommands(files: ShellFiles): Command[] {
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

/** Arguments for which the engine's command would print something else without an error. */
const WRONG_ARGUMENTS: Readonly<Record<string, RegExp>> = {
  jq: /@csv/,
};

/** Refuses arguments that a command of the engine gets wrong. */
function refusingCommands(): Command[] {
  return Object.entries(WRONG_ARGUMENTS).map(([name, pattern]) =>
    defineCommand(name, async (args, { origCommand }) => {
      if (!origCommand) throw new Error(`'${name}' is not a command of the engine`);
      const word = args.find((text) => pattern.test(text));
      if (word !== undefined) {
        return { stdout: "", stderr: `${name}: '${word}' is not available in the sandbox\n`, exitCode: 2 };
      }
      return await origCommand(args);
    })
  );
}

/** `printf` as the builtin of bash is. The engine only sets the variable of `-v`. */
function printfCommand(files: ShellFiles): Command {
  return defineCommand("printf", async (args, { exportedEnv = {}, origCommand }) => {
    const [first = "", second] = args;
    const isSet = first.startsWith("-v");
    const variable = first === "-v" ? second : first.slice(2);
    let rest = isSet ? args.slice(first === "-v" ? 2 : 1) : args;
    const isUnknown = !isSet && /^-[^-]/.test(first);
    if (rest[0] === "--") rest = rest.slice(1);
    const [format, ...words] = rest.map(byteText);
    if (format === undefined || isUnknown) {
      const unknown = isUnknown ? `bash: printf: ${first.slice(0, 2)}: invalid option\n` : "";
      return {
        stdout: "",
        stderr: `${unknown}printf: usage: printf [-v var] format [arguments]\n`,
        exitCode: 2,
      };
    }
    const context = { files: files.forCommands, variables: exportedEnv };
    const { formatPrintf } = await gnuModule.get();
    const { text, errors, exitCode } = formatPrintf(format, words, context);
    const stderr = errors.map((error) => `bash: printf: ${error}\n`).join("");
    if (!isSet) return { stdout: text, stdoutKind: "bytes", stderr, exitCode };
    if (!origCommand) throw new Error("'printf' is not a command of the engine");
    const result = await origCommand(["-v", variable ?? "", "%s", unicodeText(text)]);
    return { ...result, stderr: result.stderr + stderr, exitCode: result.exitCode || exitCode };
  });
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

/** Commands that print facts about the system. */
function systemCommands(): Command[] {
  const uname = defineCommand("uname", (args) => {
    return printLine(args.includes("-a") ? "Linux localhost 5.15.0 x86_64 GNU/Linux" : "Linux");
  });
  const id = defineCommand("id", (args) => {
    const flags = args.join("").replaceAll("-", "");
    if (flags === "") return printLine(`uid=${UID}(${USER}) gid=${UID}(${USER}) groups=${UID}(${USER})`);
    return printLine(flags.includes("n") ? USER : String(UID));
  });
  const whoami = defineCommand("whoami", () => printLine(USER));
  return [uname, id, whoami];
}

/** Commands that print the exported variables. The engine's print all variables. */
function environmentCommands(): Command[] {
  return ["printenv"].map((name) =>
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
