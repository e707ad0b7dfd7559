import { INSTRUCTION_BYTES, seccompProgram } from "./allowed_calls.ts";
import type { ConfinePlan } from "./confine_plan.ts";

/** Numbers of the calls that are made here, on x86-64 and on arm64. */
const CALLS = {
  close: [3, 57],
  close_range: [436, 436],
  fcntl: [72, 25],
  fstat: [5, 80],
  open_path: [257, 56],
  prctl: [157, 167],
  prlimit64: [302, 261],
  seccomp: [317, 277],
  landlock_create_ruleset: [444, 444],
  landlock_add_rule: [445, 445],
  landlock_restrict_self: [446, 446],
} as const;

type Call = (name: keyof typeof CALLS, ...args: readonly (number | BufferSource | string)[]) => number;

/**
 * Takes up layers of the operating system for the process and all its threads, by calls of the C library.
 *
 * @throws {Error} if the kernel refuses a layer; the message names it.
 */
export function confine({ layers, readable, openFiles, threads }: ConfinePlan): void {
  const library = Deno.dlopen("libc.so.6", LIBRARY);
  const pinned: unknown[] = [];
  const call = createCall(library.symbols.syscall, pinned);
  if (layers.includes("descriptors")) closeHostDescriptors(call, openFiles);
  if (threads !== undefined) limitThreads(call, threads);
  requireSuccess("noNewPrivs", call("prctl", PR_SET_NO_NEW_PRIVS, 1));
  if (layers.includes("speculation")) limitSpeculation(call);
  if (layers.includes("landlock")) denyFiles(call, readable);
  if (layers.includes("seccomp")) denyCalls(call);
  pinned.length = 0;
  library.close();
}

function requireSuccess(layer: string, result: number): number {
  if (result >= 0) return result;
  throw new Error(`Cannot confine the process: the kernel refuses '${layer}'`);
}

const LIBRARY = {
  syscall: { parameters: ["i64", "i64", "i64", "i64", "i64", "i64", "i64"], result: "i64" },
} as const;

/**
 * Returns a function that makes system calls. Buffers and texts are passed by their address and are kept alive in
 * `pinned`.
 */
function createCall(
  syscall: (...words: [bigint, bigint, bigint, bigint, bigint, bigint, bigint]) => bigint,
  pinned: unknown[],
): Call {
  const column = Deno.build.arch === "x86_64" ? 0 : 1;
  const toWord = (arg: number | BufferSource | string): bigint => {
    if (typeof arg === "number") return BigInt(arg);
    const buffer = typeof arg === "string" ? new TextEncoder().encode(`${arg}\0`) : arg;
    pinned.push(buffer);
    return addressOf(buffer);
  };
  return (name, ...args) => {
    const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n] = args.map(toWord);
    return Number(syscall(BigInt(CALLS[name][column]), a, b, c, d, e, f));
  };
}

function addressOf(buffer: BufferSource): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer as Uint8Array<ArrayBuffer>));
}

const PR_SET_NO_NEW_PRIVS = 38;
const F_GETFD = 1;
const RLIMIT_NPROC = 6;
const FIRST_DESCRIPTOR = 3;
const STAT_BYTES = 144;
const MAX_DESCRIPTOR = 0x7fffffff;

/**
 * Closes the descriptors that the host's own parent left open in the host. Deno marks its descriptors to be closed
 * when a program is executed, so that a program without the mark came through the execution of this program. Deno's
 * copy of stdin has no mark either; it is the same file as stdin.
 */
function closeHostDescriptors(call: Call, openFiles: number): void {
  const own = new Set([0, 1, 2].map((descriptor) => identify(call, descriptor)));
  call("close_range", openFiles, MAX_DESCRIPTOR, 0);
  for (let descriptor = FIRST_DESCRIPTOR; descriptor < openFiles; descriptor++) {
    if (call("fcntl", descriptor, F_GETFD) === 0 && !own.has(identify(call, descriptor))) {
      call("close", descriptor);
    }
  }
}

/** Returns device and inode of an open file. */
function identify(call: Call, descriptor: number): string {
  const stat = new BigUint64Array(STAT_BYTES / 8);
  call("fstat", descriptor, stat);
  return `${stat[0]} ${stat[1]}`;
}

function limitThreads(call: Call, threads: number): void {
  const limit = new BigUint64Array([BigInt(threads), BigInt(threads)]);
  requireSuccess("threads", call("prlimit64", 0, RLIMIT_NPROC, limit, 0));
}

const PR_GET_SPECULATION_CTRL = 52;
const PR_SET_SPECULATION_CTRL = 53;
/** PR_SPEC_STORE_BYPASS and PR_SPEC_INDIRECT_BRANCH. */
const SPECULATIONS: Readonly<Record<string, number>> = { "store bypass": 0, "indirect branches": 1 };
const PR_SPEC_PRCTL = 1;
const PR_SPEC_DISABLE = 4;
const PR_SPEC_FORCE_DISABLE = 8;

/**
 * Returns what a process must do about a kind of speculation whose state the kernel gives: nothing, turn it off, or
 * give up, as neither the processor nor the kernel lets it.
 */
export function speculationStep(state: number): "none" | "disable" | "unavailable" {
  if (state < 0) return "unavailable";
  if (state === 0 || (state & (PR_SPEC_DISABLE | PR_SPEC_FORCE_DISABLE)) !== 0) return "none";
  return (state & PR_SPEC_PRCTL) !== 0 ? "disable" : "unavailable";
}

/** Turns off speculation for this thread and those that it starts, among them the threads of guests. */
function limitSpeculation(call: Call): void {
  for (const [name, kind] of Object.entries(SPECULATIONS)) {
    const step = speculationStep(call("prctl", PR_GET_SPECULATION_CTRL, kind, 0, 0, 0));
    if (step === "none") continue;
    const result = step === "disable"
      ? call("prctl", PR_SET_SPECULATION_CTRL, kind, PR_SPEC_FORCE_DISABLE, 0, 0)
      : -1;
    requireSuccess(`speculation: ${name}`, result);
  }
}

const SECCOMP_SET_MODE_FILTER = 1;
const SECCOMP_FILTER_FLAG_TSYNC = 1;

/** Refuses system calls to every thread, except those that Deno makes. */
function denyCalls(call: Call): void {
  const program = seccompProgram(Deno.build.arch, Deno.pid);
  if (!program) throw new Error(`Cannot confine the process: no filter for ${Deno.build.arch}`);
  const head = new BigUint64Array([BigInt(program.length / INSTRUCTION_BYTES), addressOf(program)]);
  requireSuccess("seccomp", call("seccomp", SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, head));
  program.fill(0); // the kernel has its own copy; the use here keeps the program alive until then
}

const LANDLOCK_VERSION = 1;
const LANDLOCK_PATH_BENEATH = 1;
const LANDLOCK_TSYNC = 8;
const READ_FILE = 1 << 2;
const READ_DIRECTORY = 1 << 3;
const O_PATH = 0o10000000;
const AT_FDCWD = -100;

/** Kinds of access that each version of Landlock adds: to files, to the network, and to other processes. */
const FILE_ACCESS_BITS = [0, 13, 14, 15, 15, 16];
const NETWORK_SINCE = 4;
const SCOPES_SINCE = 6;
const TSYNC_SINCE = 8;

/**
 * Denies this thread, and all that it starts, every file that is not named here, TCP, and signals to other processes.
 * From version 8 it applies to threads that run already.
 */
function denyFiles(call: Call, readable: readonly string[]): void {
  const version = requireSuccess("landlock", call("landlock_create_ruleset", 0, 0, LANDLOCK_VERSION));
  const fileBits = FILE_ACCESS_BITS[Math.min(version, FILE_ACCESS_BITS.length - 1)] as number;
  const rules = new BigUint64Array([
    (1n << BigInt(fileBits)) - 1n,
    version >= NETWORK_SINCE ? 3n : 0n,
    version >= SCOPES_SINCE ? 3n : 0n,
  ]);
  const bytes = version >= SCOPES_SINCE ? 24 : version >= NETWORK_SINCE ? 16 : 8;
  const ruleset = requireSuccess("landlock", call("landlock_create_ruleset", rules, bytes, 0));
  for (const path of readable) {
    const file = requireSuccess("landlock", call("open_path", AT_FDCWD, path, O_PATH));
    const isDirectory = Deno.statSync(path).isDirectory;
    const rule = new DataView(new ArrayBuffer(12));
    rule.setBigUint64(0, BigInt(isDirectory ? READ_FILE | READ_DIRECTORY : READ_FILE), true);
    rule.setInt32(8, file, true);
    requireSuccess("landlock", call("landlock_add_rule", ruleset, LANDLOCK_PATH_BENEATH, rule, 0));
    call("close", file);
  }
  const flags = version >= TSYNC_SINCE ? LANDLOCK_TSYNC : 0;
  requireSuccess("landlock", call("landlock_restrict_self", ruleset, flags));
  call("close", ruleset);
}
