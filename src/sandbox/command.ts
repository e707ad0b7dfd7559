import { bubblewrapPrefix } from "./bubblewrap.ts";
import { type Layer, LAYER_PROGRAMS } from "./layer.ts";
import type { Profile } from "./profile.ts";
import { resourceLimits, rlimitScript, wasmPages } from "./rlimits.ts";

/** A program and its arguments, none of which a shell reads. */
export interface ChildCommand {
  readonly program: string;
  readonly args: string[];
}

/** Where the parts of a sandbox are on this host, as absolute paths, and what it is started with. */
export interface ChildCommandOptions {
  /** The Deno executable: `Deno.execPath()`. */
  denoPath: string;
  /** The folder that the child may read until it has what it needs. */
  assetsDir: string;
  /** The module that the child runs. Under bubblewrap, what it imports must be in `assetsDir`. */
  supervisorPath: string;
  /** What {@linkcode activeLayers} gave. */
  layers: ReadonlySet<Layer>;
  /** Further flags of V8, such as `--single-threaded`. */
  v8Extra?: readonly string[] | undefined;
}

/** MiB of JavaScript objects in one isolate before V8 gives up. */
const JS_HEAP_MIB = 256;

/** MiB of young JavaScript objects: more would only hold the leavings of past execs for longer. */
const YOUNG_MIB = 1;

/** KiB of stack: with more than 4000, deep recursion in a worker overruns the native stack and ends the process. */
const STACK_KIB = 3_900;

/**
 * The environment of a child, to be given with `clearEnv`. Where Deno cannot make its folder, it has no
 * localStorage and no Cache API. Without the second it would ask the network for newer versions, and
 * without the third its messages would be coloured. The time zone is the same on every host. The rest makes
 * the C library give back what the start needed, some 40 MB.
 */
export function childEnvironment(): Record<string, string> {
  return {
    DENO_DIR: "/proc/nope",
    DENO_NO_UPDATE_CHECK: "1",
    NO_COLOR: "1",
    TZ: "UTC",
    MALLOC_ARENA_MAX: "1",
    MALLOC_MMAP_THRESHOLD_: "32768",
    MALLOC_TRIM_THRESHOLD_: "131072",
  };
}

/**
 * The command line of a sandbox: Deno, denied all but reading its assets, inside the given layers. The
 * caller sets the working directory and {@linkcode childEnvironment}.
 *
 * @throws {TypeError} when a path to read has a comma, at which Deno would cut it into two.
 */
export function childCommand(profile: Profile, options: ChildCommandOptions): ChildCommand {
  const { denoPath, layers } = options;
  const [program = denoPath, ...args] = [
    ...(layers.has("rlimits") ? rlimitPrefix(profile) : []),
    ...setprivPrefix(layers),
    ...(layers.has("bubblewrap") ? bubblewrapPrefix(boundPaths(profile, options)) : []),
    denoPath,
    ...denoArguments(profile, options),
  ];
  return { program, args };
}

function rlimitPrefix({ limits, sessionsPerProcess }: Profile): string[] {
  const script = rlimitScript(resourceLimits(limits, sessionsPerProcess));
  return [LAYER_PROGRAMS.rlimits, "-c", script, "sh"];
}

/** Runs what follows without a way to more privileges, and not longer than its parent. */
export function setprivPrefix(layers: ReadonlySet<Layer>): string[] {
  const flags = [
    ...(layers.has("noNewPrivs") ? ["--no-new-privs"] : []),
    ...(layers.has("parentDeath") ? ["--pdeathsig", "KILL"] : []),
  ];
  return flags.length === 0 ? [] : [LAYER_PROGRAMS.noNewPrivs, ...flags, "--"];
}

function denoArguments(profile: Profile, options: ChildCommandOptions): string[] {
  return [
    "run",
    "--quiet",
    "--no-prompt",
    "--no-config",
    "--no-lock",
    "--no-remote",
    "--no-npm",
    "--cached-only",
    "--unstable-worker-options",
    `--v8-flags=${v8Flags(profile, options).join(",")}`,
    ...deniedPermissions(profile).map((name) => `--deny-${name}`),
    `--allow-read=${readablePaths(profile, options).join(",")}`,
    options.supervisorPath,
  ];
}

function v8Flags({ limits }: Profile, { v8Extra = [] }: ChildCommandOptions): string[] {
  return [
    `--wasm-max-mem-pages=${wasmPages(limits)}`,
    "--disallow-code-generation-from-strings",
    "--optimize-for-size",
    "--wasm-num-compilation-tasks=1",

    `--max-semi-space-size=${YOUNG_MIB}`,
    `--stack-size=${STACK_KIB}`,
    `--max-old-space-size=${JS_HEAP_MIB}`,
    ...v8Extra,
  ];
}

/** All but `read`, which the child has for its assets and gives up before it runs guest code. */
function deniedPermissions({ permissions }: Profile): string[] {
  return Object.keys(permissions).filter((name) => name !== "read");
}

function readablePaths({ mounts }: Profile, { assetsDir }: ChildCommandOptions): string[] {
  const paths = [assetsDir, ...mounts.map((mount) => mount.hostPath)];
  const split = paths.find((path) => path.includes(","));
  if (split === undefined) return paths;
  throw new TypeError(`Cannot start sandbox as paths it reads must have no comma: there is '${split}'`);
}

function boundPaths(profile: Profile, options: ChildCommandOptions): string[] {
  const { denoPath, supervisorPath, assetsDir } = options;
  const supervisor = supervisorPath.startsWith(`${assetsDir}/`) ? [] : [supervisorPath];
  return [denoPath, ...supervisor, ...readablePaths(profile, options)];
}
