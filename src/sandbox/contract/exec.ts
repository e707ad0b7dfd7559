/**
 * The contract of an exec: options and result.
 *
 * @module
 */
import type { JsonValue } from "../../json.ts";
import type { HostTool } from "../host_tool.ts";
import type { CheckpointOptions, RestoredFrom } from "./checkpoint.ts";

/** Options of a program that are plain data, and that a server takes too. */
export interface ProgramOptions {
  /**
   * Time until the program is interrupted, in milliseconds: wall time, or the time of the virtual clock of the profile.
   *
   * @default `limits.timeoutMs` of the profile
   */
  timeoutMs?: number | undefined;
  /** Text that `input()` and `sys.stdin` read. At the text's end, or without a text, `input()` raises EOFError. */
  stdin?: string | undefined;
  /**
   * Values by name that are set as globals before the code runs. Plain JSON becomes the same in Python, where whole
   * numbers are `int`; a `Uint8Array` becomes `bytes`; other typed arrays become an `array.array` of the same
   * elements, which `numpy.asarray` takes without a copy. Names are Python identifiers. At most 256 inputs of together
   * 64 MiB, and 100,000 values of JSON at most 64 levels deep.
   */
  inputs?: Readonly<Record<string, unknown>> | undefined;
  /** Files written under the session's working directory before the code runs. */
  files?: Readonly<Record<string, Uint8Array | string>> | undefined;
  /**
   * Paths of files to read after the code has run, for {@linkcode ExecResult} `files`. Files that are
   * missing, or beyond 64 MiB together, are left out.
   */
  fetchFiles?: readonly string[] | undefined;
}

/** Options of {@linkcode PythonSession.exec}. */
export interface ExecOptions extends ProgramOptions {
  /**
   * Memory of the interpreter and the program, in bytes: a program that needs more gets a `MemoryError`. Below 64 MiB
   * the limit counts as 64 MiB. The interpreter itself takes some 30 MiB. Files have a limit of their own.
   *
   * @default `limits.memoryBytes` of the profile, which is also the maximum
   */
  memoryBytes?: number | undefined;
  /**
   * Runs the code as `python` runs a file with these arguments, of which the first is the file's path: `__file__`
   * and `sys.argv` are set, the last expression has no value, `await` is allowed in functions only, and functions
   * registered with `atexit` run at the end.
   */
  argv?: readonly [string, ...string[]] | undefined;
  /**
   * Runs the code as a cell of a notebook, by IPython's rules: `!command`, magics such as `%timeit` and `%%writefile`,
   * `name?`, a `;` at the end hides the value, `_` and `Out` have earlier values, and a long value is on several
   * lines. The cell runs in an event loop, and tasks go on in later cells. Not together with `argv`.
   *
   * @default false
   */
  cell?: boolean | undefined;
  /** Host tools that this exec, and no other exec, may call as `paddock.tools.<name>`. */
  tools?: readonly HostTool[] | undefined;
  /**
   * `tool` ends the exec with the status `waiting` at each call of a tool of `tools`; `run` is never called:
   * {@linkcode BranchingSession.resume} gives the answer, and the program goes on. A checkpoint of the session has the
   * exec that waits. An exec that goes on from a checkpoint runs once more from the start and gets the same answers:
   * `random`, `secrets`, `uuid4` and `os.urandom` have the same values then, and clocks do not. Code, stdin and inputs
   * have at most 4 MiB together, and calls and answers 1 MiB. Not together with `then`.
   *
   * @default calls run the tools
   */
  suspendAt?: "tool" | undefined;
  /**
   * Owner of the state that `suspendAt` captures before the program runs.
   *
   * @default as in {@linkcode BranchingSession.checkpoint}
   */
  captures?: Pick<CheckpointOptions, "owner"> | undefined;
  /**
   * `rewind` resets the session after the exec, like `reset({ mode: "rewind" })`, without a second round trip. The
   * result does not wait for the reset; the next call of the session does.
   *
   * @default the state is kept
   */
  then?: "rewind" | undefined;
  /** Cancels the exec, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Called with each piece of output on arrival, before the result. If the callback returns a promise, the program is
   * held back until the promise resolves: a write waits once the buffers are full. If the callback throws or rejects,
   * the exec is aborted.
   */
  onOutput?: ((stream: "stdout" | "stderr", text: string) => unknown) | undefined;
  /** Called with each object that the program shows, in order with the output. */
  onDisplay?: ((bundle: MimeBundle) => unknown) | undefined;
}

/** An exception of the guest, or of the host in the same form. */
export interface GuestError {
  /** The class name, such as `ValueError`. */
  type: string;
  message: string;
  /** The traceback of CPython, without frames of the runner. */
  traceback: string;
}

/**
 * Number of refused attempts by kind: to open files of the system (`files`), to use the network, to start or copy a
 * process, and to reach JavaScript. The guest counts them: they are advice, and 0 proves nothing.
 */
export type DeniedAttempts = Partial<Record<"files" | "network" | "processes" | "javascript", number>>;

/**
 * An object that a program showed, in forms by MIME type: base64 for images (except SVG), audio, video and
 * PDF, JSON values for types of JSON, text for others. Forms are data of the guest: HTML and SVG may have scripts.
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
   * False if the interpreter was lost: the next exec runs in a fresh interpreter. With `restoredFrom`, the session has
   * returned to a checkpoint, and the next exec continues from there.
   */
  stateKept: boolean;
  /** True if output beyond the profile's `outputBytes` was dropped. */
  truncated: boolean;
  /**
   * Objects that the program showed, in order: by `display()`, by the last expression, and the open figures of
   * matplotlib. At most 100 bundles of 8 MiB together. The bundle of the last expression lacks `text/plain`, which is
   * `value`. Absent without any.
   */
  display?: MimeBundle[];
  /** Number of bundles that were dropped because of these limits, or since a form is not what the MIME type says. */
  droppedDisplays?: number;
  /**
   * Peak size of the interpreter's heap until the end of the exec, in bytes, since the start or the last rewind:
   * Python itself takes some 30 MiB. The guest measures this size, so the size is advice. Absent if the interpreter
   * was lost.
   */
  peakMemoryBytes?: number;
  /** Refused attempts. Absent if the guest counted none, or the interpreter was lost. */
  denied?: DeniedAttempts;
  /**
   * True if the result depends on the machine, although the profile has a virtual clock: a limit of real time, CPU time or
   * memory of the process ended the program.
   */
  inexact?: true;
  /**
   * SHA-256 of the exec's code, inputs, result and files, chained from the digest before, the base image, the profile and the
   * seed. Present if the profile has a virtual clock: the same execs then have the same digests, unless `inexact`.
   */
  digest?: string;
  /** True if this exec ran in a fresh interpreter because the last interpreter had been lost. */
  restarted?: true;
  /** The checkpoint to which the session returned, as the interpreter was lost in this exec or before. */
  restoredFrom?: RestoredFrom;
  /** Contents of the files in `fetchFiles`, by path. */
  files?: Record<string, Uint8Array>;
}

/** Result of running guest code: a closed union over `status`. */
export type ExecResult =
  & ExecOutcome
  & (
    /**
     * The code ran to the end. `value` is the repr of the last expression, unless that is None. `valueJson` is the
     * expression's value where that is plain data of at most 1 MiB as JSON, 100,000 values and 32 levels: a boolean,
     * an integer up to 2^53 - 1, a finite float, text, a list, a tuple (as an array), or a dict with keys of text;
     * None in them is `null`. Instances of subclasses, such as a namedtuple, are not plain data.
     */
    | { status: "ok"; value?: string; valueJson?: JsonValue }
    /** The code raised an exception that the code did not catch. */
    | { status: "error"; error: GuestError }
    /** The code exceeded the timeout or the limit of CPU time. */
    | { status: "timeout"; error: GuestError }
    /** An uncaught MemoryError (state kept), or a kill by a memory limit (state lost). */
    | { status: "memory"; error: GuestError }
    /** The code wrote more than 64 times the output limit and was interrupted. */
    | { status: "output"; error: GuestError }
    /** The code called `sys.exit` with a code other than 0. */
    | { status: "exited"; exitCode: number }
    /**
     * The interpreter has ended. `exitCode`, from 0 to 255, is set if the program ended the interpreter, for example
     * by `os._exit`.
     */
    | { status: "crashed"; error: GuestError; exitCode?: number }
    /**
     * The code waits for the answer to a call, with `suspendAt`. Output, `display` and `durationMs` count from the
     * start, in this result and in later results.
     */
    | { status: "waiting"; call: WaitingCall }
    /**
     * The code ran once more, after a wait, and did not make the same calls. `call` is the call of the first run,
     * from which the second run differs. The program was interrupted.
     */
    | { status: "diverged"; call: WaitingCall; error: GuestError }
  );

/** A call of a host tool. The program waits for the answer. */
export interface WaitingCall {
  /** `call_1` for the first call of the exec that has an answer, and so on. */
  readonly callId: string;
  /** Name of the tool. */
  readonly name: string;
  /** Arguments, which match the schema of the tool. They come from the program. */
  readonly arguments: Record<string, unknown>;
}

/** The answer to a call: a value of JSON that the call returns, or an error that the call raises in Python. */
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
   * The call that is answered. An exec that waits for another call goes on waiting.
   *
   * @default the call that waits
   */
  callId?: string | undefined;
  /**
   * The tools of the exec. They are needed once after a checkpoint was restored, as a checkpoint has only their names.
   *
   * @default the exec's
   */
  tools?: readonly HostTool[] | undefined;
}

/** Status of an {@linkcode ExecResult}. */
export type ExecStatus = ExecResult["status"];
