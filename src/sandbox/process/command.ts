import type { Profile } from "../profile/profile.ts";
import { type Layer, LAYER_PROGRAMS, type Limits, WASM_PAGE_BYTES } from "../profile/schema.ts";

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

/** Where the loader finds the libraries that Deno is linked to; not every system has each. */
const LIBRARY_FOLDERS = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/**
 * Runs what follows in namespaces of its own, as nobody, without a network and without capabilities, on a
 * read-only root that holds the libraries, the given paths, and a /proc that shows these processes alone, without
 * which Deno panics when asked for its own path. It needs no /dev and no /tmp.
 */
export function bubblewrapPrefix(paths: readonly string[]): string[] {
  return [
    LAYER_PROGRAMS.bubblewrap,
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--uid",
    "65534",
    "--gid",
    "65534",
    ...LIBRARY_FOLDERS.flatMap((folder) => ["--ro-bind-try", folder, folder]),
    ...paths.flatMap((path) => ["--ro-bind", path, path]),
    "--proc",
    "/proc",
    "--remount-ro",
    "/",
    "--chdir",
    "/",
    "--",
  ];
}

/** The numbers that the kernel holds a process to. */
export interface Rlimits {
  /** RLIMIT_DATA: private writable memory, in KiB. RLIMIT_AS is no use, as V8 reserves 64 GB. */
  readonly dataKib: number;
  /** RLIMIT_NOFILE. */
  readonly openFiles: number;
  /** RLIMIT_CPU, in seconds over the life of the process: far behind the limit of each exec. */
  readonly cpuSeconds: number;
  /** Whether it may write to files; no file of its own may be larger than nothing unless it may. */
  readonly writes?: boolean;
}

/** Main thread and one worker: V8 counts 550 MB for each isolate before any code runs, and aborts below. */
const BASE_BYTES = 1_350_000_000;
const FURTHER_WORKER_BYTES = 600_000_000;

/** JavaScript objects and buffers of a session beside its Wasm heap, so that the heap's cap is met first. */
const SESSION_BYTES = 100_000_000;

/** Measured: 13 open files for the process and 6 for each worker; a reset holds two workers for a while. */
const BASE_FILES = 48;
const SESSION_FILES = 16;

/** The CPU time of a process that is watched from outside but should not outlive every watcher. */
const LIFE_CPU_SECONDS = 7 * 86_400;
/** Between the signal that tells why a process ends, and the one that ends it for certain. */
const CPU_GRACE_SECONDS = 5;

/** How large the Wasm heap of an interpreter may grow, in pages. */
export function wasmPages(limits: Limits): number {
  return limits.memoryBytes / WASM_PAGE_BYTES;
}

/** The resource limits of a process with `sessions` interpreters. */
export function resourceLimits(limits: Limits, sessions: number): Rlimits {
  const sessionBytes = limits.memoryBytes + limits.fileBytes + SESSION_BYTES;
  // a session that is replaced and the one in its place may be there together for a moment
  const held = sessions === 1 ? 1 : sessions + 1;
  const bytes = BASE_BYTES + FURTHER_WORKER_BYTES * (held - 1) + sessionBytes * held;
  return {
    dataKib: Math.ceil(bytes / 1024),
    openFiles: BASE_FILES + SESSION_FILES * held,
    cpuSeconds: Math.max(limits.cpuSeconds, LIFE_CPU_SECONDS),
  };
}

/** A shell script that takes on the limits and becomes the command in its arguments, or fails. */
export function rlimitScript({ dataKib, openFiles, cpuSeconds, writes = false }: Rlimits): string {
  return [
    "ulimit -c 0",
    ...(writes ? [] : ["ulimit -f 0"]),
    `ulimit -n ${openFiles}`,
    `ulimit -d ${dataKib}`,
    `ulimit -t ${cpuSeconds + CPU_GRACE_SECONDS}`,
    `ulimit -S -t ${cpuSeconds}`,
    'exec "$@"',
  ].join(" && ");
}
