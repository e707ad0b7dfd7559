import * as z from "zod";
import { SandboxError } from "../../errors.ts";
import { requireKnownOptions } from "../../options.ts";
import { TIME_SCALES } from "../exec/exec_check.ts";
import { Sandbox, type SandboxOptions } from "../sandbox.ts";
import { orThrow } from "../or_throw.ts";
import kernels from "./kernels.py" with { type: "text" };

/** Options of {@linkcode measureTimeScale}. */
export interface TimeScaleOptions extends SandboxOptions {
  /**
   * Python to compare with.
   *
   * @default "python3"
   */
  python?: string | undefined;
}

const ROUNDS = 3;
const TIMEOUT_MS = 60_000;

const timesSchema = z.array(z.number().positive()).min(1);

/**
 * Measures how much longer programs take in a sandbox than in a Python of this machine, and returns it as a `timeScale`
 * of a profile, at least 1. Four short programs run as the first ones of three processes each, and the fastest runs
 * count, which takes about two seconds. A busy machine makes the figure less exact.
 *
 * @example Limits of a data set in seconds of native Python
 * ```ts
 * import { assert } from "@std/assert";
 * import { loadProfile, measureTimeScale, SandboxPool } from "@paddock/paddock/sandbox";
 *
 * const profile = await loadProfile("python");
 * const timeScale = await measureTimeScale({ profile });
 * await using pool = new SandboxPool({ profile: { ...profile, timeScale }, size: 1, resetMode: "rewind" });
 * assert(timeScale >= 1);
 * ```
 *
 * @throws {SandboxError} if the sandbox or the Python does not start.
 */
export async function measureTimeScale(options: TimeScaleOptions = {}): Promise<number> {
  requireKnownOptions("call measureTimeScale", options, {
    profile: true,
    cacheDir: true,
    checkpointKey: true,
    onBuild: true,
    detected: true,
    optimize: true,
    networkTrial: true,
    python: true,
    signal: true,
  });
  const { python = "python3", ...sandboxOptions } = options;
  const native = await shortestTimes(() => runNative(python, options.signal));
  const ours = await shortestTimes(() => runInSandbox(sandboxOptions));
  const logs = ours.map((seconds, at) => Math.log(seconds / (native[at] ?? NaN)));
  const ratio = Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
  return Math.min(TIME_SCALES.max, Math.max(1, Math.ceil(10 * ratio) / 10));
}

/** Returns the shortest time of each program in several rounds, in seconds. `run` returns what the programs print. */
async function shortestTimes(run: () => Promise<string>): Promise<number[]> {
  const rounds: number[][] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(timesSchema.parse(JSON.parse(await run())));
  return (rounds[0] ?? []).map((_, at) => Math.min(...rounds.map((times) => times[at] ?? Infinity)));
}

async function runInSandbox(options: SandboxOptions): Promise<string> {
  const { signal } = options;
  await using sandbox = await Sandbox.start({ optimize: "start", ...options });
  const session = await sandbox.openSession({ signal });
  return (await orThrow(session.exec(kernels, { timeoutMs: TIMEOUT_MS, signal }))).stdout;
}

async function runNative(python: string, signal: AbortSignal | undefined): Promise<string> {
  try {
    const { success, stdout } = await new Deno.Command(python, {
      args: ["-I", "-c", kernels],
      stdin: "null",
      stderr: "null",
      ...(signal && { signal }),
    }).output();
    if (success) return new TextDecoder().decode(stdout);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new SandboxError(`Cannot measure time scale as it needs a native Python: found no '${python}'`, {
      cause,
    });
  }
  throw new SandboxError(`Cannot measure time scale as '${python}' failed`);
}
