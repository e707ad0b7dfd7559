/**
 * System calls that a sandbox's process is denied, and the seccomp program that denies them. The calls are listed by
 * what they are for, and not by what one machine was seen to need, so that a new version of Deno finds what it needs.
 */

/** Number of a call on x86-64 and on arm64. `NONE` if the architecture does not have it. */
type CallNumbers = readonly [x64: number, arm64: number];

const NONE = -1;

/** Calls that fail with EPERM, by group. */
export const DENIED_CALLS: Readonly<Record<string, Readonly<Record<string, CallNumbers>>>> = {
  "programs and processes, and signals to them": {
    fork: [57, NONE],
    vfork: [58, NONE],
    execve: [59, 221],
    execveat: [322, 281],
    kill: [62, 129],
    tkill: [200, 130],
    rt_sigqueueinfo: [129, 138],
    rt_tgsigqueueinfo: [297, 240],
    pidfd_open: [434, 434],
    pidfd_getfd: [438, 438],
    pidfd_send_signal: [424, 424],
  },
  "memory and state of other processes": {
    ptrace: [101, 117],
    process_vm_readv: [310, 270],
    process_vm_writev: [311, 271],
    process_madvise: [440, 440],
    process_mrelease: [448, 448],
    kcmp: [312, 272],
  },
  "namespaces, users and capabilities": {
    setns: [308, 268],
    unshare: [272, 97],
    chroot: [161, 51],
    pivot_root: [155, 41],
    setuid: [105, 146],
    setgid: [106, 144],
    setreuid: [113, 145],
    setregid: [114, 143],
    setresuid: [117, 147],
    setresgid: [119, 149],
    setfsuid: [122, 151],
    setfsgid: [123, 152],
    setgroups: [116, 159],
    capset: [126, 91],
    personality: [135, 92],
  },
  "network": {
    socket: [41, 198],
    connect: [42, 203],
    bind: [49, 200],
    listen: [50, 201],
    accept: [43, 202],
    accept4: [288, 242],
  },
  "changes to files": {
    creat: [85, NONE],
    mkdir: [83, NONE],
    mkdirat: [258, 34],
    mknod: [133, NONE],
    mknodat: [259, 33],
    link: [86, NONE],
    linkat: [265, 37],
    symlink: [88, NONE],
    symlinkat: [266, 36],
    rename: [82, NONE],
    renameat: [264, 38],
    renameat2: [316, 276],
    unlink: [87, NONE],
    unlinkat: [263, 35],
    rmdir: [84, NONE],
    truncate: [76, 45],
    chmod: [90, NONE],
    fchmod: [91, 52],
    fchmodat: [268, 53],
    fchmodat2: [452, 452],
    chown: [92, NONE],
    fchown: [93, 55],
    lchown: [94, NONE],
    fchownat: [260, 54],
    utime: [132, NONE],
    utimes: [235, NONE],
    futimesat: [261, NONE],
    utimensat: [280, 88],
    setxattr: [188, 5],
    lsetxattr: [189, 6],
    fsetxattr: [190, 7],
    removexattr: [197, 14],
    lremovexattr: [198, 15],
    fremovexattr: [199, 16],
    name_to_handle_at: [303, 264],
    open_by_handle_at: [304, 265],
    memfd_create: [319, 279],
    memfd_secret: [447, 447],
  },
  "mounts": {
    mount: [165, 40],
    umount2: [166, 39],
    swapon: [167, 224],
    swapoff: [168, 225],
    open_tree: [428, 428],
    move_mount: [429, 429],
    fsopen: [430, 430],
    fsconfig: [431, 431],
    fsmount: [432, 432],
    fspick: [433, 433],
    mount_setattr: [442, 442],
    quotactl: [179, 60],
    quotactl_fd: [443, 443],
    statmount: [457, 457],
    listmount: [458, 458],
  },
  "shared memory and queues between processes": {
    shmget: [29, 194],
    shmat: [30, 196],
    shmctl: [31, 195],
    shmdt: [67, 197],
    semget: [64, 190],
    semop: [65, 193],
    semctl: [66, 191],
    semtimedop: [220, 192],
    msgget: [68, 186],
    msgsnd: [69, 189],
    msgrcv: [70, 188],
    msgctl: [71, 187],
    mq_open: [240, 180],
    mq_unlink: [241, 181],
    mq_timedsend: [242, 182],
    mq_timedreceive: [243, 183],
    mq_notify: [244, 184],
    mq_getsetattr: [245, 185],
  },
  "parts of the kernel with a history of faults": {
    bpf: [321, 280],
    perf_event_open: [298, 241],
    userfaultfd: [323, 282],
    io_uring_setup: [425, 425],
    io_uring_enter: [426, 426],
    io_uring_register: [427, 427],
    io_setup: [206, 0],
    io_submit: [209, 2],
    io_destroy: [207, 1],
    io_cancel: [210, 3],
    io_getevents: [208, 4],
    io_pgetevents: [333, 292],
    vmsplice: [278, 75],
    splice: [275, 76],
    tee: [276, 77],
    add_key: [248, 217],
    request_key: [249, 218],
    keyctl: [250, 219],
    mbind: [237, 235],
    set_mempolicy: [238, 237],
    migrate_pages: [256, 238],
    move_pages: [279, 239],
    modify_ldt: [154, NONE],
    fanotify_init: [300, 262],
    fanotify_mark: [301, 263],
    lookup_dcookie: [212, 18],
    nfsservctl: [180, 42],
    uselib: [134, NONE],
    _sysctl: [156, NONE],
    sysfs: [139, NONE],
    ustat: [136, NONE],
  },
  "administration of the machine": {
    init_module: [175, 105],
    finit_module: [313, 273],
    delete_module: [176, 106],
    kexec_load: [246, 104],
    kexec_file_load: [320, 294],
    reboot: [169, 142],
    syslog: [103, 116],
    acct: [163, 89],
    vhangup: [153, 58],
    settimeofday: [164, 170],
    clock_settime: [227, 112],
    adjtimex: [159, 171],
    clock_adjtime: [305, 266],
    sethostname: [170, 161],
    setdomainname: [171, 162],
    iopl: [172, NONE],
    ioperm: [173, NONE],
  },
};

/**
 * Calls that fail with ENOSYS, so that the C library uses an older one whose arguments a filter can read: `clone` and
 * `openat`.
 */
const OPAQUE_CALLS: readonly CallNumbers[] = [[435, 435], [437, 437]];

/** First call that is unknown here (Linux 6.13). It and all later ones fail with ENOSYS. */
const FIRST_UNKNOWN_CALL = 463;

const CLONE: CallNumbers = [56, 220];
/** Flag of `clone` for a thread; without it the call starts a process. */
const CLONE_THREAD = 0x10000;
const OPEN: CallNumbers = [2, NONE];
const OPENAT: CallNumbers = [257, 56];
/** O_WRONLY, O_RDWR, O_CREAT and O_TRUNC. */
const WRITE_FLAGS = 0o1 | 0o2 | 0o100 | 0o1000;

/** An architecture that the filter supports: its column of the table, and its name for the kernel. */
const ARCHITECTURES: Readonly<Record<string, { readonly column: 0 | 1; readonly audit: number }>> = {
  x86_64: { column: 0, audit: 0xc000003e },
  aarch64: { column: 1, audit: 0xc00000b7 },
};

/** Size of an instruction of the program, in bytes. */
export const INSTRUCTION_BYTES = 8;

/** Operations of the kernel's filter language: load a word, jump if equal, greater or any bit set, and return. */
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 0x00050000 | 1;
const ENOSYS = 0x00050000 | 38;

/** Offsets in the data that the kernel gives a filter. Arguments have eight bytes, the lower half first. */
const CALL_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;

/** An instruction with a label to jump to if its condition holds; otherwise the next instruction follows. */
interface Instruction {
  readonly operation: number;
  readonly value: number;
  readonly then?: string;
  /** Label of this instruction. */
  readonly label?: string;
}

/**
 * Returns the seccomp program for an architecture as Deno names it; `undefined` if it is not supported. Calls of
 * another architecture in the same process, such as 32-bit ones, end the process.
 */
export function seccompProgram(architecture: string): Uint8Array<ArrayBuffer> | undefined {
  const found = ARCHITECTURES[architecture];
  if (!found) return undefined;
  const { column, audit } = found;
  const ifCall = (numbers: CallNumbers, then: string): Instruction[] =>
    numbers[column] === NONE ? [] : [{ operation: JUMP_IF_EQUAL, value: numbers[column], then }];
  const denied = Object.values(DENIED_CALLS).flatMap((calls) => Object.values(calls));
  return assemble([
    { operation: LOAD, value: ARCHITECTURE_OFFSET },
    { operation: JUMP_IF_EQUAL, value: audit, then: "known" },
    { operation: RETURN, value: KILL_PROCESS },
    { operation: LOAD, value: CALL_OFFSET, label: "known" },
    { operation: JUMP_IF_AT_LEAST, value: FIRST_UNKNOWN_CALL, then: "absent" },
    ...OPAQUE_CALLS.flatMap((call) => ifCall(call, "absent")),
    ...ifCall(CLONE, "clone"),
    ...ifCall(OPEN, "open"),
    ...ifCall(OPENAT, "openat"),
    ...denied.flatMap((call) => ifCall(call, "denied")),
    { operation: RETURN, value: ALLOW, label: "allowed" },
    { operation: RETURN, value: EPERM, label: "denied" },
    { operation: RETURN, value: ENOSYS, label: "absent" },
    ...argumentCheck("clone", { argument: 0, bits: CLONE_THREAD, ifAny: ALLOW, ifNone: EPERM }),
    ...argumentCheck("open", { argument: 1, bits: WRITE_FLAGS, ifAny: EPERM, ifNone: ALLOW }),
    ...argumentCheck("openat", { argument: 2, bits: WRITE_FLAGS, ifAny: EPERM, ifNone: ALLOW }),
  ]);
}

/** Returns instructions that decide by the bits of an argument. */
function argumentCheck(
  label: string,
  { argument, bits, ifAny, ifNone }: { argument: number; bits: number; ifAny: number; ifNone: number },
): Instruction[] {
  return [
    { operation: LOAD, value: ARGUMENTS_OFFSET + 8 * argument, label },
    { operation: JUMP_IF_ANY_BIT, value: bits, then: `${label} with a bit` },
    { operation: RETURN, value: ifNone },
    { operation: RETURN, value: ifAny, label: `${label} with a bit` },
  ];
}

function assemble(instructions: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const program = new DataView(new ArrayBuffer(instructions.length * INSTRUCTION_BYTES));
  instructions.forEach(({ operation, value, then }, at) => {
    const target = instructions.findIndex(({ label }) => label !== undefined && label === then);
    program.setUint16(at * INSTRUCTION_BYTES, operation, true);
    program.setUint8(at * INSTRUCTION_BYTES + 2, then === undefined ? 0 : target - at - 1);
    program.setUint32(at * INSTRUCTION_BYTES + 4, value, true);
  });
  return new Uint8Array(program.buffer);
}
