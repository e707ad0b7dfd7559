/**
 * System calls that a sandbox's process may make once it has taken up its layers, and the seccomp program that refuses
 * all others. A test runs what a sandbox can do and fails with the name of a call that Deno needs and the list lacks.
 */

/** A condition on an argument. Arguments have 64 bits; the kernel reads the lower half of most of them. */
interface Condition {
  readonly argument: number;
  /**
   * Bits that are compared.
   *
   * @default all of the lower half
   */
  readonly mask?: number;
  /**
   * The half that is compared.
   *
   * @default the lower one
   */
  readonly half?: "lower" | "upper";
  /** Values that the bits may have. */
  readonly values: readonly number[];
}

/** Numbers of a call on x86-64 and on arm64, and conditions that all must hold. */
interface AllowedCall {
  readonly numbers: readonly [x64: number, arm64: number];
  readonly conditions?: readonly Condition[];
}

/** The number of a call that an architecture does not have. */
const NONE = -1;

/** CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID and CHILD_CLEARTID: a thread of glibc. */
const THREAD_FLAGS = 0x3d0f00;
/** O_WRONLY, O_RDWR, O_CREAT and O_TRUNC. */
const WRITE_FLAGS = 0o1 | 0o2 | 0o100 | 0o1000;
/** FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME, which come with an operation. */
const FUTEX_FLAGS = 0x80 | 0x100;
/** FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET. */
const FUTEX_OPERATIONS = [0, 1, 9, 10];
/**
 * MADV_NORMAL to MADV_DONTNEED, MADV_FREE, MADV_DONTFORK, MADV_DOFORK, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP,
 * MADV_DODUMP. MADV_MERGEABLE is not among them: pages that are shared by content tell others what they contain.
 */
const MEMORY_ADVICE = [0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17];
/** F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL and F_DUPFD_CLOEXEC. */
const DESCRIPTOR_COMMANDS = [0, 1, 2, 3, 4, 1030];
/** TCGETS, FIONBIO, FIOCLEX and FIONREAD. None of them writes to a terminal. */
const DEVICE_REQUESTS = [0x5401, 0x5421, 0x5451, 0x541b];
/** PR_SET_NAME and PR_GET_NAME of threads, and PR_SET_VMA, which names memory. */
const PROCESS_OPTIONS = [15, 16, 0x53564d41];
const AF_UNIX = 1;

/** Returns the conditions that an argument is a null pointer. */
function isNull(argument: number): Condition[] {
  return [{ argument, values: [0] }, { argument, half: "upper", values: [0] }];
}

/**
 * Calls by name. `ownPid` is the process id, to which signals may go. Calls that Deno makes most often and that have
 * conditions are first: the kernel remembers which calls without conditions it may make, and does not run the program
 * for them.
 */
export function allowedCalls(ownPid: number): Readonly<Record<string, AllowedCall>> {
  return {
    futex: {
      numbers: [202, 98],
      conditions: [{ argument: 1, mask: ~FUTEX_FLAGS, values: FUTEX_OPERATIONS }],
    },
    madvise: { numbers: [28, 233], conditions: [{ argument: 2, values: MEMORY_ADVICE }] },
    fcntl: { numbers: [72, 25], conditions: [{ argument: 1, values: DESCRIPTOR_COMMANDS }] },
    openat: { numbers: [257, 56], conditions: [{ argument: 2, mask: WRITE_FLAGS, values: [0] }] },
    open: { numbers: [2, NONE], conditions: [{ argument: 1, mask: WRITE_FLAGS, values: [0] }] },
    clone: { numbers: [56, 220], conditions: [{ argument: 0, values: [THREAD_FLAGS] }] },
    prctl: { numbers: [157, 167], conditions: [{ argument: 0, values: PROCESS_OPTIONS }] },
    ioctl: { numbers: [16, 29], conditions: [{ argument: 1, values: DEVICE_REQUESTS }] },
    socketpair: { numbers: [53, 199], conditions: [{ argument: 0, values: [AF_UNIX] }] },
    sendto: { numbers: [44, 206], conditions: isNull(4) },
    tgkill: { numbers: [234, 131], conditions: [{ argument: 0, values: [ownPid] }] },
    prlimit64: { numbers: [302, 261], conditions: [{ argument: 0, values: [0] }, ...isNull(2)] },
    ...withoutConditions(MEMORY),
    ...withoutConditions(DESCRIPTORS),
    ...withoutConditions(THREADS),
    ...withoutConditions(SYSTEM),
  };
}

type Numbers = Readonly<Record<string, AllowedCall["numbers"]>>;

function withoutConditions(calls: Numbers): Record<string, AllowedCall> {
  return Object.fromEntries(Object.entries(calls).map(([name, numbers]) => [name, { numbers }]));
}

/** V8 makes memory executable, as it compiles: `mprotect` has no condition that would keep hostile code from it. */
const MEMORY: Numbers = {
  brk: [12, 214],
  mmap: [9, 222],
  mprotect: [10, 226],
  mremap: [25, 216],
  munmap: [11, 215],
  // V8 protects its code by memory keys where the CPU has them.
  pkey_alloc: [330, 289],
  pkey_free: [331, 290],
  pkey_mprotect: [329, 288],
};

const DESCRIPTORS: Numbers = {
  close: [3, 57],
  epoll_create1: [291, 20],
  epoll_ctl: [233, 21],
  epoll_pwait: [281, 22],
  epoll_wait: [232, NONE],
  eventfd2: [290, 19],
  fstat: [5, 80],
  getdents64: [217, 61],
  lseek: [8, 62],
  newfstatat: [262, 79],
  poll: [7, NONE],
  ppoll: [271, 73],
  pread64: [17, 67],
  read: [0, 63],
  readlink: [89, NONE],
  readlinkat: [267, 78],
  readv: [19, 65],
  recvfrom: [45, 207],
  statx: [332, 291],
  write: [1, 64],
  writev: [20, 66],
};

/** The calls about scheduling only read. */
const THREADS: Numbers = {
  exit: [60, 93],
  exit_group: [231, 94],
  getpid: [39, 172],
  gettid: [186, 178],
  restart_syscall: [219, 128],
  rseq: [334, 293],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sched_getaffinity: [204, 123],
  sched_getparam: [143, 121],
  sched_getscheduler: [145, 120],
  sched_yield: [24, 124],
  set_robust_list: [273, 99],
  sigaltstack: [131, 132],
};

/** The C library makes the calls about time only where the kernel gives it no clock that it can read itself. */
const SYSTEM: Numbers = {
  clock_getres: [229, 114],
  clock_gettime: [228, 113],
  clock_nanosleep: [230, 115],
  getcpu: [309, 168],
  getrandom: [318, 278],
  getrusage: [98, 165],
  gettimeofday: [96, 169],
  nanosleep: [35, 101],
  sysinfo: [99, 179],
  time: [201, NONE],
  uname: [63, 160],
};

/**
 * From this number on the numbers hold for every architecture, and of Linux 5.1 and later. Refused calls from here
 * fail with ENOSYS, upon which a C library makes an older call, such as `clone` after `clone3`. Others fail with EPERM.
 * No call ends the process: the C library and Deno try calls that they can do without, and hostile code gains as
 * little from an error.
 */
const FIRST_COMMON_NUMBER = 424;

/** An architecture that the filter supports: its place in the numbers, and its name for the kernel. */
const ARCHITECTURES: Readonly<Record<string, { readonly place: 0 | 1; readonly audit: number }>> = {
  x86_64: { place: 0, audit: 0xc000003e },
  aarch64: { place: 1, audit: 0xc00000b7 },
};

/** Size of an instruction of the program, in bytes. */
export const INSTRUCTION_BYTES = 8;

/** Operations of the kernel's filter language. */
const LOAD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 0x00050000 | 1;
const ENOSYS = 0x00050000 | 38;

/** Offsets in the data that the kernel gives a filter. Arguments have eight bytes, the lower half first. */
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;

/** An instruction. A jump skips `then` or `otherwise` instructions. */
interface Instruction {
  readonly operation: number;
  readonly value: number;
  readonly then?: number;
  readonly otherwise?: number;
}

/**
 * Returns the seccomp program for an architecture as Deno names it; `undefined` if it is not supported. Calls of
 * another architecture in the same process, such as 32-bit ones, end the process.
 */
export function seccompProgram(architecture: string, ownPid: number): Uint8Array<ArrayBuffer> | undefined {
  const found = ARCHITECTURES[architecture];
  if (!found) return undefined;
  const { place, audit } = found;
  return encode([
    { operation: LOAD, value: ARCHITECTURE_OFFSET },
    { operation: JUMP_IF_EQUAL, value: audit, then: 1 },
    { operation: RETURN, value: KILL_PROCESS },
    { operation: LOAD, value: NUMBER_OFFSET },
    ...Object.values(allowedCalls(ownPid)).flatMap(({ numbers, conditions = [] }) =>
      numbers[place] === NONE ? [] : rule(numbers[place], conditions)
    ),
    { operation: JUMP_IF_AT_LEAST, value: FIRST_COMMON_NUMBER, then: 1 },
    { operation: RETURN, value: EPERM },
    { operation: RETURN, value: ENOSYS },
  ]);
}

/** Returns instructions that decide about a call, or go on after them if it is another. */
function rule(number: number, conditions: readonly Condition[]): Instruction[] {
  const body = [...conditions.flatMap(check), { operation: RETURN, value: ALLOW }];
  return [{ operation: JUMP_IF_EQUAL, value: number, otherwise: body.length }, ...body];
}

/** Returns instructions that refuse the call unless the condition holds. */
function check({ argument, mask, half = "lower", values }: Condition): Instruction[] {
  const offset = ARGUMENTS_OFFSET + 8 * argument + (half === "lower" ? 0 : 4);
  return [
    { operation: LOAD, value: offset },
    ...(mask === undefined ? [] : [{ operation: AND, value: mask }]),
    ...values.map((value, at) => ({ operation: JUMP_IF_EQUAL, value, then: values.length - at })),
    { operation: RETURN, value: EPERM },
  ];
}

function encode(instructions: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const program = new DataView(new ArrayBuffer(instructions.length * INSTRUCTION_BYTES));
  instructions.forEach(({ operation, value, then = 0, otherwise = 0 }, at) => {
    program.setUint16(at * INSTRUCTION_BYTES, operation, true);
    program.setUint8(at * INSTRUCTION_BYTES + 2, then);
    program.setUint8(at * INSTRUCTION_BYTES + 3, otherwise);
    program.setUint32(at * INSTRUCTION_BYTES + 4, value, true);
  });
  return new Uint8Array(program.buffer);
}
