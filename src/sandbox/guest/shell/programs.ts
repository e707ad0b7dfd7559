import { defineCommand } from "./engine.ts";
import type { Command } from "just-bash";
import type { ShellFiles } from "./files.ts";
import { latin1 } from "./script/byte_text.ts";
import { type GnuCommand, UsageError } from "./gnu/command.ts";
import { clock } from "./clock.ts";
import { consoleScripts } from "./console_scripts.ts";
import type { RareCommand } from "./rare_commands.ts";
import { GNU_NAMES } from "./gnu/gnu_names.ts";
import { takeAll } from "./programs/coproc_input.ts";
import { type EngineCommandParts, toEngineCommand } from "./programs/engine_command.ts";
import { printfCommand } from "./programs/printf_command.ts";
import { refusingCommands } from "./programs/refused_arguments.ts";
import { shells, type StartedShell } from "./programs/shells.ts";
import { runWithFiles } from "./programs/substitutions.ts";
import { environmentCommands, systemCommands } from "./programs/system.ts";
import { timeoutCommand } from "./programs/timeout.ts";
import { umaskCommand } from "./programs/umask.ts";

/** A Python program that the shell starts. */
export interface ProgramRequest {
  /** The arguments after `python`. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The exported variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Text in which each character is a byte. */
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

/** Commands for files of gzip, which another module of the library runs. */
export const GZIP_COMMANDS = ["gzip", "gunzip", "zcat"];

/** Program that runs `pip`. */
const PIP = ["-m", "_shell_packages", "pip"];

const decoder = new TextDecoder();
/** Exit code of a program that wrote to a closed pipe. */
const SIGPIPE_CODE = 141;
/** Capacity of a pipe and a reader's buffer on Linux, together. */
const YES_BYTES = 131_072;

/** What the commands use. */
export interface CommandParts {
  readonly runPython: (request: ProgramRequest, signal?: AbortNotice) => Promise<ProgramResult>;
  /** Called before a command starts a shell. */
  readonly onShell: (shell: StartedShell) => void;
  readonly streams: EngineCommandParts["streams"];
  readonly processes: EngineCommandParts["processes"];
}

/** Creates the commands that the engine lacks or gets wrong. `yes` ends after the output that a reader would take. */
export function createCommands(files: ShellFiles, parts: CommandParts): Command[] {
  const { runPython, onShell } = parts;
  const pythonCommand = (name: string, head: readonly string[]) =>
    defineCommand(name, async (args, { cwd, exportedEnv = {}, stdin, signal, fs }) => {
      const own = files.input?.isCurrent ? files.input : undefined;
      await own?.waitForEnd();
      const text = own ? takeAll(own) : String(stdin ?? "");
      const request = { argv: [...head, ...args], cwd, env: exportedEnv, stdin: text };
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
  const gzips = GZIP_COMMANDS.map((name) => pythonCommand(name, ["-m", "_shell_gzip", name]));
  const yes = defineCommand("yes", (args) => {
    const words = args[0] === "--" ? args.slice(1) : args;
    const line = `${words.length > 0 ? words.join(" ") : "y"}\n`;
    const stdout = line.repeat(Math.ceil(YES_BYTES / line.length));
    return Promise.resolve({ stdout, stderr: "", exitCode: SIGPIPE_CODE });
  });
  return [
    ...scripts,
    ...python,
    ...pips,
    ...archives,
    ...gzips,
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
    ...refusingCommands(),
    printfCommand(files, () => gnuModule.get()),
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

/** Loads the modules of all commands. */
export async function loadModules(): Promise<void> {
  await Promise.all([gnuModule.get(), rareModule.get()]);
}

/** Commands that few programs use, which are a module of their own. */
const RARE_COMMANDS: Readonly<Record<RareCommand, true>> = {
  arch: true,
  awk: true,
  base32: true,
  chgrp: true,
  chown: true,
  cksum: true,
  csplit: true,
  dd: true,
  df: true,
  factor: true,
  file: true,
  fmt: true,
  gawk: true,
  git: true,
  hexdump: true,
  iconv: true,
  less: true,
  md5sum: true,
  more: true,
  nawk: true,
  nice: true,
  numfmt: true,
  od: true,
  pgrep: true,
  pkill: true,
  ps: true,
  rg: true,
  sha1sum: true,
  sha256sum: true,
  sha384sum: true,
  sha512sum: true,
  setsid: true,
  shuf: true,
  split: true,
  stdbuf: true,
  sum: true,
  top: true,
  truncate: true,
  tsort: true,
  tty: true,
  xxd: true,
  zegrep: true,
  zfgrep: true,
  zgrep: true,
  zless: true,
  zmore: true,
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
