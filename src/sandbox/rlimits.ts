import { type Limits, WASM_PAGE_BYTES } from "./limits.ts";

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
