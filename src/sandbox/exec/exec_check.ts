import { ArgumentRangeError, ArgumentTypeError } from "../../errors.ts";
import { MAX_PATH_CHARACTERS } from "../contract/limits.ts";

/** Part of a profile that checks of options read. */
export interface CheckedProfile {
  readonly name: string;
  readonly hostTools: boolean;
  /** Hosts that programs may connect to, if there are any. */
  readonly network?: object | undefined;
}

/** Maximum time between two checkpoints that a session takes by itself, in seconds: a day. */
export const MAX_EVERY_SECONDS = 86_400;

const MAX_TIMEOUT_MS = 24 * 3_600_000;

/** Throws unless a timeout is undefined, or > 0 and at most a day, in milliseconds. */
export function checkTimeout(timeoutMs: number | undefined, name = "timeoutMs"): void {
  if (
    timeoutMs === undefined || (typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)
  ) return;
  throw new ArgumentRangeError(
    `Cannot exec as '${name}' must be > 0 and <= ${MAX_TIMEOUT_MS}: current value is ${timeoutMs}`,
  );
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
    path.length > MAX_PATH_CHARACTERS;
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
