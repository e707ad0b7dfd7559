import type { JsonValue } from "../json.ts";
import type { HostTool } from "./host_tool.ts";

/** Options of {@linkcode PythonSession.exec}. */
export interface ExecOptions {
  /**
   * Wall time until the program is interrupted, in milliseconds.
   *
   * @default `limits.timeoutMs` of the profile
   */
  timeoutMs?: number | undefined;
  /**
   * Memory of the interpreter and the program, in bytes: a program that needs more gets a `MemoryError`. Below 64 MiB
   * it counts as 64 MiB. The interpreter itself takes some 30 MiB. Files have a limit of their own.
   *
   * @default `limits.memoryBytes` of the profile, which is also the maximum
   */
  memoryBytes?: number | undefined;
  /** Text that `input()` and `sys.stdin` read. At its end, or without it, `input()` raises EOFError. */
  stdin?: string | undefined;
  /**
   * Runs the code as `python` runs a file with these arguments, of which the first is the file's path: `__file__`
   * and `sys.argv` are set, the last expression has no value, `await` is allowed in functions only, and functions
   * registered with `atexit` run at the end.
   */
  argv?: readonly [string, ...string[]] | undefined;
  /**
   * Runs the code as a cell of a notebook, by IPython's rules: `!command`, magics such as `%timeit` and `%%writefile`,
   * `name?`, a `;` at the end hides the value, `_` and `Out` have earlier values, and a long value is on several lines. The
   * cell runs in an event loop, whose tasks go on in later cells. Not together with `argv`.
   *
   * @default false
   */
  cell?: boolean | undefined;
  /**
   * Values by name that are set as globals before the code runs. Plain JSON becomes the same in Python, where whole
   * numbers are `int`; a `Uint8Array` becomes `bytes`; other typed arrays become an `array.array` of the same elements,
   * which `numpy.asarray` takes without a copy. Names are Python identifiers. At most 256 inputs of together 64 MiB, and
   * 100,000 values of JSON at most 64 levels deep.
   */
  inputs?: Readonly<Record<string, unknown>> | undefined;
  /** Files written under the session's working directory before the code runs. */
  files?: Readonly<Record<string, Uint8Array | string>> | undefined;
  /**
   * Paths of files to read after the code has run, for {@linkcode ExecResult} `files`. Files that are
   * missing, or beyond 64 MiB together, are left out.
   */
  fetchFiles?: readonly string[] | undefined;
  /** Host tools that this exec, and no other one, may call as `paddock.tools.<name>`. */
  tools?: readonly HostTool[] | undefined;
  /**
   * `tool` ends the exec with the status `waiting` at each call of one of `tools`, whose `run` is never called:
   * {@linkcode BranchingSession.resume} gives the answer, and the program goes on. A checkpoint of the session has the
   * exec that waits. An exec that goes on from a checkpoint runs once more from its start and gets the same answers:
   * `random`, `secrets`, `uuid4` and `os.urandom` have the same values then, and clocks do not. Its code, stdin and inputs
   * have at most 4 MiB together, and its calls and answers 1 MiB. Not together with `then`.
   *
   * @default calls run the tools
   */
  suspendAt?: "tool" | undefined;
  /**
   * Owner and memory of the state that `suspendAt` captures before the program runs.
   *
   * @default those of {@linkcode BranchingSession.checkpoint}
   */
  captures?: Pick<CheckpointOptions, "owner" | "states"> | undefined;
  /**
   * `rewind` resets the session after the exec, like `reset({ mode: "rewind" })`, without a second round trip. The
   * result does not wait for it; the next call of the session does.
   *
   * @default the state is kept
   */
  then?: "rewind" | undefined;
  /** Cancels the exec, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Called with each piece of output as it arrives, before the result. If it returns a promise, the program is held
   * back until the promise resolves: a write waits once the buffers are full. If it throws or rejects, the exec is
   * aborted.
   */
  onOutput?: ((stream: "stdout" | "stderr", text: string) => unknown) | undefined;
  /** Called with each object that the program shows, in order with its output. */
  onDisplay?: ((bundle: MimeBundle) => unknown) | undefined;
}

/** An exception of the guest, or of the host in the same form. */
export interface GuestError {
  /** The class name, such as `ValueError`. */
  type: string;
  message: string;
  /** The traceback as CPython prints it, without frames of the runner. */
  traceback: string;
}

/**
 * Number of refused attempts by kind: to open files of the system (`files`), to use the network, to start or copy a
 * process, and to reach JavaScript. The guest counts them: they are advice, and 0 proves nothing.
 */
export type DeniedAttempts = Partial<Record<"files" | "network" | "processes" | "javascript", number>>;

/**
 * An object that a program showed, in one or more forms by MIME type: base64 for images (except SVG), audio, video and
 * PDF, JSON values for types of JSON, text for others. It is data of the guest: HTML and SVG may have scripts.
 */
export type MimeBundle = Readonly<Record<string, JsonValue>>;

/** Fields that every result has. */
export interface ExecOutcome {
  /** Text that was written to stdout, up to the profile's `outputBytes`. */
  stdout: string;
  /** Text that was written to stderr, up to the profile's `outputBytes`. */
  stderr: string;
  /** Wall time measured by the host, in milliseconds. */
  durationMs: number;
  /**
   * False if the interpreter was lost: the next exec runs in a fresh one. With `restoredFrom`, the session has returned
   * to a checkpoint, and the next exec continues from there.
   */
  stateKept: boolean;
  /** True if output beyond the profile's `outputBytes` was dropped. */
  truncated: boolean;
  /**
   * Objects that the program showed, in order: by `display()`, by its last expression, and the open figures of matplotlib. At
   * most 100 bundles of 8 MiB together. The bundle of the last expression lacks `text/plain`, which is `value`. Absent
   * if there is none.
   */
  display?: MimeBundle[];
  /** Number of bundles that were dropped because of these limits, or since a form is not what its MIME type says. */
  droppedDisplays?: number;
  /**
   * Peak size of the interpreter's heap until the end of the exec, in bytes, since its start or its last rewind: Python
   * itself takes some 30 MiB. The guest measures it, so it is advice. Absent if the interpreter was lost.
   */
  peakMemoryBytes?: number;
  /** Refused attempts. Absent if the guest counted none, or its interpreter was lost. */
  denied?: DeniedAttempts;
  /** True if this exec ran in a fresh interpreter because the last one had been lost. */
  restarted?: true;
  /** The checkpoint to which the session returned, as the interpreter was lost in this exec or before it. */
  restoredFrom?: RestoredFrom;
  /** Contents of the files in `fetchFiles`, by path. */
  files?: Record<string, Uint8Array>;
}

/** Result of running guest code: a closed union over `status`. */
export type ExecResult =
  & ExecOutcome
  & (
    /**
     * The code ran to its end. `value` is the repr of its last expression, unless that is None. `valueJson` is the
     * expression's value where that is plain data of at most 1 MiB as JSON, 100,000 values and 32 levels: a boolean, an
     * integer up to 2^53 - 1, a finite float, text, a list, a tuple (as an array), or a dict with keys of text; None in
     * them is `null`. Instances of subclasses, such as a namedtuple, are not plain data.
     */
    | { status: "ok"; value?: string; valueJson?: JsonValue }
    /** The code raised an exception that it did not catch. */
    | { status: "error"; error: GuestError }
    /** The code exceeded its timeout or its CPU time limit. */
    | { status: "timeout"; error: GuestError }
    /** An uncaught MemoryError (state kept), or a kill by a memory limit (state lost). */
    | { status: "memory"; error: GuestError }
    /** The code wrote more than 64 times its output limit and was interrupted. */
    | { status: "output"; error: GuestError }
    /** The code called `sys.exit` with a code other than 0. */
    | { status: "exited"; exitCode: number }
    /**
     * The interpreter has ended. `exitCode`, from 0 to 255, is set if the program ended it, for example by
     * `os._exit`.
     */
    | { status: "crashed"; error: GuestError; exitCode?: number }
    /**
     * The code waits for the answer to a call, with `suspendAt`. Output, `display` and `durationMs` are those since its
     * start, in this result and in later ones.
     */
    | { status: "waiting"; call: WaitingCall }
    /**
     * The code ran once more, as it had waited, and did not make the same calls. `call` is that of the first run, from
     * which the second run differs. The program was interrupted.
     */
    | { status: "diverged"; call: WaitingCall; error: GuestError }
  );

/** A call of a host tool whose answer the program waits for. */
export interface WaitingCall {
  /** `call_1` for the first call of the exec that has an answer, and so on. */
  readonly callId: string;
  /** Name of the tool. */
  readonly name: string;
  /** Arguments, which match the schema of the tool. They come from the program. */
  readonly arguments: Record<string, unknown>;
}

/** The answer to a call: a value of JSON that the call returns, or an error that it raises in Python. */
export type ToolAnswer =
  | { readonly value: unknown; readonly error?: undefined }
  | {
    readonly value?: undefined;
    readonly error: { readonly type?: string | undefined; readonly message: string };
  };

/** Options of {@linkcode BranchingSession.resume}. */
export interface ResumeOptions
  extends Pick<ExecOptions, "timeoutMs" | "signal" | "onOutput" | "onDisplay" | "captures"> {
  /**
   * The call that is answered. An exec that waits for another one goes on waiting.
   *
   * @default the call that waits
   */
  callId?: string | undefined;
  /**
   * The tools of the exec. They are needed once after a checkpoint was restored, as it has only their names.
   *
   * @default those of the exec
   */
  tools?: readonly HostTool[] | undefined;
}

/** Status of an {@linkcode ExecResult}. */
export type ExecStatus = ExecResult["status"];

/** Options of {@linkcode PythonSession.reset}. */
export interface ResetOptions {
  /**
   * `fresh` starts a new interpreter. `rewind` writes the base image back over the running one: it is faster, but
   * only for code of one trust domain.
   *
   * @default "fresh"
   */
  mode?: "fresh" | "rewind" | undefined;
  /** Makes `random`, `secrets`, `uuid4` and `os.urandom` reproducible. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode PythonSession.shell}. */
export interface ShellOptions
  extends Pick<ExecOptions, "timeoutMs" | "memoryBytes" | "stdin" | "signal" | "onOutput"> {
  /**
   * Time without output after which the command is interrupted, in milliseconds.
   *
   * @default no limit
   */
  silenceMs?: number | undefined;
}

/** A time limit of a command line: on its wall time, on its time without output, or on its CPU time. */
export type ShellDeadline = "run" | "silence" | "cpu";

/** Result of running a command line: a closed union over `status`. */
export type ShellResult =
  & Omit<ExecOutcome, "files">
  & {
    /** Working directory of the shell after the command. */
    cwd: string;
  }
  & (
    /** The exit code is 0. */
    | { status: "ok"; exitCode: 0 }
    /** The exit code is not 0. */
    | { status: "exited"; exitCode: number }
    /** The command exceeded one of its time limits. */
    | { status: "timeout"; deadline: ShellDeadline; error: GuestError }
    /** The process exceeded a memory limit. */
    | { status: "memory"; error: GuestError }
    /** The command wrote more than 64 times its output limit and was interrupted. */
    | { status: "output"; error: GuestError }
    /** The interpreter has ended, and the shell with it. */
    | { status: "crashed"; error: GuestError }
  );

/**
 * The state of a session as a value: its heap, files, open files and shell. It is executable state: only the host that
 * made it restores it, in sessions of the same base image, profile and owner.
 */
export interface Checkpoint {
  /** SHA-256 of its contents. */
  readonly id: string;
  /** Size of the compressed bytes that it consists of. */
  readonly storedBytes: number;
  /** Size of the state before it is compressed, if it is known. */
  readonly stateBytes?: number | undefined;
  /** Names of the host tools of the last exec before it was made. */
  readonly tools: readonly string[];
  /** Returns its bytes, from which the same host can read it again. */
  toBytes(): Promise<Uint8Array>;
}

/**
 * When a session takes checkpoints by itself: after every exec, command and written file (`exec`), or so many seconds
 * after the last one, at most a day.
 */
export type CheckpointEvery = "exec" | number;

/**
 * Memory of this process for states of sessions that are not compressed: those that are being captured or restored.
 * Room is taken when nothing else must be waited for, and until the state is compressed or restored.
 */
export interface StateMemory {
  /**
   * Waits for room for a state of at most so many bytes.
   *
   * @throws the reason of `signal` if it aborts, or an error if there is no room for too long.
   */
  reserve(bytes: number, signal?: AbortSignal): Promise<StateRoom>;
}

/** Room of one state, which is free when it is disposed. */
export interface StateRoom extends Disposable {
  /** Frees what is beyond so many bytes. */
  shrink(bytes: number): void;
}

/** Room for the last checkpoint of a session in the memory of this process. */
export interface CheckpointMemory {
  /** Number of bytes that the checkpoint may have now. */
  readonly availableBytes: number;
  /** Sets the number of bytes that the checkpoint has; 0 if there is none. An error means that there is no room. */
  resize(bytes: number): void;
  /**
   * Memory of the state while it is captured. A `CheckpointError` means that the earlier checkpoint remains.
   *
   * @default no limit but that of the profile
   */
  readonly states?: StateMemory | undefined;
}

/** Options of a session that returns to checkpoints that it takes by itself. */
export interface RecoveryOptions {
  readonly every: CheckpointEvery;
  /**
   * Room for the checkpoint.
   *
   * @default no limit but that of the profile
   */
  readonly memory?: CheckpointMemory | undefined;
  /**
   * Owner of the checkpoints that `store` gets.
   *
   * @default ""
   */
  readonly owner?: string | undefined;
  /**
   * Stores each checkpoint elsewhere, before the call that made it due ends. `calls` is the number of execs, commands and
   * written files that had ended since the session has these options. A `SandboxError` means that the earlier
   * checkpoint remains.
   */
  readonly store?: ((checkpoint: Checkpoint, at: { readonly calls: number }) => Promise<void>) | undefined;
}

/** A checkpoint to which a session returned by itself, as its interpreter was lost. */
export interface RestoredFrom {
  /**
   * Number of execs, commands and written files that had ended after the checkpoint, and whose effects are lost. What an
   * exec that lost its interpreter did is lost, too, and not counted.
   */
  lostCalls: number;
  /** Age of the checkpoint, in milliseconds. */
  ageMs: number;
}

/** Options of what makes or restores checkpoints. */
export interface CheckpointOptions {
  /**
   * Identifies who may restore it, such as the hash of a token.
   *
   * @default ""
   */
  owner?: string | undefined;
  /**
   * Memory of the state while it is not compressed.
   *
   * @default 128 MiB for each owner, and what is being captured
   */
  states?: StateMemory | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode BranchingSession.checkpoint}. */
export interface CaptureOptions extends CheckpointOptions {
  /**
   * False to keep the files alone. A session that is restored then has a fresh interpreter and a fresh shell with these
   * files. What runs in the session does not matter.
   *
   * @default true
   */
  memory?: boolean | undefined;
  /**
   * True if there is no checkpoint when the interpreter was lost and no result has reported that yet.
   *
   * @default false
   */
  refuseLost?: boolean | undefined;
}

/** Options of {@linkcode BranchingSession.restore}. */
export interface RestoreOptions extends CheckpointOptions {
  /**
   * True if `random` and `numpy.random` get other random numbers, as those of a fork. Otherwise they continue.
   *
   * @default true if `seed` is given
   */
  reseed?: boolean | undefined;
  /** Seed of those numbers, and of `secrets` and `os.urandom`. */
  seed?: number | undefined;
}

/** Options of {@linkcode BranchingSession.fork}. */
export interface ForkOptions extends CheckpointOptions {
  /**
   * Seed of the first copy's `random`, `secrets` and `os.urandom`. Each further copy has the next integer. Without it,
   * each copy has random numbers of its own.
   */
  seed?: number | undefined;
}

/** One Python interpreter with its own globals and files. */
export interface PythonSession extends AsyncDisposable {
  /** Runs code in the session's namespace. What the guest code does is reported in the result and never rejects. */
  exec(code: string, options?: ExecOptions): Promise<ExecResult>;
  /**
   * Runs a command line in the session's shell, which sees the same files as Python and keeps its directory,
   * variables and functions from one command to the next. What the command does is reported in the result and never
   * rejects. Output arrives as it is written; output through a pipe, a substitution, `eval` or `source` arrives
   * when that has ended. `python` and `python3` run programs in the session's interpreter.
   *
   * @throws {TypeError} if the profile has no `shell`.
   */
  shell(command: string, options?: ShellOptions): Promise<ShellResult>;
  /** Writes a file under the session's working directory; a string is written as UTF-8. */
  writeFile(path: string, contents: Uint8Array | string): Promise<void>;
  /** Reads a file under the session's working directory. */
  readFile(path: string): Promise<Uint8Array>;
  /** Resets globals, modules and files to their state at the start. */
  reset(options?: ResetOptions): Promise<void>;
}

/** A session whose state is a value: it can be kept, restored, and continued in copies. */
export interface BranchingSession extends PythonSession {
  /**
   * Answers the call of an exec with `suspendAt` that waits, and returns its next result: it waits again, or has ended.
   * Meanwhile the session runs nothing else: a reset, or a checkpoint that is restored, ends the exec.
   *
   * @throws {WaitingExecError} if no exec waits, or one for another call.
   */
  resume(answer: ToolAnswer, options?: ResumeOptions): Promise<ExecResult>;
  /** Returns the call that an exec waits for, such as that of a checkpoint; `undefined` if none waits. */
  waitingCall(): Promise<WaitingCall | undefined>;
  /**
   * Returns the state of the session, which goes on. If an exec waits, that is the state in which it waits.
   *
   * @throws {CheckpointError} if the session has threads, commands, pipes or callbacks of C, which no checkpoint has.
   */
  checkpoint(options?: CaptureOptions): Promise<Checkpoint>;
  /**
   * Replaces the state by that of a checkpoint. No code runs again: generators continue, and so does `random` without
   * `reseed`, while `secrets`, `uuid4` and `os.urandom` have new bytes.
   *
   * @throws {CheckpointError} if the checkpoint must not be restored here. The session is as before then, unless the
   * code is `checkpoint_refused`, with which it is as after its start.
   */
  restore(checkpoint: Checkpoint, options?: RestoreOptions): Promise<void>;
  /**
   * Returns leases of copies of the session, which goes on. Each copy has other random numbers.
   *
   * @throws {CheckpointError} as {@linkcode BranchingSession.checkpoint} does.
   */
  fork(count: number, options?: ForkOptions): Promise<BranchingLease[]>;
}

/** A leased session. Disposing the lease returns the session to its pool. */
export interface SessionLease extends AsyncDisposable {
  readonly session: PythonSession;
}

/** A lease of a session that can be forked. */
export interface BranchingLease extends SessionLease {
  readonly session: BranchingSession;
}

/** Source of leases: a {@linkcode SandboxPool}, or another class with the same contract. */
export interface SessionPool {
  /** Limits of the profile of its sessions, in bytes, if it knows them. */
  readonly limits?: { readonly memoryBytes: number; readonly outputBytes: number } | undefined;
  /**
   * Factor of the limits of time of its sessions: `timeScale` of their profile.
   *
   * @default 1
   */
  readonly timeScale?: number | undefined;
  /** Leases a session that no other lease has, and whose state no earlier lease has changed. Waits for one. */
  acquire(options?: AcquireOptions): Promise<SessionLease>;
}

/** Options of {@linkcode SessionPool.acquire}. */
export interface AcquireOptions {
  /** Makes the session's randomness reproducible. */
  seed?: number | undefined;
  /**
   * When the session takes checkpoints by itself. If its interpreter is lost, it returns to the last one. A session that
   * has what no checkpoint has keeps the one before.
   *
   * @default never: a lost interpreter is replaced by a fresh one
   */
  checkpointEvery?: CheckpointEvery | undefined;
  /**
   * Room for the checkpoints of `checkpointEvery`.
   *
   * @default no limit but that of the profile
   */
  checkpointMemory?: CheckpointMemory | undefined;
  /**
   * True if the lease is for one exec. A pool that rewinds its sessions then does so with the exec.
   *
   * @default false
   */
  once?: boolean | undefined;
  /**
   * Owner of the session, whose share of the nodes it takes in a cluster, and of the state that it starts with.
   *
   * @default ""
   */
  owner?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode SandboxPool.acquire}. */
export interface SandboxAcquireOptions extends AcquireOptions {
  /** State that the session starts with. */
  from?: Checkpoint | undefined;
  /**
   * An earlier lease of the pool, which has ended. Its interpreter is taken if it is free: native libraries of a state
   * that it had are restored faster there.
   */
  near?: SessionLease | undefined;
}

/** A pool whose sessions can be kept, restored and forked: a {@linkcode SandboxPool}. */
export interface BranchingPool extends SessionPool {
  acquire(options?: SandboxAcquireOptions): Promise<BranchingLease>;
  /**
   * Reads the bytes of a checkpoint, and checks that a session of this pool can restore it.
   *
   * @throws {CheckpointError} if the bytes are no whole checkpoint, or it must not be restored here.
   */
  readCheckpoint(bytes: Uint8Array, options?: CheckpointOptions): Promise<Checkpoint>;
}

/** True if the sessions of a pool can be kept, restored and forked. */
export function isBranchingPool(pool: SessionPool): pool is BranchingPool {
  return "readCheckpoint" in pool;
}
