import { Command } from "commander";
import { join } from "node:path";
import { errorMessage } from "../errors.ts";
import type { PythonSession } from "../sandbox/exec.ts";
import { ensureBaseImage } from "../sandbox/image/base_image.ts";
import { PYODIDE_VERSION } from "../sandbox/image/pyodide.ts";
import { activeLayers, detectLayers, type LayerMode, type LayerReport } from "../sandbox/process/layers.ts";
import type { Profile } from "../sandbox/profile/profile.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { PADDOCK_VERSION } from "../version.ts";
import { EXIT, runCommand } from "./command.ts";
import { type DoctorAttempt, runAttempts, toAttemptProfile } from "./doctor_attempts.ts";
import { currentIo } from "./io.ts";
import { wantsColour, writeText } from "./output.ts";
import {
  announceBuild,
  cacheDirectory,
  flagsOf,
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
  const report = await createReport(await resolveProfile(flags), cacheDirectory(flags.cacheDir), signal);
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
  const outcome = { image: null, attempts: [], times: null, failure: null, ...checked };
  return {
    ok: deno.ok && outcome.failure === null && outcome.attempts.every((attempt) => attempt.holds),
    paddock: PADDOCK_VERSION,
    deno,
    pyodide: PYODIDE_VERSION,
    profile: profile.name,
    layers: layerStates(profile, detected),
    ...outcome,
  };
}

/** Starts a sandbox with the profile, measures it, and attacks its limits. */
async function checkSandbox(
  profile: Profile,
  options: { cacheDir: string; detected: readonly LayerReport[]; signal: AbortSignal },
): Promise<{ image: DoctorReport["image"]; attempts: DoctorAttempt[]; times: Times }> {
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
  const attempts = await runAttempts(session, sandbox.profile.limits, signal);
  return { image: { state, directory, bytes: await measureDirectoryBytes(directory) }, attempts, times };
}

function layerStates(profile: Profile, detected: readonly LayerReport[]): LayerState[] {
  return detected.map((report) => {
    const mode = profile.layers[report.layer];
    const missing = !report.works && (mode === "required" || (mode === "installed" && report.installed));
    return { ...report, mode, active: report.works && mode !== "off", missing };
  });
}

/** State of an operating system layer: its mode in the profile and its availability on the host. */
export interface LayerState extends LayerReport {
  readonly mode: LayerMode;
  readonly active: boolean;
  /** True if the profile cannot start a sandbox because the layer does not work. */
  readonly missing: boolean;
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
  readonly times: Times | null;
  /** Reason why no sandbox could be checked; `null` if one was. */
  readonly failure: string | null;
}

/** Minimum version of Deno. */
export const DENO_NEEDED = "2.9.4";

const GREEN = "\x1b[32m";
const RED = "\x1b[31m";
const PLAIN = "\x1b[0m";

/** Formats a report as readable text. */
export function formatReport(report: DoctorReport, options: { colour: boolean }): string {
  const line = (isGood: boolean, text: string) => {
    const row = `${isGood ? "✓" : "✗"} ${text}`;
    return options.colour ? `${isGood ? GREEN : RED}${row}${PLAIN}` : row;
  };
  const { deno, pyodide, layers, attempts } = report;
  return [
    `Paddock ${report.paddock}, profile ${report.profile}`,
    line(deno.ok, `Deno ${deno.version} (requires ${DENO_NEEDED} or later)`),
    line(true, `Pyodide ${pyodide}`),
    "",
    "Operating system layers",
    ...layers.map((layer) =>
      layer.active || layer.missing ? line(layer.active, formatLayer(layer)) : `- ${formatLayer(layer)}`
    ),
    "",
    ...(report.failure === null ? [] : [line(false, report.failure), ""]),
    ...(attempts.length === 0 ? [] : ["Checks in a sandbox"]),
    ...attempts.map(({ name, holds, seen }) => line(holds, `${name.padEnd(42)}${seen}`)),
    "",
    ...formatFigures(report),
  ].join("\n").replace(/\n{2,}/g, "\n\n").trimEnd() + "\n";
}

function formatLayer({ layer, mode, active, works, why }: LayerState): string {
  const state = active ? "active" : works ? "works, not used" : `does not work: ${why}`;
  return `${layer.padEnd(14)}${mode.padEnd(11)}${state}`;
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

/** Milliseconds to start an interpreter, to run `1+1` in it, and to rewind it. */
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

/** Returns the total size of the files in a directory and its subdirectories, in bytes. */
export async function measureDirectoryBytes(directory: string): Promise<number> {
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
