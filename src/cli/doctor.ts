import { Command } from "commander";
import { errorMessage } from "../errors.ts";
import { ensureBaseImage } from "../sandbox/image/base_image.ts";
import { activeLayers, detectLayers, type LayerReport } from "../sandbox/process/layers.ts";
import type { Profile } from "../sandbox/profile/profile.ts";
import { PYODIDE_VERSION } from "../sandbox/image/pyodide.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { type Attempt, runAttempts, toAttemptProfile } from "./doctor_attempts.ts";
import { DENO_NEEDED, type DoctorReport, formatReport, type LayerState } from "./doctor_report.ts";
import { isAtLeast, measure, measureDirectoryBytes, type Times } from "./doctor_times.ts";
import { EXIT } from "./exit_code.ts";
import { runCommand } from "./run_command.ts";
import {
  announceBuild,
  cacheDirectory,
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
} from "./sandbox_flags.ts";
import { PADDOCK_VERSION } from "../version.ts";
import { wantsColour } from "./terminal.ts";
import { writeText } from "./write_text.ts";
import { currentIo } from "./io.ts";

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
): Promise<{ image: DoctorReport["image"]; attempts: Attempt[]; times: Times }> {
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
