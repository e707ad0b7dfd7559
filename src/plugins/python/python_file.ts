import * as z from "zod";
import { errorMessage, SandboxError } from "../../errors.ts";
import { parseUntrustedJson } from "../../json.ts";
import type { Checkpoint, RestoreOptions } from "../../sandbox/contract/checkpoint.ts";
import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { BranchingLease, BranchingPool } from "../../sandbox/contract/pool.ts";
import { pythonString } from "../../sandbox/isolated/callee.ts";
import type { Preload } from "../../sandbox/profile/profile.ts";
import envFunctions from "./env_functions.py" with { type: "text" };
import grading from "./grading.py" with { type: "text" };
import { moduleNameOf, type PythonSource, readSources } from "./source_files.ts";
import toolFunctions from "./tool_functions.py" with { type: "text" };
import userFile from "./user_file.py" with { type: "text" };

/** Options of a Python file in the sandbox. */
export interface PythonFileOptions {
  /** Sessions for the file. No program of a model may run in this pool. The caller disposes the pool. */
  pool: BranchingPool;
  /**
   * Maximum duration of a call, in milliseconds.
   * @default `limits.timeoutMs` of the profile of `pool`
   */
  timeoutMs?: number | undefined;
  /** Called with what a call printed, and with the traceback of an exception. */
  onPrint?: ((text: string) => void) | undefined;
  /** Cancels the start. */
  signal?: AbortSignal | undefined;
}

/** Names of the options. */
export const PYTHON_FILE_OPTIONS: Readonly<Record<keyof PythonFileOptions, true>> = {
  pool: true,
  timeoutMs: true,
  onPrint: true,
  signal: true,
};

/** A kind of Python file. */
export interface PythonKind {
  /** Noun for messages, such as `grader`. */
  readonly noun: string;
  /** Name of the contract in `user_file.py`. */
  readonly contract: string;
}

/** The error of a Python file: an exception in the file, or a result or signature against the file's contract. */
export class PythonFileError extends Error {
  override readonly name = "PythonFileError";
  /** The message without the place, such as `ValueError: no such city`. */
  readonly reason: string;
  /** Place in the user's files, such as `./g.py, line 7`; `undefined` if unknown. */
  readonly place: string | undefined;
  /** The traceback in Python's form, without frames of Paddock; empty if there was no exception. */
  readonly traceback: string;

  constructor(
    message: string,
    { place, traceback = "" }: { place?: string | undefined; traceback?: string | undefined } = {},
  ) {
    super(place === undefined ? message : `${message} (${place})`);
    this.reason = message;
    this.place = place;
    this.traceback = traceback;
  }
}

/** A request to `user_file.py`. */
export interface PythonRequest {
  /** Name of the action there. */
  readonly do: string;
  readonly [field: string]: unknown;
}

/** Options of a call. */
export interface PythonCallOptions<Result> {
  /** Schema of the value of the reply. */
  readonly schema: z.core.$ZodType<Result>;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Time in which a file must load, in milliseconds. */
const LOAD_TIMEOUT_MS = 120_000;
const MODULE = "paddock_user_file";
/** Modules of a session, in the order of their imports. */
const SOURCES = {
  [MODULE]: userFile,
  paddock_grading: grading,
  paddock_tool_functions: toolFunctions,
  paddock_env_functions: envFunctions,
};
/** Code whose value is a reply; None in a new interpreter. */
const SERVE = `getattr(__import__("sys").modules.get("${MODULE}"), "serve", lambda: None)()`;
/** Code that defines all modules but the importing module. */
const FURTHER_MODULES = [
  "import sys as _sys, types as _types",
  ...Object.entries(SOURCES).slice(1).map(([name, source]) =>
    `_new = _sys.modules["${name}"] = _types.ModuleType("${name}")\n` +
    `exec(compile(${pythonString(source)}, "<${name}>", "exec"), _new.__dict__)`
  ),
].join("\n");

/**
 * Modules of Python files as part of a base image. Sessions of a profile with this `preload` load a file, and return to
 * the state of a loaded file, in about half the time, as that state lacks these modules.
 */
export const PYTHON_FILE_PRELOAD: Preload = {
  module: MODULE,
  source: `${userFile}\n${FURTHER_MODULES}\n`,
  ignoresMounts: true,
};

/** Code that defines the modules in a session whose image lacks them. */
const DEFINITION = `if "${MODULE}" not in __import__("sys").modules:
    import sys, types
    sys.modules["${MODULE}"] = types.ModuleType("${MODULE}")
    exec(compile(${
  pythonString(PYTHON_FILE_PRELOAD.source)
}, "<${MODULE}>", "exec"), sys.modules["${MODULE}"].__dict__)
    del sys, types`;

const replySchema = z.union([
  z.strictObject({ value: z.unknown() }),
  z.strictObject({
    failed: z.object({
      message: z.string(),
      path: z.string().nullable(),
      line: z.number().nullable(),
      traceback: z.string().optional(),
      missing: z.string().optional(),
    }),
  }),
]);

/**
 * A Python file that has been loaded once in a sandbox. Each session starts in the state after the load: no
 * call sees changes of another session's calls.
 */
export class PythonFile {
  readonly path: string;
  /** Name of the file's module. */
  readonly moduleName: string;
  readonly #options: PythonFileOptions;
  readonly #loaded: Checkpoint;
  /** Reply of the contract when the file was loaded. */
  readonly description: unknown;

  private constructor(
    path: string,
    { loaded, description, options }: {
      loaded: Checkpoint;
      description: unknown;
      options: PythonFileOptions;
    },
  ) {
    this.path = path;
    this.moduleName = moduleNameOf(path);
    this.#loaded = loaded;
    this.#options = options;
    this.description = description;
  }

  /**
   * Loads a file.
   *
   * @throws {SandboxError} if the file cannot be read or loaded, or does not keep the contract of the file's kind. The
   * message names the line of the file, and `cause` is a {@linkcode PythonFileError} where Python refused the file.
   */
  static async open(path: string, options: PythonFileOptions & { kind: PythonKind }): Promise<PythonFile> {
    const { kind, pool, signal } = options;
    try {
      await using lease = await pool.acquire({ signal });
      const session = new PythonFileSession(lease, { ...options, timeoutMs: LOAD_TIMEOUT_MS });
      await session.define();
      const sources = await readSources(path, { importsOf: (source) => importsOf(session, source) });
      const request = {
        do: "load",
        kind: kind.contract,
        module: moduleNameOf(path),
        sources: Object.fromEntries(
          Array.from(sources, ([name, { path, text, isPackage }]) => [name, [path, text, isPackage]]),
        ),
      };
      const description = await session.call(request, { schema: z.unknown(), signal });
      return new PythonFile(path, {
        loaded: await lease.session.checkpoint({ signal }),
        description,
        options,
      });
    } catch (cause) {
      signal?.throwIfAborted();
      throw new SandboxError(`Cannot start ${kind.noun} file '${path}': ${errorMessage(cause)}`, { cause });
    }
  }

  /** Leases a session in the state after the load. The caller disposes the session. */
  async acquire(options: CopyOptions = {}): Promise<PythonFileSession> {
    return await this.restore(this.#loaded, options);
  }

  /** Leases a session in the state of another session's checkpoint. The caller disposes the session. */
  async restore(checkpoint: Checkpoint, { reseed, seed, signal }: CopyOptions): Promise<PythonFileSession> {
    await using stack = new AsyncDisposableStack();
    const lease = stack.use(await this.#options.pool.acquire({ signal }));
    await lease.session.restore(checkpoint, { reseed, seed, signal });
    stack.move();
    return new PythonFileSession(lease, { ...this.#options, loaded: this.#loaded });
  }

  /** Makes a call in a separate session. */
  async call<Result>(request: PythonRequest, options: PythonCallOptions<Result>): Promise<Result> {
    await using session = await this.acquire({ signal: options.signal });
    return await session.call(request, options);
  }
}

/** Options of a copy of a session. */
type CopyOptions = Pick<RestoreOptions, "reseed" | "seed" | "signal">;

interface SessionOptions extends Pick<PythonFileOptions, "timeoutMs" | "onPrint"> {
  /** State of the loaded file, to which a session returns after the loss of the interpreter. */
  readonly loaded?: Checkpoint | undefined;
}

/** A leased session with a loaded file, whose state remains from call to call. */
export class PythonFileSession implements AsyncDisposable {
  readonly #lease: BranchingLease;
  readonly #options: SessionOptions;

  constructor(lease: BranchingLease, options: SessionOptions) {
    this.#lease = lease;
    this.#options = options;
  }

  /** Defines the module that loads and calls a file. */
  async define(): Promise<void> {
    const result = await this.#lease.session.exec(DEFINITION, { timeoutMs: LOAD_TIMEOUT_MS });
    if (result.status !== "ok") throw new SandboxError(`the session failed: ${reasonOf(result)}`);
  }

  /**
   * Makes a call.
   *
   * @throws {PythonFileError} if the file raises an exception or does not keep the contract, or a limit of the profile
   * ends the call.
   */
  async call<Result>(request: PythonRequest, options: PythonCallOptions<Result>): Promise<Result> {
    const { schema, timeoutMs = this.#options.timeoutMs, signal } = options;
    const { session } = this.#lease;
    const { onPrint, loaded } = this.#options;
    const exec = () => session.exec(SERVE, { stdin: JSON.stringify(request), timeoutMs, signal });
    let result = await exec();
    if (result.status === "ok" && result.value === undefined && loaded !== undefined) {
      await session.restore(loaded, { signal }); // an earlier call has ended the interpreter
      result = await exec();
    }
    const printed = result.stdout + result.stderr;
    if (printed !== "") onPrint?.(printed);
    try {
      return parseReply(result, schema);
    } catch (error) {
      if (error instanceof PythonFileError && error.traceback !== "") onPrint?.(error.traceback);
      throw error;
    }
  }

  /** {@inheritDoc BranchingSession.checkpoint} */
  async checkpoint({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<Checkpoint> {
    return await this.#lease.session.checkpoint({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lease[Symbol.asyncDispose]();
  }
}

async function importsOf(
  session: PythonFileSession,
  { path, text }: PythonSource,
): Promise<readonly string[]> {
  return await session.call({ do: "imports", path, text }, { schema: z.array(z.string()) });
}

function parseReply<Result>(result: ExecResult, schema: z.core.$ZodType<Result>): Result {
  if (result.status !== "ok") {
    const traceback = "error" in result ? result.error.traceback : "";
    throw new PythonFileError(reasonOf(result), { traceback });
  }
  if (typeof result.valueJson !== "string") {
    throw new PythonFileError("its result must have at most 1 MiB as JSON: it has more");
  }
  const reply = z.parse(replySchema, parseUntrustedJson(result.valueJson));
  if ("value" in reply) return z.parse(schema, reply.value);
  const { message, path, line, traceback, missing } = reply.failed;
  const place = path === null ? undefined : line === null ? path : `${path}, line ${line}`;
  const hint = missing === undefined || missing === ""
    ? ""
    : `; a package must be one of the profile of Python files, and a file of your own beside yours`;
  throw new PythonFileError(`${message}${hint}`, { place, traceback });
}

/** Returns the reason why a call had no reply. */
function reasonOf(result: ExecResult): string {
  switch (result.status) {
    case "ok":
      return "it had no reply";
    case "timeout":
      return `it took more than its time limit: ${result.error.message}`;
    case "exited":
      return `it ended the interpreter with the exit code ${result.exitCode}`;
    case "waiting":
      return `it waits for the answer to a call of '${result.call.name}'`;
    default:
      return `${result.error.type}: ${result.error.message}`;
  }
}
