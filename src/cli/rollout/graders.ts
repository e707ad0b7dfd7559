import type { Grader } from "../../rewards/grader.ts";
import { math } from "../../rewards/math.ts";
import { findMissingWheel } from "../../rewards/math/math_verify/wheels.ts";
import { rubric, type RubricItem } from "../../rewards/rubric.ts";
import { GraderPool } from "../../rewards/worker/grader_pool.ts";
import {
  type GraderEntry,
  type GraderResources,
  GRADERS,
  makeGrader,
  testProfile,
} from "../../rewards/registry.ts";
import { loadProfile, type Profile } from "../../sandbox/profile/profile.ts";
import { announceBuild, cacheDirectory, createLazyPool } from "../sandbox_options.ts";
import { lookUp } from "../options.ts";
import { isPluginPath, openPlugin, type PluginFile, refuseGrants } from "./plugins.ts";
import { isPythonPath, openPythonFile, type PythonFileFlags } from "./python_files.ts";
import { resolvePolicy } from "./policies.ts";
import type { WatchedServerOptions } from "./server_watch.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";

/** Flags of commands that grade. */
export interface GraderFlags extends PythonFileFlags {
  /** Policy of the grader `judge`. */
  judge?: string;
  /** Model name that is sent to the judge's server. */
  judgeModel?: string;
  /** Permissions of the file of a grader. */
  graderAllow?: readonly string[];
  /** Options of the judge's server. */
  server?: WatchedServerOptions;
}

/** A grader of the registry, or a grader in a file. */
export type GraderChoice = GraderEntry | PluginFile;

/**
 * Returns the grader that `--grader` names, or `undefined` for `none`.
 *
 * @throws {UsageError} if the name is unknown.
 */
function chooseGrader(name: string, { graderAllow = [] }: GraderFlags): GraderChoice | undefined {
  const grants = { allow: graderAllow, allowFlag: "--grader-allow" };
  if (isGrantable(name)) return { path: name, ...grants };
  refuseGrants(grants);
  if (isPythonPath(name)) return { path: name, ...grants };
  return name === NO_GRADER ? undefined : lookUp(GRADERS, name, "grader");
}

/** True if the value of `--grader` is a file whose process has permissions. A Python file runs in the sandbox. */
function isGrantable(name: string): boolean {
  return isPluginPath(name) && !isPythonPath(name);
}

/** Name that leaves episodes unscored. */
const NO_GRADER = "none";

/** Resources that graders use. */
export interface GraderHost {
  profile: Profile;
  /** Number of interpreters for programs, and as many again for their tests. */
  size: number;
  /** Disposes the pools. */
  stack: AsyncDisposableStack;
  signal?: AbortSignal | undefined;
}

/** Number of interpreters of a server for graded programs, and as many again for their tests. */
const SERVED_SIZE = 2;

/**
 * Makes the grader of a run.
 *
 * @throws {UsageError} if the grader needs a policy that the flags do not name, or wheels that are not downloaded, or if
 * the file does not start.
 */
export async function openGrader(
  entry: GraderChoice,
  flags: GraderFlags,
  host: GraderHost,
): Promise<Grader> {
  if ("path" in entry && isPythonPath(entry.path)) {
    const { pythonGrader } = await import("../../plugins/python/python_grader.ts");
    const { stack, signal } = host;
    const size = Math.min(host.size, Math.max(2, navigator.hardwareConcurrency));
    return await openPythonFile(entry.path, pythonGrader, { flags, owner: { size, stack, signal } });
  }
  if ("path" in entry) {
    const { graderFile } = await import("../../plugins/grader_file.ts");
    return await openPlugin(entry, graderFile, host);
  }
  const resources = await openResources(flags, host);
  if (entry.needs === "policy" && resources.judge === undefined) {
    throw new UsageError("Cannot use grader 'judge' as it needs a policy: give --judge POLICY");
  }
  const workers = host.stack.use(new GraderPool());
  const make = () => makeGrader(entry, resources);
  return workers.guardParts(await (entry.needs === "math-verify" ? rethrowAsUsageError(make) : make()));
}

/** A grader of a run, with the weight of the score. */
export interface WeightedGrader {
  /** Name or path, as given. */
  readonly name: string;
  readonly weight: number;
  readonly choice: GraderChoice;
}

/** Grader of a run whose options name no grader. */
export const DEFAULT_GRADER = "number_match";

/**
 * Returns the graders that the values of `--grader` name, such as `gsm8k`, `ifeval=0.2` or `./mine.ts=-1`; none for
 * `none`.
 *
 * @throws {UsageError} if a name is unknown, or a weight is no number.
 */
export function chooseGraders(values: readonly string[], flags: GraderFlags): WeightedGrader[] {
  const named = values.map(parseWeight);
  if (named.length > 1 && named.some(({ name }) => name === NO_GRADER)) {
    throw new UsageError(
      `Cannot grade with '${NO_GRADER}' beside other graders: give --grader ${NO_GRADER} alone`,
    );
  }
  const hasFile = named.some(({ name }) => isGrantable(name));
  return named.flatMap(({ name, weight }) => {
    // the permissions are for the files
    const choice = chooseGrader(name, hasFile && !isGrantable(name) ? {} : flags);
    return choice === undefined ? [] : [{ name, weight, choice }];
  });
}

function parseWeight(value: string): { name: string; weight: number } {
  const [, name = value, text] = /^([^]+)=([^=]*)$/.exec(value) ?? [];
  if (text === undefined) return { name, weight: 1 };
  const weight = text.trim() === "" ? NaN : Number(text);
  if (Number.isFinite(weight)) return { name, weight };
  throw new UsageError(
    `Cannot grade with '${value}' as its weight must be a number: current value is '${text}'`,
  );
}

/**
 * Makes the graders of a run: a single grader with the weight 1 unchanged, and others as the sum of weight times score,
 * with each score among the parts of the reward.
 *
 * @throws {UsageError} as {@linkcode openGrader} does, or if two graders have the same name.
 */
export async function openGraders(
  graders: readonly WeightedGrader[],
  flags: GraderFlags,
  host: GraderHost,
): Promise<Grader | undefined> {
  const opened: RubricItem[] = [];
  for (const { choice, weight } of graders) {
    opened.push({ grader: await openGrader(choice, flags, host), weight });
  }
  const [first, second] = opened;
  if (first === undefined) return undefined;
  if (second === undefined && first.weight === 1) return first.grader;
  return await rethrowAsUsageError(() => rubric(opened));
}

/**
 * Returns the graders that a server offers: all that need no policy, and `math_verify` if the wheels are there. Each
 * grader is made at the first grade.
 */
export async function openServedGraders(
  flags: { cacheDir?: string },
  host: Omit<GraderHost, "size">,
): Promise<Map<string, () => Grader>> {
  const resources = await openResources(flags, { ...host, size: SERVED_SIZE, resetMode: "owner" });
  const hasWheels = findMissingWheel(cacheDirectory(flags.cacheDir)) === undefined;
  const served = Object.entries(GRADERS).filter(([, { needs }]) =>
    needs === "math-verify" ? hasWheels : needs !== "policy"
  );
  return new Map(served.map(([name, entry]) => {
    if (entry.needs === "nothing") return [name, () => entry.make()];
    let made: Promise<Grader> | undefined;
    const grader: Grader = {
      name,
      async grade(context) {
        made ??= makeGrader(entry, resources);
        return (await made).grade(context);
      },
    };
    return [name, () => grader];
  }));
}

async function openResources(
  flags: GraderFlags,
  { profile, size, resetMode = "fresh", stack }: GraderHost & { readonly resetMode?: "fresh" | "owner" },
): Promise<GraderResources> {
  const { cacheDir } = flags;
  const { timeScale } = profile;
  const tests = { ...testProfile(await loadProfile("tools")), ...(timeScale !== undefined && { timeScale }) };
  const judge = flags.judge === undefined ? undefined : await resolvePolicy(flags.judge, {
    ...flags.server,
    model: flags.judgeModel,
    apiKey: currentIo().env.get("OPENAI_API_KEY") || undefined,
    temperature: 0,
    flagNames: { policy: "--judge", model: "--judge-model" },
  });
  return {
    pool: createLazyPool({ profile, size, resetMode, cacheDir, stack }),
    testPool: createLazyPool({ profile: tests, size, resetMode: "rewind", cacheDir, stack }),
    judge: judge?.policy,
    mathVerify: () =>
      stack.use(math({
        verifier: "math-verify",
        cacheDir: cacheDirectory(cacheDir),
        size: Math.min(size, navigator.hardwareConcurrency),
        onBuild: announceBuild,
      })),
  };
}
