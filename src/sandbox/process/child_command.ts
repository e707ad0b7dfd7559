import { MAX_THREADS as MAX_PYTHON_THREADS } from "../guest/python/max_threads.ts";
import type { ConfinePlan, OwnLayer } from "../guest/supervisor/confine_plan.ts";
import type { Profile } from "../profile/profile.ts";
import { type Layer, type Limits, WASM_PAGE_BYTES } from "../profile/schema.ts";
import { confinedCommand } from "./namespaces.ts";

/** A program and its arguments, which no shell interprets. */
export interface ChildCommand {
  readonly program: string;
  readonly args: string[];
}

/** Options of {@linkcode childCommand}. Paths are absolute. */
export interface ChildCommandOptions {
  /** Path of the Deno executable: `Deno.execPath()`. */
  denoPath: string;
  /** Directory that the child may read until the child has loaded its assets. */
  assetsDir: string;
  /** Module that the child runs. With bubblewrap, the module's imports must be in `assetsDir`. */
  supervisorPath: string;
  /** Result of {@linkcode activeLayers}. */
  layers: ReadonlySet<Layer>;
  /**
   * True if the host is root.
   *
   * @default false
   */
  isRoot?: boolean | undefined;
  /**
   * Index of a function that V8 compiles with optimization before any code runs.
   *
   * @default functions are optimized after some use
   */
  optimizedFunction?: number | undefined;
  /** Additional V8 flags, such as `--single-threaded`. */
  v8Extra?: readonly string[] | undefined;
}

/** Maximum size of the JavaScript heap of an isolate, in MiB. */
const JS_HEAP_MIB = 256;

/** Size of V8's young generation, in MiB. A larger size only keeps the garbage of past execs for longer. */
const YOUNG_MIB = 1;

/**
 * Size of V8's heap, in MiB, at which V8 first collects garbage. By default V8 waits until after the start,
 * and an idle process then keeps the garbage of the start: 1.4 MB.
 */
const INITIAL_HEAP_MIB = 16;

/**
 * Size of a Wasm stack, in KiB. Each entry of JavaScript into Wasm has its own stack. Only pages that were
 * used take memory. Python checks its C stack, which is in Python's own memory; this Wasm stack must not end
 * first. Comparing nested lists takes some 30 times as much of this stack as of the C stack, other recursion
 * less.
 */
const WASM_STACK_KIB = 512 * 1024;

/**
 * Returns the environment of a child, to be used with `clearEnv`. Deno cannot create the directory
 * `DENO_DIR`, so Deno has no localStorage and no Cache API. `DENO_NO_UPDATE_CHECK` prevents requests for
 * newer versions, and `NO_COLOR` colored messages. The time zone is the same on every host. The other
 * variables make the C library return the memory that the start needed, some 40 MB.
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
 * Returns the command line of a sandbox: Deno, which may only read the assets and mounts, inside the given
 * layers. The caller sets the working directory and {@linkcode childEnvironment}.
 *
 * @throws {TypeError} if a path to read contains a comma, at which Deno would split the path.
 */
export function childCommand(profile: Profile, options: ChildCommandOptions): ChildCommand {
  const { denoPath, layers, isRoot = false } = options;
  const rlimits = resourceLimits(profile.limits, profile.sessionsPerProcess);
  const [program = denoPath, ...args] = confinedCommand([denoPath, ...denoArguments(profile, options)], {
    layers,
    isRoot,
    paths: boundPaths(profile, options),
    rlimits: layers.has("rlimits") ? rlimitScript(rlimits) : undefined,
  });
  return { program, args };
}

/** Layers that the process takes up itself, before reading its assets. */
const OWN_LAYERS: readonly OwnLayer[] = ["descriptors", "seccomp", "landlock", "speculation"];

/** Threads of a process, which has some 20. */
const MAX_THREADS = 128;

/**
 * Returns what a process with the command of {@linkcode childCommand} does first; `undefined` for nothing.
 */
export function confinePlan(profile: Profile, options: ChildCommandOptions): ConfinePlan | undefined {
  const { layers } = options;
  const own = OWN_LAYERS.filter((layer) => layers.has(layer));
  if (own.length === 0) return undefined;
  return {
    layers: own,
    readable: readablePaths(profile, options),
    openFiles: resourceLimits(profile.limits, profile.sessionsPerProcess).openFiles,
    ...(layers.has("userNamespace") && layers.has("rlimits") && { threads: MAX_THREADS }),
  };
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
    ...deniedPermissions(profile, options).map((name) => `--deny-${name}`),
    ...(takesOwnLayers(options) ? ["--allow-ffi"] : []),
    `--allow-read=${readablePaths(profile, options).join(",")}`,
    options.supervisorPath,
  ];
}

function v8Flags({ limits }: Profile, options: ChildCommandOptions): string[] {
  const { optimizedFunction, v8Extra = [] } = options;
  return [
    `--wasm-max-mem-pages=${wasmPages(limits)}`,
    "--disallow-code-generation-from-strings",
    "--optimize-for-size",
    "--wasm-num-compilation-tasks=1",
    `--max-semi-space-size=${YOUNG_MIB}`,
    `--initial-heap-size=${INITIAL_HEAP_MIB}`,
    // The smaller of the two is the size of a Wasm stack.
    `--stack-size=${WASM_STACK_KIB}`,
    `--wasm-stack-switching-stack-size=${WASM_STACK_KIB}`,
    // No Wasm runs on the thread's own stack, whose 4 MB are less than V8 now assumes.
    "--stress-wasm-stack-switching",
    // Optimized code that meets another callee calls it, in place of a return to baseline code until it is
    // compiled
    // again, which for Python's loop takes 0.2 s and often lasts until the program ends.
    "--no-wasm-deopt",
    `--max-old-space-size=${JS_HEAP_MIB}`,
    ...(optimizedFunction === undefined ? [] : [`--wasm-eager-tier-up-function=${optimizedFunction}`]),
    ...v8Extra,
  ];
}

/**
 * Returns all permissions except `read`, which the child needs for its assets and drops before running guest
 * code, and `ffi`, which the child needs for its own layers and drops before reading the assets.
 */
function deniedPermissions({ permissions }: Profile, options: ChildCommandOptions): string[] {
  const used = takesOwnLayers(options) ? ["read", "ffi"] : ["read"];
  return Object.keys(permissions).filter((name) => !used.includes(name));
}

function takesOwnLayers({ layers }: ChildCommandOptions): boolean {
  return OWN_LAYERS.some((layer) => layers.has(layer));
}

function readablePaths({ mounts }: Profile, { assetsDir }: ChildCommandOptions): string[] {
  const paths = [assetsDir, ...mounts.map((mount) => mount.hostPath)];
  const invalid = paths.find((path) => path.includes(","));
  if (invalid === undefined) return paths;
  throw new TypeError(
    `Cannot start sandbox as paths that it reads must have no comma: current value is '${invalid}'`,
  );
}

function boundPaths(profile: Profile, options: ChildCommandOptions): string[] {
  const { denoPath, supervisorPath, assetsDir } = options;
  const supervisor = supervisorPath.startsWith(`${assetsDir}/`) ? [] : [supervisorPath];
  return [denoPath, ...supervisor, ...readablePaths(profile, options)];
}

/** Resource limits that the kernel enforces on a process. */
export interface Rlimits {
  /** RLIMIT_DATA: private writable memory, in KiB. RLIMIT_AS is not usable, as V8 reserves 64 GB. */
  readonly dataKib: number;
  /** RLIMIT_NOFILE. */
  readonly openFiles: number;
  /** RLIMIT_CPU, in seconds over the life of the process: far above the limit of an exec. */
  readonly cpuSeconds: number;
  /**
   * True if the process may write to files. Otherwise RLIMIT_FSIZE is 0.
   *
   * @default false
   */
  readonly writes?: boolean;
}

/**
 * Main thread and a worker. V8 needs 550 MB for each isolate before any code runs, and aborts with less.
 */
const BASE_BYTES = 1_350_000_000;
const FURTHER_WORKER_BYTES = 600_000_000;

/**
 * JavaScript objects and buffers of a session outside its Wasm heap, so that the heap limit is reached first.
 */
const SESSION_BYTES = 100_000_000;

/**
 * Wasm stacks that a session may have at the same time: a stack, and a further stack for each call of Python
 * by JavaScript that Python called, such as a callback of `ctypes`. RLIMIT_DATA counts the whole size of each
 * stack, and so does not bound JavaScript's memory. The size of JavaScript's heap does, and the watchdog,
 * which counts the pages in use.
 */
const SESSION_STACKS = 32 + MAX_PYTHON_THREADS;

/** Resident memory of a process, and of each interpreter beside heap and files. */
const BASE_RESIDENT_BYTES = 300 * 1024 * 1024;
const SESSION_RESIDENT_BYTES = 128 * 1024 * 1024;

/** Measured: 13 open files for the process and 6 for each worker. During a reset there are two workers. */
const BASE_FILES = 48;
const SESSION_FILES = 16;

/** CPU time of a process, in seconds: a backstop if the watchdog that enforces the limits has ended. */
const LIFE_CPU_SECONDS = 7 * 86_400;
/** Seconds between SIGXCPU, which shows the reason, and SIGKILL. */
const CPU_GRACE_SECONDS = 5;

/** Returns the maximum size of the Wasm heap of an interpreter, in pages. */
export function wasmPages(limits: Limits): number {
  return limits.memoryBytes / WASM_PAGE_BYTES;
}

/**
 * Returns the resident memory at which a process is ended, in bytes: several times what the sessions may use.
 */
export function maxResidentBytes({ limits, sessionsPerProcess }: Profile): number {
  const sessionBytes = limits.memoryBytes + 2 * limits.fileBytes + SESSION_RESIDENT_BYTES;
  return BASE_RESIDENT_BYTES + sessionsPerProcess * sessionBytes;
}

/** Returns the resource limits of a process with `sessions` interpreters. */
export function resourceLimits(limits: Limits, sessions: number): Rlimits {
  const stackBytes = SESSION_STACKS * WASM_STACK_KIB * 1024;
  const sessionBytes = limits.memoryBytes + limits.fileBytes + SESSION_BYTES + stackBytes;
  // A session and its replacement can exist at the same time.
  const workers = sessions === 1 ? 1 : sessions + 1;
  const bytes = BASE_BYTES + FURTHER_WORKER_BYTES * (workers - 1) + sessionBytes * workers;
  return {
    dataKib: Math.ceil(bytes / 1024),
    openFiles: BASE_FILES + SESSION_FILES * workers,
    cpuSeconds: Math.max(limits.cpuSeconds, LIFE_CPU_SECONDS),
  };
}

/** Returns a shell script that sets the limits and then executes the script's arguments, or fails. */
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
