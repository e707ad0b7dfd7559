import { errorMessage, SandboxError } from "../../errors.ts";
import { type Layer, LAYER_PROGRAMS, type LayerMode, LAYERS } from "../profile/schema.ts";
import { bubblewrapPrefix, type Rlimits, rlimitScript } from "./command.ts";

export type { Layer, LayerMode } from "../profile/schema.ts";

/** Result of trying a layer on this host. */
export interface LayerReport {
  readonly layer: Layer;
  /** True if the program or file that it needs is present. */
  readonly installed: boolean;
  /** True if it had its effect. */
  readonly works: boolean;
  /** Reason why it does not work. */
  readonly why?: string;
}

/** Options of {@linkcode detectLayers}. */
export interface DetectLayersOptions extends ProbeOptions {
  /**
   * Programs to try.
   *
   * @default {@linkcode LAYER_PROGRAMS}
   */
  programs?: Partial<Readonly<Record<Layer, string>>> | undefined;
}

/** Tries every layer on this host, which takes some milliseconds. The result is not cached. */
export function detectLayers(options: DetectLayersOptions = {}): Promise<LayerReport[]> {
  const programs = { ...LAYER_PROGRAMS, ...options.programs };
  return Promise.all(LAYERS.map((layer) => detectLayer(layer, programs[layer], options)));
}

/**
 * Returns the layers that a sandbox of a profile is started with, on a host with the results `detected`.
 *
 * @throws {SandboxError} if a layer that the profile requires does not work; the message names each, with the
 * reason.
 */
export function activeLayers(
  profile: { readonly name: string; readonly layers: Readonly<Record<Layer, LayerMode>> },
  detected: readonly LayerReport[],
): ReadonlySet<Layer> {
  const reports = LAYERS.map((layer) =>
    detected.find((report) => report.layer === layer) ?? untriedReport(layer)
  );
  const missing = reports.filter((report) => isMissing(profile.layers[report.layer], report));
  if (missing.length > 0) {
    const reasons = missing.map(({ layer, why }) =>
      `'${layer}', ${profile.layers[layer]}, does not work: ${why}`
    );
    throw new SandboxError(
      `Cannot start sandbox as profile '${profile.name}' needs layers that this host lacks: ${
        reasons.join("; ")
      }`,
    );
  }
  return new Set(
    reports.filter(({ layer, works }) => works && profile.layers[layer] !== "off").map(({ layer }) => layer),
  );
}

function isMissing(mode: LayerMode, { installed, works }: LayerReport): boolean {
  return !works && (mode === "required" || (mode === "installed" && installed));
}

function untriedReport(layer: Layer): LayerReport {
  return { layer, installed: false, works: false, why: "it was not tested" };
}

async function detectLayer(layer: Layer, program: string, options: ProbeOptions): Promise<LayerReport> {
  if (Deno.build.os !== "linux") {
    return { layer, installed: false, works: false, why: "it needs Linux" };
  }
  if (!await isPresent(program)) {
    return { layer, installed: false, works: false, why: `there is no ${program}` };
  }
  const why = await probeLayer(layer, program, options);
  return why === undefined
    ? { layer, installed: true, works: true }
    : { layer, installed: true, works: false, why };
}

async function isPresent(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    // A file that cannot be examined may still be executable: the probe finds out.
    return !(error instanceof Deno.errors.NotFound);
  }
}

/** Options of {@linkcode probeLayer}. */
export interface ProbeOptions {
  /** Resource limits to try. A host may allow some values and not others. */
  rlimits?: Rlimits | undefined;
  signal?: AbortSignal | undefined;
}

interface Outcome {
  readonly success: boolean;
  readonly stdout: string;
  /** First line of stderr, or the reason why the program could not run. */
  readonly reason: string;
}

const SMALL_LIMITS: Rlimits = { dataKib: 2_097_152, openFiles: 64, cpuSeconds: 3_000 };

/** Tries a layer with its program. Returns the reason why it does not work, or `undefined` if it works. */
export async function probeLayer(
  layer: Layer,
  program: string,
  options: ProbeOptions = {},
): Promise<string | undefined> {
  const { rlimits = SMALL_LIMITS, signal } = options;
  switch (layer) {
    case "rlimits":
      return await probeRlimits(program, rlimits, signal);
    case "noNewPrivs":
      return await probeSetpriv(program, ["--no-new-privs"], /^no_new_privs: 1$/m, signal);
    case "parentDeath":
      return await probeSetpriv(program, ["--pdeathsig", "KILL"], /^Parent death signal: KILL$/m, signal);
    case "bubblewrap":
      return await probeBubblewrap(program, signal);
    case "watchdog":
      return await probeWatchdog();
  }
}

async function probeRlimits(
  shell: string,
  limits: Rlimits,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const args = ["-c", rlimitScript(limits), shell, shell, "-c", "ulimit -d"];
  const { success, stdout, reason } = await run(shell, args, signal);
  if (!success) return reason;
  if (stdout.trim() === String(limits.dataKib)) return undefined;
  return `RLIMIT_DATA was set to ${limits.dataKib} KiB and is ${stdout.trim()}`;
}

/** Runs setpriv inside setpriv, so that the inner one prints the effect of the outer one. */
async function probeSetpriv(
  setpriv: string,
  flags: readonly string[],
  proof: RegExp,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { success, stdout, reason } = await run(setpriv, [...flags, "--", setpriv, "--dump"], signal);
  if (!success) return reason;
  return proof.test(stdout) ? undefined : `'${flags.join(" ")}' had no effect`;
}

/** Runs bubblewrap under itself, with the flags that a sandbox gets. */
async function probeBubblewrap(bwrap: string, signal?: AbortSignal): Promise<string | undefined> {
  const [, ...flags] = bubblewrapPrefix([bwrap]);
  const { success, reason } = await run(bwrap, [...flags, bwrap, "--version"], signal);
  return success ? undefined : reason;
}

/** Reads the files that the watchdog reads, for a child that waits for its input. */
async function probeWatchdog(): Promise<string | undefined> {
  await using child = waitingChild();
  try {
    await Deno.readTextFile(`/proc/${child.pid}/statm`);
    await Deno.readTextFile(`/proc/${child.pid}/stat`);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

function waitingChild(): AsyncDisposable & { readonly pid: number } {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "--no-lock", "--no-remote", "--no-npm", "-"],
    clearEnv: true,
    env: { DENO_DIR: "/proc/nope", DENO_NO_UPDATE_CHECK: "1" },
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  return {
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await child.stdin.abort();
    },
  };
}

async function run(program: string, args: string[], signal?: AbortSignal): Promise<Outcome> {
  try {
    const command = new Deno.Command(program, {
      args,
      clearEnv: true,
      stdin: "null",
      ...(signal && { signal }),
    });
    const { success, code, stdout, stderr } = await command.output();
    const [line = ""] = new TextDecoder().decode(stderr).trim().split("\n");
    const reason = line === "" ? `${program} ended with code ${code}` : line;
    return { success, stdout: new TextDecoder().decode(stdout), reason };
  } catch (error) {
    signal?.throwIfAborted();
    return { success: false, stdout: "", reason: errorMessage(error) };
  }
}
