import { Command } from "commander";
import * as z from "zod";
import { abortable } from "../async/abort.ts";
import type { ExecResult } from "../sandbox/contract/exec.ts";
import { checkExec } from "../sandbox/contract/exec_fields.ts";
import { limitsSchema, MEMORY_RANGE_BYTES } from "../sandbox/profile/schema.ts";
import type { Profile } from "../sandbox/profile/profile.ts";
import { EXIT, EXIT_CODES, exitCode, runCommand } from "./run_command.ts";
import {
  checkOutputFiles,
  type FileCopy,
  parseInputFile,
  parseOutputFile,
  readInputFiles,
  saveOutputFiles,
  writeInputFiles,
} from "./exec/files.ts";
import { formatShown, ShownFiles } from "./exec/shown_objects.ts";
import { MODULE_FLAGS } from "./exec/program_arguments.ts";
import { readProgram, STDIN } from "./input.ts";
import { interact } from "./repl.ts";
import {
  cacheDirectory,
  clockOption,
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
  startSandbox,
} from "./sandbox_options.ts";
import { withProgramPackages } from "./packages/with_deps.ts";
import { createInstallation } from "./packages/sources.ts";
import { TextQueue, toSinkText, writeText } from "./output.ts";
import { checkUsage, UsageError } from "./cli_errors.ts";
import { parseWholeNumber } from "./options.ts";
import { currentIo } from "./io.ts";
import { escapeJsonControls } from "../terminal_text.ts";

interface ExecFlags extends SandboxFlags {
  eval?: string;
  module?: string;
  interactive?: boolean;
  timeoutMs?: number;
  memoryMb?: number;
  stdin?: string;
  json?: boolean;
  withDeps?: boolean;
  file?: FileCopy[];
  get?: FileCopy[];
  saveDisplay?: string;
}

const MIB = 1024 * 1024;

const EXAMPLES = `
Examples:
  paddock exec -e 'print(sum(range(10)))'
  paddock exec --timeout-ms 2000 program.py --verbose 3
  paddock exec -m json.tool < data.json
  paddock exec --with-deps script.py
  paddock exec --file data.csv --get plot.png=out/plot.png plot.py
  echo 'print(1)' | paddock exec --json
  echo 21 | paddock exec -e 'print(2 * int(input()))'

FILE and MODULE run as with python: everything after them is sys.argv. -e runs a block, as in a session: its last
expression has a value, and it may use await.

--file and --get come before the program, and names are relative to the sandbox's working directory. A file of --get
that the program did not write is reported, and the exit code is 1; a path that cannot be written gives 74.

Stdin is passed to a module, and to a program that calls input() or names stdin, unless stdin is a terminal. It is read
to its end.
`;

/** Returns the command `exec`, which runs a program and prints the output. */
export function execCommand(): Command {
  return new Command("exec")
    .description("Run a Python program in a sandbox and print its output")
    .argument("[file]", "program file, in UTF-8; - reads stdin, as does no program at all if stdin is a pipe")
    .argument("[args...]", "arguments of the program")
    .optionsGroup("Program:")
    .option("-e, --eval <code>", "program text")
    .option(MODULE_FLAGS, "module of the library that runs as the program")
    .option("-i, --interactive", "continue with an interactive interpreter after the program")
    .optionsGroup("Sandbox:")
    .addOption(profileOption())
    .addOption(clockOption())
    .option("--timeout-ms <n>", "time limit, in milliseconds (default: the profile's)", parseWholeNumber(1))
    .option(
      "--memory-mb <n>",
      "memory limit, in MiB, interpreter included (default: the profile's)",
      parseWholeNumber(1),
    )
    .optionsGroup("Files and input:")
    .option("--stdin <file>", "file that input() reads; - reads stdin")
    .option(
      "--with-deps",
      "add the packages that FILE names in a block '# /// script', or requirements.txt beside it",
    )
    .option(
      "--file <path>",
      "copy a file into the sandbox before the program; PATH=NAME gives it another name; repeatable",
      parseInputFile,
    )
    .option(
      "--get <name>",
      "copy a file of the sandbox to this folder after the program, or NAME=PATH elsewhere; repeatable",
      parseOutputFile,
    )
    .option(
      "--save-display <dir>",
      "save images, HTML and other objects that the program shows as files of a folder",
    )
    .optionsGroup("Output:")
    .option("--json", "print only the result, as one line of JSON")
    .addHelpText("after", EXAMPLES + EXIT_CODES)
    .action(async (file: string | undefined, args: string[], _: object, command: Command) => {
      const words = file === undefined ? [] : [file, ...args];
      await runCommand((signal) => runExec(words, flagsOf(command), signal));
    });
}

async function runExec(words: readonly string[], flags: ExecFlags, signal: AbortSignal): Promise<number> {
  const { timeoutMs, json, get = [] } = flags;
  if (flags.interactive && json) {
    throw new UsageError("Cannot print JSON and start an interactive interpreter");
  }
  const base = withMemory(await resolveProfile(flags, signal), flags.memoryMb);
  const profile = flags.withDeps ? await withDependencies(base, { words, flags, signal }) : base;
  const io = currentIo();
  const { stdin: input, eval: code, module } = flags;
  const source = { code, module, words, stdin: input, isTerminal: io.stdin.isTerminal() };
  const program = await abortable(readProgram(source), signal);
  checkUsage(() => checkExec(program.code, { timeoutMs }, profile));
  await checkOutputFiles(get);
  const files = await abortable(readInputFiles(flags.file ?? [], profile.limits), signal);
  const shownFiles = flags.saveDisplay === undefined ? undefined : await ShownFiles.open(flags.saveDisplay);
  await using sandbox = await startSandbox(profile, { cacheDir: flags.cacheDir, signal });
  const session = await sandbox.openSession({ signal });
  await writeInputFiles(session, files);
  const output = new TextQueue();
  const result = await session.exec(program.code, {
    timeoutMs,
    stdin: program.stdin,
    argv: program.argv,
    signal: AbortSignal.any([signal, output.signal]),
    ...(!json && {
      onOutput: (stream, text) => output.write(io[stream], toSinkText(io[stream], text)),
      onDisplay: (bundle) => output.write(io.stdout, formatShown(bundle, io)),
    }),
  });
  await output.flush();
  signal.throwIfAborted();
  if (json) await writeText(io.stdout, `${escapeJsonControls(JSON.stringify(result))}\n`);
  else await writeText(io.stderr, toSinkText(io.stderr, formatEpilogue(result, profile)));
  const ended = flags.interactive
    ? await interact(session, { cacheDir: flags.cacheDir, signal })
    : exitCode(result);
  const saved = await shownFiles?.save(result.display ?? []) ?? [];
  for (const path of saved) await writeText(io.stderr, `saved ${path}\n`);
  const isComplete = await saveOutputFiles(session, get, result);
  return isComplete || ended !== EXIT.ok ? ended : EXIT.error;
}

/** Returns the profile with the packages that the program names. */
async function withDependencies(
  profile: Profile,
  { words: [file], flags, signal }: { words: readonly string[]; flags: ExecFlags; signal: AbortSignal },
): Promise<Profile> {
  if (file === undefined || file === STDIN || flags.eval !== undefined || flags.module !== undefined) {
    throw new UsageError("Cannot add the packages of a program as --with-deps needs a program file");
  }
  return await withProgramPackages(
    profile,
    file,
    createInstallation({ yes: flags.yes ?? false }, {
      cacheDir: cacheDirectory(flags.cacheDir),
      signal,
    }),
  );
}

/** Returns the text for stderr after the program: a note on dropped output, and the traceback. */
function formatEpilogue(result: ExecResult, profile: Profile): string {
  const notice = result.truncated
    ? `paddock: output beyond ${profile.limits.outputBytes} bytes was dropped\n`
    : "";
  return notice + ("error" in result ? result.error.traceback : "");
}

/** Returns the profile with another memory limit. */
function withMemory(profile: Profile, memoryMb: number | undefined): Profile {
  if (memoryMb === undefined) return profile;
  const limits = z.safeParse(limitsSchema, { ...profile.limits, memoryBytes: memoryMb * MIB });
  if (limits.success) return { ...profile, limits: limits.data };
  const { min, max } = MEMORY_RANGE_BYTES;
  throw new UsageError(
    `Cannot limit memory to ${memoryMb} MiB as --memory-mb must be from ${min / MIB} to ${max / MIB}`,
  );
}
