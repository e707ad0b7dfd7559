import { Command, Option } from "commander";
import { EXIT, runCommand } from "../src/cli/run_command.ts";
import {
  announceBuild,
  cacheDirectory,
  flagsOf,
  resolveProfile,
  type SandboxFlags,
} from "../src/cli/sandbox_options.ts";
import { UsageError } from "../src/cli/cli_errors.ts";
import { parseWholeNumber } from "../src/cli/options.ts";
import { writeText } from "../src/cli/output.ts";
import { detectLayers } from "../src/sandbox/process/layers.ts";
import { chaosRows, lifecycleRows } from "./chaos/chaos_rows.ts";
import { clientRows } from "./client_rows.ts";
import { compareReports, formatComparison, readReport, type Report } from "./comparison.ts";
import { checkRows } from "./check_rows.ts";
import { checkpointRows } from "./checkpoint_rows.ts";
import { densityRows } from "./density_rows.ts";
import { execRows } from "./exec_rows.ts";
import { edgeRows, missingForEdgeModule } from "./edge_rows.ts";
import { codeModeRows } from "./code_mode_rows.ts";
import { envRows, vectorRows } from "./env_rows.ts";
import { episodeRows } from "./episode_rows.ts";
import { gradeRows } from "./grade_rows.ts";
import { hibernationGrowthRows, hibernationRows } from "./hibernation_rows.ts";
import { loadRows } from "./load_rows.ts";
import { mathVerifyRows, missingForMathVerify } from "./math_verify_rows.ts";
import { overheadRows } from "./overhead_rows.ts";
import { missingForPackages, packageRows } from "./package_rows.ts";
import { missingForPeers, peerRows } from "./peer_rows.ts";
import { findPython, type HostPython } from "./peers.ts";
import { programRows } from "./program_rows.ts";
import { pythonRows } from "./python_rows.ts";
import { cacheDirOption, exitWithUsage } from "./program.ts";
import { formatRows, reaches, type Row } from "./row.ts";
import { type BenchSetup, growthRow, ownProcessRows, poolRows, sharedProcessRows } from "./sandbox_rows.ts";
import { agentCommandRows, shellRows } from "./shell_rows.ts";
import { startRows } from "./start_rows.ts";
import { tokenRows } from "./token_rows.ts";
import { templateRows } from "./template_rows.ts";
import { throughputRows } from "./throughput_rows.ts";
import { trainingRows } from "./training_rows.ts";
import { viewerRows } from "./viewer_rows.ts";
import { workspaceRows } from "./workspace_rows.ts";

interface BenchFlags extends SandboxFlags {
  effort: number;
  json?: string;
  against?: string;
  part?: BenchPart;
  mathVerifyPython?: string;
}

type Measure = (setup: BenchSetup) => Promise<Row[]>;

/** Measurements by the names that `--part` accepts; each has its peers in the same run. */
const BENCH_PARTS = {
  exec: [execRows],
  sandbox: [ownProcessRows, sharedProcessRows, poolRows],
  checkpoint: [checkpointRows],
  starts: [startRows],
  programs: [programRows],
  python: [pythonRows],
  throughput: [throughputRows],
  peers: [peerRows],
  shell: [shellRows],
  workspace: [agentCommandRows, workspaceRows],
  episodes: [episodeRows],
  envs: [envRows, vectorRows, codeModeRows],
  training: [trainingRows],
  edge: [edgeRows],
  server: [overheadRows, clientRows, loadRows],
  tokens: [tokenRows],
  templates: [templateRows],
  grade: [gradeRows],
  check: [checkRows],
  "math-verify": [mathVerifyRows],
  packages: [packageRows],
  growth: [async (setup) => [await growthRow(setup)]],
  chaos: [chaosRows],
  lifecycle: [lifecycleRows],
  density: [densityRows],
  hibernation: [hibernationRows],
  hibernations: [hibernationGrowthRows],
  viewer: [viewerRows],
} as const satisfies Record<string, readonly Measure[]>;

/** Name of a part of the benchmark. */
type BenchPart = keyof typeof BENCH_PARTS;

/**
 * Parts that run only by `--part`, since they harm a server, take most of the host's memory or 2 GB of its disk, or take
 * many minutes.
 */
const APART: ReadonlySet<BenchPart> = new Set([
  "chaos",
  "lifecycle",
  "density",
  "hibernation",
  "hibernations",
  "viewer",
]);

/** Names of all parts. */
const BENCH_PART_NAMES = Object.keys(BENCH_PARTS) as BenchPart[];

/** Runs one part, or all parts but {@linkcode APART} one after the other. */
async function* bench(setup: BenchSetup, part?: BenchPart): AsyncGenerator<Row> {
  const parts = part === undefined ? BENCH_PART_NAMES.filter((name) => !APART.has(name)) : [part];
  for (const measure of parts.flatMap((name): readonly Measure[] => BENCH_PARTS[name])) {
    yield* await measure(setup);
  }
}

const HELP = `
The figures are medians, with the quartiles of their runs; those of peers come from the same run. On a busy machine,
compare ratios. Needs no network. The part 'peers' needs other systems, which 'deno task bench:peers' installs.

With --against, the rows of this run, or of FILE without a run, are compared with those of an earlier file. A row is
worse if the quartiles of the two do not overlap.

Exit codes: 0 measured, even if a bound is missed; 1 a response was wrong, a process was left behind, or a row is worse
than --against.`;

/** Returns the program of `deno task bench`: measures the figures of the README. */
function benchCommand(): Command {
  return new Command("bench")
    .description("Measure starts, execs, rewinds and memory, with peers in the same run")
    .addOption(
      new Option("-p, --profile <name>", "a profile with host tools: a name or a file").default("tools"),
    )
    .option("--effort <n>", "multiplies the number of runs", parseWholeNumber(1), 1)
    .addOption(
      new Option(
        "--part <name>",
        "measure only this part; chaos, lifecycle, density, hibernation, hibernations and viewer run only this way",
      )
        .choices(
          BENCH_PART_NAMES,
        ),
    )
    .addOption(
      new Option("--math-verify-python <file>", "a Python with math-verify 0.9.0, to compare with").env(
        "PADDOCK_MATH_VERIFY_PYTHON",
      ),
    )
    .argument("[file]", "rows that --json has written, to compare by --against instead of a run")
    .option("--json <file>", "also write the rows to a file")
    .option("--against <file>", "compare with the rows that --json has written to a file")
    .addOption(cacheDirOption())
    .addHelpText("after", HELP)
    .exitOverride(exitWithUsage)
    .action((file: string | undefined, _flags: unknown, command: Command) =>
      runCommand(async () => {
        const flags = flagsOf<BenchFlags>(command);
        if (file === undefined) return await runBench(flags);
        if (flags.against !== undefined) {
          return await printComparison(await readReport(flags.against), await readReport(file));
        }
        throw new UsageError(`Cannot compare '${file}' as --against must name an earlier file`);
      })
    );
}

async function runBench(flags: BenchFlags): Promise<number> {
  const profile = await resolveProfile(flags, new AbortController().signal);
  const [detected, python] = await Promise.all([detectLayers(), findPython()]);
  const { effort, mathVerifyPython } = flags;
  const cacheDir = cacheDirectory(flags.cacheDir);
  const setup = { profile, detected, python, mathVerifyPython, effort, cacheDir, onBuild: announceBuild };
  const earlier = flags.against === undefined ? undefined : await readReport(flags.against); // fails before the run
  const rows: Row[] = [];
  for await (const row of bench(setup, flags.part)) {
    rows.push(row);
    await writeText(
      Deno.stderr,
      Deno.stderr.isTerminal() ? `\r\x1b[K${rows.length} measured: ${row.what}` : "",
    );
  }
  await writeText(Deno.stderr, Deno.stderr.isTerminal() ? "\r\x1b[K" : "");
  await writeText(Deno.stdout, `${formatRows(rows)}\n\n${describePython(python)}\n`);
  await reportMissing(setup, flags.part);
  if (flags.json !== undefined) {
    await Deno.writeTextFile(flags.json, `${JSON.stringify(report(rows, python), null, 2)}\n`);
  }
  const isWrong = rows.some((row) => row.unit === "errors" && reaches(row) === false);
  const compared = earlier ? await printComparison(earlier, report(rows, python)) : EXIT.ok;
  return isWrong ? EXIT.error : compared;
}

/** Returns 1 if a row is worse than before. */
async function printComparison(before: Report, after: Report): Promise<number> {
  const rows = compareReports(before, after);
  await writeText(Deno.stdout, `${formatComparison(rows)}\n`);
  return rows.some(({ change }) => change === "worse") ? EXIT.error : EXIT.ok;
}

/** Says which rows are left out, and what they need. */
async function reportMissing(setup: BenchSetup, part: BenchPart | undefined): Promise<void> {
  const missing = [
    ["math-verify", "math-verify", await missingForMathVerify(setup)],
    ["packages", "packages", missingForPackages(setup)],
    ["edge", "the edge module", await missingForEdgeModule()],
    ["peers", "other systems", await missingForPeers()],
  ] as const;
  for (const [name, what, reason] of missing) {
    const isMeasured = part === undefined || part === name;
    if (isMeasured && reason !== undefined) await writeText(Deno.stdout, `No rows of ${what}: ${reason}\n`);
  }
}

function report(rows: readonly Row[], python: HostPython | undefined): Report {
  return {
    deno: Deno.version.deno,
    system: `${Deno.build.os} ${Deno.build.arch}`,
    cores: navigator.hardwareConcurrency,
    python: python ?? null,
    rows,
  };
}

function describePython(python: HostPython | undefined): string {
  if (python === undefined) return "Found no python3: its rows are omitted.";
  return `python3 of the peers: ${python.version}, ${python.executable}`;
}

if (import.meta.main) await benchCommand().parseAsync(Deno.args, { from: "user" });
