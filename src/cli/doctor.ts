import { Command } from "commander";
import { join } from "node:path";
import { errorMessage } from "../errors.ts";
import type { PythonSession } from "../sandbox/contract/pool.ts";
import { ensureBaseImage } from "../sandbox/image/base_image.ts";
import { PYODIDE_VERSION } from "../sandbox/image/pyodide.ts";
import {
  activeLayers,
  detectLayers,
  LAYER_REMEDIES,
  type LayerReport,
  type LayerState,
  layerStates,
} from "../sandbox/process/layers.ts";
import { inspectWalls, type WallCheck } from "../sandbox/process/walls.ts";
import type { Profile } from "../sandbox/profile/profile.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { DENO_NEEDED, DENO_VERSION, PADDOCK_VERSION } from "../version.ts";
import { EXIT, runCommand } from "./run_command.ts";
import { type DoctorAttempt, runAttempts, toAttemptProfile } from "./doctor/doctor_attempts.ts";
import { type HostSetting, inspectHost } from "./doctor/doctor_host.ts";
import { currentIo } from "./io.ts";
import { wantsColour, writeText } from "./output.ts";
import {
  announceBuild,
  cacheDirectory,
  flagsOf,
  lackingLayers,
  profileOption,
  resolveProfile,
  type SandboxFlags,
} from "./sandbox_options.ts";

interface DoctorFlags extends SandboxFlags {
  json?: boolean;
}

const NOTES = `
Example:
  paddock doctor -p strict --json

Exit codes: 0 ok, 1 a required layer is missing or a check failed, 2 wrong usage, 130 interrupted.`;

/** Returns the command `doctor`, which checks the isolation layers and limits of a sandbox on this host. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("Check the isolation layers and limits of a sandbox on this host, and measure its speed")
    .addOption(profileOption())
    .option("--json", "print one JSON object")
    .addHelpText("after", NOTES)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runDoctor(flagsOf(command), signal));
    });
}

async function runDoctor(flags: DoctorFlags, signal: AbortSignal): Promise<number> {
  const report = await createReport(
    await resolveProfile(flags, signal),
    cacheDirectory(flags.cacheDir),
    signal,
  );
  const colour = wantsColour();
  await writeText(
    currentIo().stdout,
    flags.json ? `${JSON.stringify(report)}\n` : formatReport(report, { colour }),
  );
  return report.ok ? EXIT.ok : EXIT.error;
}

async function createReport(profile: Profile, cacheDir: string, signal: AbortSignal): Promise<DoctorReport> {
  const detected = await detectLayers();
  const deno = { version: Deno.version.deno, ok: isAtLeast(Deno.version.deno, DENO_NEEDED) };
  const checked = await checkSandbox(profile, { cacheDir, detected, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    return { failure: errorMessage(error) };
  });
  const host = await inspectHost();
  const outcome = { image: null, attempts: [], times: null, failure: null, ...checked };
  const layers = layerStates(profile, detected);
  return {
    ok: deno.ok && outcome.failure === null && outcome.attempts.every((attempt) => attempt.holds),
    paddock: PADDOCK_VERSION,
    deno,
    pyodide: PYODIDE_VERSION,
    profile: profile.name,
    layers,
    host,
    ...outcome,
    fixes: findFixes({ deno, layers, ...outcome }),
  };
}

/** Starts a sandbox with the profile, measures the sandbox, and attacks the limits. */
async function checkSandbox(
  profile: Profile,
  options: { cacheDir: string; detected: readonly LayerReport[]; signal: AbortSignal },
): Promise<Required<Pick<DoctorReport, "image" | "attempts" | "times" | "walls">>> {
  const { cacheDir, detected, signal } = options;
  activeLayers(profile, detected);
  let state: "cached" | "built" = "cached";
  const onBuild = () => {
    state = "built";
    announceBuild();
  };
  const { directory } = await ensureBaseImage(profile, { cacheDir, onBuild });
  const startedAt = performance.now();
  await using sandbox = await Sandbox.start({
    profile: toAttemptProfile(profile),
    cacheDir,
    detected,
    signal,
  });
  const session = await sandbox.openSession({ signal });
  const startMs = performance.now() - startedAt;
  const times = { startMs, ...await measure(session, signal) };
  const walls = await inspectWalls(sandbox.pid ?? 0).catch(() => []); // a host without /proc shows none
  const attempts = await runAttempts(session, sandbox.profile.limits, signal);
  const bytes = await measureDirectoryBytes(directory);
  return { image: { state, directory, bytes }, attempts, times, walls };
}

/** Report of `paddock doctor`. */
export interface DoctorReport {
  readonly ok: boolean;
  readonly paddock: string;
  readonly deno: { readonly version: string; readonly ok: boolean };
  readonly pyodide: string;
  readonly profile: string;
  readonly layers: readonly LayerState[];
  readonly image:
    | { readonly state: "cached" | "built"; readonly directory: string; readonly bytes: number }
    | null;
  readonly attempts: readonly DoctorAttempt[];
  /** Walls around the process of a sandbox, as the host sees them, if a sandbox was started. */
  readonly walls?: readonly WallCheck[];
  /** Settings of the host that sandboxes depend on. They are no failures. */
  readonly host?: readonly HostSetting[];
  readonly times: Times | null;
  /** Reason why no sandbox could be checked; `null` after a check. */
  readonly failure: string | null;
  /** Advice for each problem. */
  readonly fixes: readonly Fix[];
}

/** A problem that the report shows, and the solution. */
export interface Fix {
  readonly problem: string;
  readonly fix: string;
}

const REPORT_IT = "this must not happen on any host: report it, with the output of paddock doctor --json";
const STRENGTHEN =
  "make the layers work that do not, or start only with them: a profile with layers that are 'required', as strict";

/** Returns how to solve the problems of a report. */
export function findFixes(
  { deno, layers, failure, attempts, walls = [] }: Omit<
    DoctorReport,
    "fixes" | "ok" | "paddock" | "pyodide" | "profile"
  >,
): Fix[] {
  const remedies = Map.groupBy(lackingLayers(layers), ({ layer }) => LAYER_REMEDIES[layer]);
  const broken = attempts.filter(({ holds }) => !holds).map(({ name }) => `not true: ${name}`);
  const open = walls.filter(({ holds }) => !holds).map(({ name }) => `not true: ${name}`);
  const hasLayers = !layers.some(({ missing }) => missing);
  return [
    ...(deno.ok ? [] : [{
      problem: `Deno ${deno.version}`,
      fix: `npx -y deno@${DENO_VERSION}, or deno upgrade ${DENO_VERSION}`,
    }]),
    ...[...remedies].map(([fix, found]) => ({ problem: found.map(({ layer }) => layer).join(", "), fix })),
    ...(failure === null || !hasLayers ? [] : [{ problem: "no sandbox starts", fix: FIX_START }]),
    ...broken.map((problem) => ({ problem, fix: REPORT_IT })),
    ...open.map((problem) => ({ problem, fix: STRENGTHEN })),
  ];
}

const FIX_START =
  "the line with ✗ names the cause; try another profile (-p python), another cache (--cache-dir), and paddock cache clear";

const GREEN = "\x1b[32m";
const RED = "\x1b[31m";
const PLAIN = "\x1b[0m";

/** Formats a report as readable text. */
export function formatReport(report: DoctorReport, options: { colour: boolean }): string {
  const line = (isGood: boolean, text: string) => {
    const row = `${isGood ? "✓" : "✗"} ${text}`;
    return options.colour ? `${isGood ? GREEN : RED}${row}${PLAIN}` : row;
  };
  const { deno, pyodide, layers, attempts, walls = [], host = [] } = report;
  const nameWidth = Math.max(14, ...layers.map(({ layer }) => layer.length + 2));
  return [
    `Paddock ${report.paddock}, profile ${report.profile}`,
    line(deno.ok, `Deno ${deno.version} (requires ${DENO_NEEDED} or later)`),
    line(true, `Pyodide ${pyodide}`),
    "",
    "Operating system layers",
    ...layers.map((layer) =>
      layer.active || layer.missing
        ? line(layer.active, formatLayer(layer, nameWidth))
        : `- ${formatLayer(layer, nameWidth)}`
    ),
    "",
    ...(report.failure === null ? [] : [line(false, report.failure), ""]),
    ...formatFixes(report),
    "",
    ...(attempts.length === 0 ? [] : ["Checks in a sandbox"]),
    ...attempts.map(({ name, holds, seen }) => line(holds, `${name.padEnd(42)}${seen}`)),
    "",
    ...(walls.length === 0 ? [] : ["Walls around its process, seen from the host"]),
    ...walls.map(({ name, holds, seen }) => line(holds, `${name.padEnd(42)}${seen}`)),
    "",
    ...(host.length === 0 ? [] : ["The host, which Paddock does not change"]),
    ...host.flatMap((setting) =>
      setting.isOn
        ? [`- ${formatSetting(setting)}`, `${" ".repeat(8)}${setting.advice}`]
        : setting.isOn === null
        ? [`- ${formatSetting(setting)}`]
        : [line(true, formatSetting(setting))]
    ),
    "",
    ...formatFigures(report),
  ].join("\n").replace(/\n{2,}/g, "\n\n").trimEnd() + "\n";
}

function formatLayer({ layer, mode, active, works, why }: LayerState, nameWidth: number): string {
  const state = active ? "active" : works ? "works, not used" : `does not work: ${why}`;
  return `${layer.padEnd(nameWidth)}${mode.padEnd(11)}${state}`;
}

function formatSetting({ name, seen }: HostSetting): string {
  return `${name.padEnd(6)}${seen}`;
}

function formatFixes({ fixes }: DoctorReport): string[] {
  if (fixes.length === 0) return [];
  return ["How to fix it", ...fixes.map(({ problem, fix }) => `  ${problem}: ${fix}`)];
}

function formatFigures({ image, times }: DoctorReport): string[] {
  if (image === null || times === null) return [];
  return [
    `base image  ${image.state}, ${(image.bytes / 1e6).toFixed(1)} MB, ${image.directory}`,
    `start       ${times.startMs.toFixed(0)} ms`,
    `exec        ${times.execMs.toFixed(2)} ms`,
    `rewind      ${times.rewindMs.toFixed(1)} ms`,
  ];
}

/** Milliseconds to start an interpreter, to run `1+1`, and to rewind. */
export interface Times {
  readonly startMs: number;
  readonly execMs: number;
  readonly rewindMs: number;
}

/** Measures a session after a warm-up. Returns medians, in milliseconds. */
export async function measure(session: PythonSession, signal: AbortSignal): Promise<Omit<Times, "startMs">> {
  const exec = async () => void await session.exec("1+1", { signal });
  const rewind = async () => await session.reset({ mode: "rewind", signal });
  await medianMs(5, exec);
  return { execMs: await medianMs(20, exec), rewindMs: await medianMs(5, rewind) };
}

async function medianMs(runs: number, work: () => Promise<void>): Promise<number> {
  const measured: number[] = [];
  for (let run = 0; run < runs; run++) {
    const startedAt = performance.now();
    await work();
    measured.push(performance.now() - startedAt);
  }
  return measured.sort((a, b) => a - b)[runs >> 1] ?? NaN;
}

/** Returns the total size of the files in a directory and all subdirectories, in bytes. */
async function measureDirectoryBytes(directory: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = join(directory, name);
    bytes += isDirectory ? await measureDirectoryBytes(path) : (await Deno.lstat(path)).size;
  }
  return bytes;
}

/** True if a version is the same as `least` or newer. Compares the first three numbers. */
export function isAtLeast(version: string, least: string): boolean {
  const toNumbers = (text: string) => text.split(/[.+-]/).slice(0, 3).map(Number);
  const required = toNumbers(least);
  const differences = toNumbers(version).map((number, index) => number - (required[index] ?? 0));
  return (differences.find((difference) => difference !== 0) ?? 0) >= 0;
}
