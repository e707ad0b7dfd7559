import type { z } from "zod";
import type { SerialQueue } from "../async/semaphore.ts";

/** What an exec may be given beside its code. */
export interface ExecOptions {
  /** Milliseconds until the program is interrupted; the profile's limit unless given. */
  timeoutMs?: number | undefined;
  /** Text that `input()` and `sys.stdin` read; at its end, and without it, `input()` raises EOFError. */
  stdin?: string | undefined;
  /**
   * Runs the code as `python` runs a file with these words, of which the first names the file: `__file__` and
   * `sys.argv` are set, its last expression has no value, nothing is awaited outside of functions, and what it
   * leaves to be done at its exit is done.
   */
  argv?: readonly [string, ...string[]] | undefined;
  /** Files written under the session's working directory before the code runs. */
  files?: Readonly<Record<string, Uint8Array | string>> | undefined;
  /** Files read back after the code ran, as {@linkcode ExecResult} `files`; one that is missing is left out. */
  fetchFiles?: readonly string[] | undefined;
  /** Host tools that this exec, and no other, may call as `paddock.tools.<name>`. */
  tools?: readonly HostTool[] | undefined;
  /** Cancels the exec: it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called with each piece of output as it arrives, before the result. */
  onOutput?: ((stream: "stdout" | "stderr", text: string) => void) | undefined;
}

/** An exception of the guest, as Python tells it. */
export interface GuestError {
  /** The class name, such as `ValueError`. */
  type: string;
  message: string;
  /** The traceback as CPython prints it, without frames of the runner. */
  traceback: string;
}

/** What every result carries. */
export interface ExecOutcome {
  stdout: string;
  stderr: string;
  /** Wall time as the host saw it. */
  durationMs: number;
  /** False when the interpreter was lost and the next exec meets a fresh one. */
  stateKept: boolean;
  /** True when output was dropped beyond the profile's `outputBytes`. */
  truncated: boolean;
  /** True when this exec met a fresh interpreter because the last one had been lost. */
  restarted?: true;
  /** The files asked for by `fetchFiles`. */
  files?: Record<string, Uint8Array>;
}

/** What became of a piece of guest code: a closed union over `status`. */
export type ExecResult =
  & ExecOutcome
  & (
    /** It ran to its end; `value` is the repr of its last expression unless that is None. */
    | { status: "ok"; value?: string }
    /** It raised an exception nobody caught. */
    | { status: "error"; error: GuestError }
    /** It met its deadline or its limit of CPU time. */
    | { status: "timeout"; error: GuestError }
    /** An uncaught MemoryError (state kept), or a kill by a limit of memory (state lost). */
    | { status: "memory"; error: GuestError }
    /** It wrote so far beyond its limit of output that it was interrupted. */
    | { status: "output"; error: GuestError }
    /** `sys.exit` with a code other than 0. */
    | { status: "exited"; exitCode: number }
    /** The interpreter is gone; `exitCode`, from 0 to 255, when the program ended it as `os._exit` does. */
    | { status: "crashed"; error: GuestError; exitCode?: number }
  );

/** The word that says what became of an exec. */
export type ExecStatus = ExecResult["status"];

/** How a session is put back: a `fresh` interpreter, or the image written back over the live one. */
export interface ResetOptions {
  /** `fresh` is a wall; `rewind` is faster and for one trust domain only. */
  mode?: "fresh" | "rewind" | undefined;
  /** Makes `random`, `secrets`, `uuid4` and `os.urandom` reproducible. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What a command line may be given. */
export interface ShellOptions extends Pick<ExecOptions, "timeoutMs" | "stdin" | "signal" | "onOutput"> {
  /** Milliseconds that the command may write nothing until it is interrupted; as long as it may run unless given. */
  silenceMs?: number | undefined;
}

/** The deadlines of a command line: on how long it runs, on how long it writes nothing, on its CPU time. */
export type ShellDeadline = "run" | "silence" | "cpu";

/** What became of a command line: a closed union over `status`. */
export type ShellResult =
  & Omit<ExecOutcome, "files">
  & {
    /** The shell's directory from now on. */
    cwd: string;
  }
  & (
    /** Its exit code is 0. */
    | { status: "ok"; exitCode: 0 }
    /** Its exit code is another. */
    | { status: "exited"; exitCode: number }
    /** It met one of its deadlines. */
    | { status: "timeout"; deadline: ShellDeadline; error: GuestError }
    /** The process met a limit of memory. */
    | { status: "memory"; error: GuestError }
    /** It wrote so far beyond its limit of output that it was interrupted. */
    | { status: "output"; error: GuestError }
    /** The interpreter is gone, and the shell with it. */
    | { status: "crashed"; error: GuestError }
  );

/** One Python interpreter with globals of its own. */
export interface PythonSession extends AsyncDisposable {
  /** Runs code in the session's one namespace; what the guest does is a result, never a rejection. */
  exec(code: string, options?: ExecOptions): Promise<ExecResult>;
  /**
   * Runs a command line in the session's shell, which sees the files that Python sees and keeps its directory,
   * variables and functions from one to the next. What it does is a result, never a rejection. Output
   * arrives as it is written, but what goes through a pipe, a substitution, `eval` or `source` when that has ended.
   * `python` and `python3` start programs in the session's interpreter.
   *
   * @throws {TypeError} when the profile has no `shell`.
   */
  shell(command: string, options?: ShellOptions): Promise<ShellResult>;
  /** Writes a file under the session's working directory. */
  writeFile(path: string, contents: Uint8Array | string): Promise<void>;
  /** Reads a file under the session's working directory. */
  readFile(path: string): Promise<Uint8Array>;
  /** Puts globals, modules and files back to how they were at the start. */
  reset(options?: ResetOptions): Promise<void>;
}

/** A session on loan; disposing gives it back. */
export interface SessionLease extends AsyncDisposable {
  readonly session: PythonSession;
}

/** Where leases come from: a {@linkcode SandboxPool}, or anything that keeps its contract. */
export interface SessionPool {
  /**
   * Queue of callers that lease two sessions at once. Without one, two graders that share the pool can each hold
   * a session and wait for another without end.
   */
  readonly pairQueue?: SerialQueue | undefined;
  /** Waits for a session that nobody else has or had. */
  acquire(options?: { seed?: number | undefined; signal?: AbortSignal | undefined }): Promise<SessionLease>;
}

/** What a running host tool is told. */
export interface HostToolContext {
  /** Aborted when the exec that made the call ends, however it ends. */
  signal: AbortSignal;
}

/** A function of the host that a guest may call while an exec that was granted it runs. */
export interface HostTool {
  readonly name: string;
  readonly description: string;
  /** The arguments; what does not fit is refused before `run` is called. */
  readonly parameters: z.ZodObject;
  /** Its result crosses as JSON. What it throws is raised in the guest with its message. */
  run(args: Record<string, unknown>, context: HostToolContext): unknown;
}

/**
 * Makes a {@linkcode HostTool}, with the arguments of `run` typed by its parameters.
 *
 * @throws {TypeError} when the name is not a Python identifier.
 */
export function hostTool<Shape extends z.ZodRawShape>(definition: {
  name: string;
  description: string;
  parameters: z.ZodObject<Shape>;
  run(args: z.output<z.ZodObject<Shape>>, context: HostToolContext): unknown;
}): HostTool {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(definition.name)) {
    throw new TypeError(
      `Cannot define host tool as its name must be a Python identifier: current value is '${definition.name}'`,
    );
  }
  return definition as unknown as HostTool;
}
