/**
 * The contract of sessions, and of the pools that lease them.
 *
 * @module
 */
import type {
  CaptureOptions,
  Checkpoint,
  CheckpointEvery,
  CheckpointOptions,
  ForkOptions,
  RestoreOptions,
} from "./checkpoint.ts";
import type { ExecOptions, ExecResult, ResumeOptions, ToolAnswer, WaitingCall } from "./exec.ts";
import type { ShellOptions, ShellResult } from "./shell.ts";

/** A Python interpreter with globals and files of its own. */
export interface PythonSession extends AsyncDisposable {
  /** Runs code in the session's namespace. What the guest code does is reported in the result and never rejects. */
  exec(code: string, options?: ExecOptions): Promise<ExecResult>;
  /**
   * Runs a command line in the session's shell, which sees the same files as Python and keeps directory, variables and
   * functions from command to command. What the command does is reported in the result and never rejects. Output
   * arrives when written; output through a pipe, a substitution, `eval` or `source` arrives at the end of these.
   * `python` and `python3` run programs in the session's interpreter.
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

/** A session with a state that is a value: the state can be kept, restored, and continued in copies. */
export interface BranchingSession extends PythonSession {
  /**
   * Answers the call of an exec with `suspendAt` that waits, and returns the next result: the exec waits again, or has
   * ended. Meanwhile the session runs nothing else: a reset, or a checkpoint that is restored, ends the exec.
   *
   * @throws {WaitingExecError} if no exec waits, or an exec for another call.
   */
  resume(answer: ToolAnswer, options?: ResumeOptions): Promise<ExecResult>;
  /** Returns the call that an exec waits for, such as the call of a checkpoint; `undefined` if none waits. */
  waitingCall(): Promise<WaitingCall | undefined>;
  /**
   * Returns the state of the session, which goes on. If an exec waits, that is the state in which it waits.
   *
   * @throws {CheckpointError} if the session has threads, commands, pipes or callbacks of C, which no checkpoint has.
   */
  checkpoint(options?: CaptureOptions): Promise<Checkpoint>;
  /**
   * Replaces the state by the state of a checkpoint. No code runs again: generators continue, and so does `random`
   * without `reseed`, while `secrets`, `uuid4` and `os.urandom` have new bytes.
   *
   * @throws {CheckpointError} if the checkpoint must not be restored here. The session is as before then, unless the
   * code is `checkpoint_refused`, which leaves the session as after the start.
   */
  restore(checkpoint: Checkpoint, options?: RestoreOptions): Promise<void>;
  /**
   * Returns leases of copies of the session, which goes on. Each copy has other random numbers.
   *
   * @throws {CheckpointError} as {@linkcode BranchingSession.checkpoint} does.
   */
  fork(count: number, options?: ForkOptions): Promise<BranchingLease[]>;
}

/** Options of {@linkcode PythonSession.reset}. */
export interface ResetOptions {
  /**
   * `fresh` starts a new interpreter. `rewind` writes the base image back over the running interpreter: faster, but
   * only for code of a single trust domain.
   *
   * @default "fresh"
   */
  mode?: "fresh" | "rewind" | undefined;
  /** Makes `random`, `secrets`, `uuid4` and `os.urandom` reproducible. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** A leased session. Disposing the lease returns the session to the pool. */
export interface SessionLease extends AsyncDisposable {
  readonly session: PythonSession;
}

/** A lease of a session that can be forked. */
export interface BranchingLease extends SessionLease {
  readonly session: BranchingSession;
}

/** Source of leases: a {@linkcode SandboxPool}, or another class with the same contract. */
export interface SessionPool {
  /** Limits of the profile of the sessions, in bytes, if known. */
  readonly limits?: { readonly memoryBytes: number; readonly outputBytes: number } | undefined;
  /**
   * Factor of the limits of time of the sessions: `timeScale` of their profile.
   *
   * @default 1
   */
  readonly timeScale?: number | undefined;
  /** Leases a session that no other lease has, and whose state no earlier lease has changed. Waits for a session. */
  acquire(options?: AcquireOptions): Promise<SessionLease>;
}

/** Options of {@linkcode SessionPool.acquire}. */
export interface AcquireOptions {
  /** Makes the session's randomness reproducible. */
  seed?: number | undefined;
  /**
   * When the session takes checkpoints by itself. If the interpreter is lost, the session returns to the last
   * checkpoint. A session that has what no checkpoint has keeps the checkpoint before.
   *
   * @default never: a lost interpreter is replaced by a fresh one
   */
  checkpointEvery?: CheckpointEvery | undefined;
  /**
   * True if the lease is for a single exec. A pool that rewinds sessions then does so with the exec.
   *
   * @default false
   */
  once?: boolean | undefined;
  /**
   * Owner of the session and of the state with which the session starts. In a cluster, the session takes the owner's
   * share of the nodes.
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
   * An earlier lease of the pool, which has ended. The interpreter of that lease is taken if free: native libraries of
   * a state of that lease are restored faster there.
   */
  near?: SessionLease | undefined;
}

/** A pool of sessions that can be kept, restored and forked: a {@linkcode SandboxPool}. */
export interface BranchingPool extends SessionPool {
  acquire(options?: SandboxAcquireOptions): Promise<BranchingLease>;
  /**
   * Reads the bytes of a checkpoint, and checks that a session of this pool can restore it.
   *
   * @throws {CheckpointError} if the bytes are no whole checkpoint, or the checkpoint must not be restored here.
   */
  readCheckpoint(bytes: Uint8Array, options?: CheckpointOptions): Promise<Checkpoint>;
}

/** True if the sessions of a pool can be kept, restored and forked. */
export function isBranchingPool(pool: SessionPool): pool is BranchingPool {
  return "readCheckpoint" in pool;
}
