import { type Limits, WASM_PAGE_BYTES } from "./limits.ts";

/** The numbers that the kernel holds a process to. */
export interface Rlimits {
  /** RLIMIT_DATA: private writable memory, in KiB. RLIMIT_AS is no use, as V8 reserves 64 GB. */
  readonly dataKib: number;
  /** RLIMIT_NOFILE. */
  readonly openFiles: number;
  /** RLIMIT_CPU, in seconds over the life of the process: a backstop behind the limit of each exec. */
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

/** How many execs at their limit of CPU time a process may live through. */
const CPU_EXECS = 100;

/** How large the Wasm heap of an interpreter may grow, in pages. */
export function wasmPages(limits: Limits): number {
  return limits.memoryBytes / WASM_PAGE_BYTES;
}

/** The resource limits of a process with `sessions` interpreters. */
export function resourceLimits(limits: Limits, sessions: number): Rlimits {
  const sessionBytes = limits.memoryBytes + limits.fileBytes + SESSION_BYTES;
  const bytes = BASE_BYTES + FURTHER_WORKER_BYTES * (sessions - 1) + sessionBytes * sessions;
  return {
    dataKib: Math.ceil(bytes / 1024),
    openFiles: BASE_FILES + SESSION_FILES * sessions,
    cpuSeconds: limits.cpuSeconds * CPU_EXECS,
  };
}

/** A shell script that takes on the limits and becomes the command in its arguments, or fails. */
export function rlimitScript({ dataKib, openFiles, cpuSeconds, writes = false }: Rlimits): string {
  return [
    "ulimit -c 0",
    ...(writes ? [] : ["ulimit -f 0"]),
    `ulimit -n ${openFiles}`,
    `ulimit -d ${dataKib}`,
    `ulimit -t ${cpuSeconds}`,
    'exec "$@"',
  ].join(" && ");
}
