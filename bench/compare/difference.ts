import type { Outcome } from "./run.ts";

/** Causes of a difference that are no fault: 32-bit hashes, another C library, and programs that differ by themselves. */
export const UNCOUNTED = ["native time-out", "varies natively", "order", "last digit of a float"] as const;

/** Cause of a difference between two outcomes, as far as the outcomes show it. */
export type Cause =
  | (typeof UNCOUNTED)[number]
  | "time"
  | "interpreter lost"
  | "memory"
  | "missing module"
  | "exit code"
  | "message"
  | "output";

/** Exit codes of a lost interpreter. */
const LOST = [134, 137];
/** Largest relative difference of two floats that count as equal. */
const FLOAT_TOLERANCE = 1e-9;

/** Folder or archive of the standard library in a message. */
const LIBRARY = /\/[^\s'"]*python3(?:\.\d+|\d+\.zip)\//g;

/** True if exit code, stdout and last line of stderr agree, except for the place of the standard library. */
export function isSame(native: Outcome, session: Outcome): boolean {
  const message = ({ stderr }: Outcome) => lastLine(stderr).replace(LIBRARY, "");
  return native.exitCode === session.exitCode && native.stdout === session.stdout &&
    message(native) === message(session);
}

/** Returns the cause of a difference. `again` is the outcome of a native run with another seed of hashes. */
export function causeOf(native: Outcome, session: Outcome, again: Outcome): Cause {
  if (native.exitCode === null || again.exitCode === null) return "native time-out";
  if (!isSame(native, again)) return "varies natively";
  if (session.exitCode === null) return "time";
  const message = lastLine(session.stderr);
  if (LOST.includes(session.exitCode)) return "interpreter lost";
  if (message.startsWith("MemoryError")) return "memory";
  if (/^(ModuleNotFound|Import)Error/.test(message)) return "missing module";
  if (native.exitCode !== session.exitCode) return "exit code";
  if (native.stdout === session.stdout) return "message";
  if (isReordered(native.stdout, session.stdout)) return "order";
  return floatsAgree(native.stdout, session.stdout) ? "last digit of a float" : "output";
}

/** Returns the last line of a text that is not empty. */
export function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

/** True if both texts have the same words in another order. */
function isReordered(one: string, other: string): boolean {
  const words = (text: string) => (text.match(/[\w.+-]+/g) ?? []).sort().join(" ");
  return one.length === other.length && words(one) === words(other);
}

const NUMBER = /[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?/gi;

function floatsAgree(one: string, other: string): boolean {
  if (one.replace(NUMBER, "#") !== other.replace(NUMBER, "#")) return false;
  const numbers = other.match(NUMBER) ?? [];
  return (one.match(NUMBER) ?? []).every((text, at) => {
    const difference = Math.abs(Number(text) - Number(numbers[at]));
    if (difference === 0) return text === numbers[at];
    const isFloat = /[.e]/i.test(text);
    return isFloat && difference <= FLOAT_TOLERANCE * Math.max(1, Math.abs(Number(text)));
  });
}
