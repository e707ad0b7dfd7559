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

Exit codes: 0 all is well, 1 something is missing or does not hold, 2 wrong usage, 130 interrupted.`;

/** The command `doctor`: says what protects a sandbox on this host, and tries it. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("Say what protects a sandbox on this host, and try it")
    .addOption(profileOption())
    .option("--json", "print one JSON object")
    .addHelpText("after", NOTES)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runDoctor(flagsOf(command), signal));
    });
}

async function runDoctor(flags: DoctorFlags, signal: AbortSignal): Promise<number> {
  const report = await examine(await resolveProfile(flags), cacheDirectory(flags.cacheDir), signal);
  const colour = wantsColour();
  await writeText(
    currentIo().stdout,
    flags.json ? `${JSON.stringify(report)}\n` : formatReport(report, { colour }),
  );
  return report.ok ? EXIT.ok : EXIT.error;
}

async function examine(profile: Profile, cacheDir: string, signal: AbortSignal): Promise<DoctorReport> {
  const detected = await detectLayers();
  const deno = { version: Deno.version.deno, ok: isAtLeast(Deno.version.deno, DENO_NEEDED) };
  const tried = await tryOut(profile, { cacheDir, detected, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    return { failure: errorMessage(error) };
  });
  const found = { image: null, attempts: [], times: null, failure: null, ...tried };
  return {
    ok: deno.ok && found.failure === null && found.attempts.every((attempt) => attempt.holds),
    paddock: PADDOCK_VERSION,
    deno,
    pyodide: PYODIDE_VERSION,
    profile: profile.name,
    layers: layerStates(profile, detected),
    ...found,
  };
}

/** Starts a sandbox as the profile says, measures it, and tries to break its limits. */
async function tryOut(
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

/** A layer of the operating system: what the profile wants and what the host has. */
export interface LayerState extends LayerReport {
  readonly mode: LayerMode;
  readonly active: boolean;
  /** Whether the profile starts nothing for want of it. */
  readonly missing: boolean;
}

/** All that `paddock doctor` finds out. */
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
  /** Why no sandbox could be tried. */
  readonly failure: string | null;
}

/** The first version of Deno that has all that a sandbox needs. */
export const DENO_NEEDED = "2.9.4";

const GREEN = "\x1b[32m";
const RED = "\x1b[31m";
const PLAIN = "\x1b[0m";

/** The report as a person reads it. */
export function formatReport(report: DoctorReport, options: { colour: boolean }): string {
  const line = (good: boolean, text: string) => {
    const row = `${good ? "✓" : "✗"} ${text}`;
    return options.colour ? `${good ? GREEN : RED}${row}${PLAIN}` : row;
  };
  const { deno, pyodide, layers, attempts } = report;
  return [
    `Paddock ${report.paddock}, profile ${report.profile}`,
    line(deno.ok, `Deno ${deno.version} (${DENO_NEEDED} or later is needed)`),
    line(true, `Pyodide ${pyodide}`),
    "",
    "Layers of the operating system",
    ...layers.map((layer) =>
      layer.active || layer.missing ? line(layer.active, layerText(layer)) : `- ${layerText(layer)}`
    ),
    "",
    ...(report.failure === null ? [] : [line(false, report.failure), ""]),
    ...(attempts.length === 0 ? [] : ["Tried in a sandbox"]),
    ...attempts.map(({ name, holds, seen }) => line(holds, `${name.padEnd(42)}${seen}`)),
    "",
    ...figures(report),
  ].join("\n").replace(/\n{2,}/g, "\n\n").trimEnd() + "\n";
}

function layerText({ layer, mode, active, works, why }: LayerState): string {
  const state = active ? "active" : works ? "works, not used" : `does not work: ${why}`;
  return `${layer.padEnd(14)}${mode.padEnd(11)}${state}`;
}

function figures({ image, times }: DoctorReport): string[] {
  if (image === null || times === null) return [];
  return [
    `base image  ${image.state}, ${(image.bytes / 1e6).toFixed(1)} MB, ${image.directory}`,
    `start       ${times.startMs.toFixed(0)} ms`,
    `exec        ${times.execMs.toFixed(2)} ms`,
    `rewind      ${times.rewindMs.toFixed(1)} ms`,
  ];
}

/** What it takes to start an interpreter, to run `1+1` in it, and to put it back. */
export interface Times {
  readonly startMs: number;
  readonly execMs: number;
  readonly rewindMs: number;
}

/** Measures a session; medians, after some runs that do not count. */
export async function measure(session: PythonSession, signal: AbortSignal): Promise<Omit<Times, "startMs">> {
  const exec = async () => void await session.exec("1+1", { signal });
  const rewind = async () => await session.reset({ mode: "rewind", signal });
  await medianMs(5, exec);
  return { execMs: await medianMs(20, exec), rewindMs: await medianMs(5, rewind) };
}

async function medianMs(times: number, work: () => Promise<void>): Promise<number> {
  const measured: number[] = [];
  for (let run = 0; run < times; run++) {
    const startedAt = performance.now();
    await work();
    measured.push(performance.now() - startedAt);
  }
  return measured.sort((a, b) => a - b)[times >> 1] ?? NaN;
}

/** What the files of a directory take, those of its directories included. */
export async function measureDirectoryBytes(directory: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = join(directory, name);
    bytes += isDirectory ? await measureDirectoryBytes(path) : (await Deno.lstat(path)).size;
  }
  return bytes;
}

/** Whether a version, of three numbers, is not before another. */
export function isAtLeast(version: string, least: string): boolean {
  const numbers = (text: string) => text.split(/[.+-]/).slice(0, 3).map(Number);
  const needed = numbers(least);
  const differing = numbers(version).map((number, at) => number - (needed[at] ?? 0)).find((by) => by !== 0);
  return (differing ?? 0) >= 0;
}
