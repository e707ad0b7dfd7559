import { Command } from "commander";
import { mapConcurrently } from "../../src/async/map_concurrently.ts";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { currentIo } from "../../src/cli/io.ts";
import { parseWholeNumber } from "../../src/cli/options.ts";
import { writeText } from "../../src/cli/output.ts";
import { flagsOf } from "../../src/cli/sandbox_options.ts";
import { SandboxPool } from "../../src/sandbox/pool.ts";
import { loadProfile, type Profile } from "../../src/sandbox/profile/profile.ts";
import { findPython } from "../peers.ts";
import { cacheDirOption, exitWithUsage } from "../program.ts";
import { compareProgram, type Comparison } from "./compare_program.ts";
import { formatTable, isLost } from "./table.ts";
import { type ProgramCase, readPrograms } from "./programs.ts";

interface CompareFlags {
  python: string;
  json?: string;
  again?: string;
  jobs: number;
  limit?: number;
  timeout: number;
  sessionTimeout: number;
  fresh?: true;
  shell?: true;
  cacheDir?: string;
}

const NOTES = `
DIR has a folder for each corpus, and in it, at any depth, a folder for each program: main.py, further files, and
files *.in with the programs' input. A program runs once for each *.in, or once without input. Each runs natively, in
a folder of its own, and in a session that was rewound. THE PROGRAMS RUN ON THE HOST WITH ITS RIGHTS: give --python a
wrapper that takes them away for programs that you do not trust.

Two runs are the same if exit code, stdout and last line of stderr agree. These differences do not count: programs
that time out natively, that differ from run to run natively, the order of words (of a printed set), and the last
digits of floats.

Exit codes: 0 all programs are the same, 1 some differ, 2 wrong usage, 130 interrupted.`;

function compareCommand(): Command {
  return new Command("compare")
    .description("Run programs natively and in sessions, and compare what they print")
    .argument("<dir>", "folder of programs")
    .option("--python <path>", "native interpreter", "python3")
    .option("--json <file>", "file for the differences")
    .option("--again <file>", "run only the programs that differ in this file, which --json wrote")
    .option("--jobs <n>", "programs at a time", parseWholeNumber(1), navigator.hardwareConcurrency)
    .option("--limit <n>", "run only the first programs of each corpus", parseWholeNumber(1))
    .option("--timeout <n>", "time limit of a native run, in seconds", parseWholeNumber(1), 10)
    .option("--session-timeout <n>", "time limit of a run in a session, in seconds", parseWholeNumber(1), 60)
    .option("--fresh", "start an interpreter for each program instead of a rewind")
    .option("--shell", "give the programs a shell")
    .addOption(cacheDirOption())
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((folder: string, _: object, command: Command) =>
      runCommand(async (signal) => await comparePrograms(folder, flagsOf<CompareFlags>(command), signal))
    );
}

async function comparePrograms(folder: string, flags: CompareFlags, signal: AbortSignal): Promise<number> {
  const python = await findPython(flags.python);
  if (python === undefined) {
    throw new UsageError(`Cannot compare with '${flags.python}' as it must be a Python interpreter`);
  }
  const programs = await selectPrograms(folder, flags);
  if (programs.length === 0) throw new UsageError(`Cannot find programs in '${folder}'`);
  await using pool = new SandboxPool({
    profile: await sharedProfile(flags),
    cacheDir: flags.cacheDir,
    size: flags.jobs,
    resetMode: flags.fresh ? "fresh" : "rewind",
    signal,
  });
  const options = {
    python: flags.python,
    pool,
    timeoutMs: flags.timeout * 1000,
    sessionTimeoutMs: flags.sessionTimeout * 1000,
  };
  const comparisons: Comparison[] = [];
  const { stdout, stderr } = currentIo();
  const run = (program: ProgramCase, signal: AbortSignal) => compareProgram(program, { ...options, signal });
  try {
    for await (const result of mapConcurrently(programs, run, { concurrency: flags.jobs, signal })) {
      comparisons.push(result);
      if (result.cause !== undefined) await writeText(stderr, `${result.cause}: ${result.name}\n`);
      if (comparisons.length % 100 === 0) {
        await writeText(stderr, `${comparisons.length}/${programs.length}\n`);
      }
    }
  } finally {
    await writeText(
      stdout,
      `CPython ${python.version}, ${comparisons.length} of ${programs.length} programs\n`,
    );
    await writeText(stdout, formatTable(comparisons));
    const differences = comparisons.filter(({ cause }) => cause !== undefined);
    if (flags.json !== undefined) await Deno.writeTextFile(flags.json, JSON.stringify(differences, null, 1));
  }
  return comparisons.some(isLost) ? EXIT.error : EXIT.ok;
}

async function selectPrograms(
  folder: string,
  { again, limit = Infinity }: CompareFlags,
): Promise<ProgramCase[]> {
  const names = again === undefined ? undefined : await readNames(again);
  const counts = new Map<string, number>();
  const selected: ProgramCase[] = [];
  for await (const program of readPrograms(folder)) {
    if (names !== undefined && !names.has(program.name)) continue;
    const count = counts.get(program.corpus) ?? 0;
    counts.set(program.corpus, count + 1);
    if (count < limit) selected.push(program);
  }
  return selected;
}

async function readNames(file: string): Promise<Set<string>> {
  const entries: { name: string }[] = JSON.parse(await Deno.readTextFile(file));
  return new Set(entries.map(({ name }) => name));
}

/** Returns the profile of `/run_code` with all sessions in one process. */
async function sharedProfile({ jobs, shell }: CompareFlags): Promise<Profile> {
  const profile = await loadProfile("serve");
  return {
    ...profile,
    shell: shell === true,
    sessionsPerProcess: jobs,
    limits: { ...profile.limits, cpuSeconds: 3600 },
  };
}

if (import.meta.main) await compareCommand().parseAsync(Deno.args, { from: "user" });
