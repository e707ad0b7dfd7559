import { ArgumentRangeError, ArgumentTypeError } from "../errors.ts";
import type { ExecOptions } from "./contract/exec.ts";
import type { ShellOptions } from "./contract/shell.ts";
import { checkInputs } from "./exec_inputs.ts";

/** Maximum length of code. No program of a model is longer; longer code is a mistake of the caller. */
export const MAX_CODE_CHARACTERS = 10 * 1024 * 1024;

/** Part of a profile that the checks read. */
export interface CheckedProfile {
  readonly name: string;
  readonly hostTools: boolean;
}

/** Maximum time between two checkpoints that a session takes by itself, in seconds: a day. */
export const MAX_EVERY_SECONDS = 86_400;

const MAX_TIMEOUT_MS = 24 * 3_600_000;
const MAX_FILES = 10_000;

/**
 * Checks the arguments of an exec before anything starts.
 *
 * @throws {ArgumentTypeError | ArgumentRangeError} if an argument is invalid.
 * @throws the reason of `signal` if it has aborted.
 */
export function checkExec(
  code: unknown,
  options: ExecOptions,
  profile: CheckedProfile,
): void {
  if (typeof code !== "string") {
    throw new ArgumentTypeError(`Cannot exec as code must be a string: current value is ${typeof code}`);
  }
  if (code.length > MAX_CODE_CHARACTERS) {
    throw new ArgumentRangeError(
      `Cannot exec as code must have at most ${MAX_CODE_CHARACTERS} characters: current value has ${code.length}`,
    );
  }
  checkTimeout(options.timeoutMs);
  checkMemory(options.memoryBytes);
  if (options.stdin !== undefined && typeof options.stdin !== "string") {
    throw new ArgumentTypeError(
      `Cannot exec as 'stdin' must be a string: current value is ${typeof options.stdin}`,
    );
  }
  if (options.argv !== undefined) checkArgv(options.argv);
  if (options.cell !== undefined) checkCell(options);
  if (options.then !== undefined && options.then !== "rewind") {
    throw new ArgumentTypeError(`Cannot exec as 'then' must be 'rewind': current value is '${options.then}'`);
  }
  if (options.suspendAt !== undefined) checkSuspendAt(options);
  checkInputs(options.inputs);
  checkTools(options.tools ?? [], profile);
  const files = Object.entries(options.files ?? {});
  if (files.length > MAX_FILES) {
    throw new ArgumentRangeError(
      `Cannot exec as 'files' must have at most ${MAX_FILES} entries: current value has ${files.length}`,
    );
  }
  for (const [path, contents] of files) {
    checkPath(path);
    checkContents(path, contents);
  }
  for (const path of options.fetchFiles ?? []) checkPath(path);
  options.signal?.throwIfAborted();
}

/**
 * Checks the arguments of a command line before anything starts.
 *
 * @throws {ArgumentTypeError | ArgumentRangeError} if an argument is invalid or the profile has no shell.
 */
export function checkShell(
  command: unknown,
  options: ShellOptions,
  profile: CheckedProfile & { readonly shell: boolean },
): void {
  if (!profile.shell) {
    throw new ArgumentTypeError(
      `Cannot run command as profile '${profile.name}' must have 'shell': current value is false`,
    );
  }
  const { timeoutMs, memoryBytes, silenceMs, stdin, signal } = options;
  checkTimeout(silenceMs, "silenceMs");
  checkExec(command, { timeoutMs, memoryBytes, stdin, signal }, profile);
}

/** Throws unless a timeout is undefined, or > 0 and at most a day, in milliseconds. */
export function checkTimeout(timeoutMs: number | undefined, name = "timeoutMs"): void {
  if (
    timeoutMs === undefined || (typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)
  ) return;
  throw new ArgumentRangeError(
    `Cannot exec as '${name}' must be > 0 and <= ${MAX_TIMEOUT_MS}: current value is ${timeoutMs}`,
  );
}

function checkMemory(memoryBytes: number | undefined): void {
  if (memoryBytes === undefined || memoryBytes > 0) return;
  throw new ArgumentRangeError(`Cannot exec as 'memoryBytes' must be > 0: current value is ${memoryBytes}`);
}

/** Throws unless the seed is undefined or an integer that JSON can represent exactly. */
export function checkSeed(seed: number | undefined): void {
  if (seed === undefined || Number.isSafeInteger(seed)) return;
  throw new ArgumentRangeError(
    `Cannot seed session as 'seed' must be a safe integer: current value is ${seed}`,
  );
}

/** Throws unless the value says when a session takes checkpoints. */
export function checkEvery(every: unknown): void {
  if (every === undefined || every === "exec") return;
  if (typeof every === "number" && every > 0 && every <= MAX_EVERY_SECONDS) return;
  throw new ArgumentRangeError(
    `Cannot recover session as 'checkpointEvery' must be 'exec', or > 0 and <= ${MAX_EVERY_SECONDS} seconds: ` +
      `current value is ${typeof every === "string" ? `'${every}'` : every}`,
  );
}

/** Throws unless the value is a profile. Without this check a pool would fail in the background. */
export function checkProfile(profile: unknown): void {
  if (typeof profile === "object" && profile !== null && "limits" in profile) return;
  throw new TypeError(
    `Cannot create pool as 'profile' must be a profile from 'loadProfile': current value is ${typeof profile}`,
  );
}

/** Range of a profile's `timeScale`. */
export const TIME_SCALES = { min: 0.1, max: 20 } as const;

/** Throws unless the `timeScale` of a profile is in its range. */
export function checkTimeScale(timeScale: number = 1): void {
  const { min, max } = TIME_SCALES;
  if (timeScale >= min && timeScale <= max) return;
  throw new ArgumentRangeError(
    `Cannot scale limits of time as 'timeScale' must be from ${min} to ${max}: current value is ${timeScale}`,
  );
}

/** Throws unless the reset mode is known: a misspelt mode must not weaken the isolation. */
export function checkResetMode(mode: unknown): void {
  if (mode === undefined || mode === "fresh" || mode === "rewind") return;
  throw new ArgumentTypeError(
    `Cannot reset session as 'mode' must be 'fresh' or 'rewind': current value is '${mode}'`,
  );
}

/** Throws unless the path stays under the session's working directory, by the rules of every operating system. */
export function checkPath(path: string): void {
  const names = path.split("/");
  const escapes = names.includes("..") || names.every((name) => name === "" || name === ".");
  const isInvalid = path.startsWith("/") || path.startsWith("~") || /[\0\\]|^[A-Za-z]:/.test(path) ||
    path.length > 1024;
  if (!escapes && !isInvalid) return;
  const shown = JSON.stringify(path.length > 80 ? `${path.slice(0, 80)}…` : path);
  throw new ArgumentTypeError(
    `Cannot use path as it must be relative and stay under the working directory: current value is ${shown}`,
  );
}

/** Throws unless the contents are a string or bytes. */
export function checkContents(path: string, contents: unknown): void {
  if (typeof contents === "string" || contents instanceof Uint8Array) return;
  throw new ArgumentTypeError(
    `Cannot write '${path}' as its contents must be a string or a Uint8Array: current value is ${typeof contents}`,
  );
}

function checkArgv(argv: readonly unknown[]): void {
  const isList = Array.isArray(argv) && argv.length > 0 && argv.every((word) => typeof word === "string");
  if (!isList) {
    throw new ArgumentTypeError("Cannot exec as 'argv' must be a non-empty list of strings");
  }
  checkPath(String(argv[0]));
}

function checkCell({ cell, argv }: ExecOptions): void {
  if (typeof cell !== "boolean") {
    throw new ArgumentTypeError(`Cannot exec as 'cell' must be a boolean: current value is ${typeof cell}`);
  }
  if (cell && argv !== undefined) {
    throw new ArgumentTypeError("Cannot exec as only one of 'cell' and 'argv' may be given: found both");
  }
}

function checkSuspendAt({ suspendAt, then }: ExecOptions): void {
  if (suspendAt !== "tool") {
    throw new ArgumentTypeError(`Cannot exec as 'suspendAt' must be 'tool': current value is '${suspendAt}'`);
  }
  if (then !== undefined) {
    throw new ArgumentTypeError(
      "Cannot exec as only one of 'suspendAt' and 'then' may be given: the lease of a single exec has 'then'",
    );
  }
}

/** Throws unless the value is the answer to a call. */
export function checkAnswer(answer: unknown): void {
  const keys = typeof answer === "object" && answer !== null
    ? Object.entries(answer).flatMap(([key, value]) => value === undefined ? [] : [key])
    : [];
  const hasError = keys.includes("error");
  const isAnswer = typeof answer === "object" && answer !== null && hasError !== ("value" in answer) &&
    keys.every((key) => key === "value" || key === "error");
  const { error } = isAnswer ? answer as { error?: { message?: unknown } } : {};
  if (isAnswer && (!hasError || typeof error?.message === "string")) return;
  throw new ArgumentTypeError(
    `Cannot resume exec as the answer must be { value } or { error: { message } }: found ${
      typeof answer === "object" ? `the keys [${keys.join(", ")}]` : typeof answer
    }`,
  );
}

function checkTools(
  tools: NonNullable<ExecOptions["tools"]>,
  profile: CheckedProfile,
): void {
  if (tools.length > 0 && !profile.hostTools) {
    throw new ArgumentTypeError(
      `Cannot grant host tools as profile '${profile.name}' must have 'hostTools': current value is false`,
    );
  }
  const names = tools.map((tool) => tool.name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) {
    throw new ArgumentTypeError(
      `Cannot grant host tools as their names must be unique: '${duplicate}' occurs more than once`,
    );
  }
}
