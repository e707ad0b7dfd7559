import { SandboxError } from "../errors.ts";
import type { Termination } from "./guest_link.ts";

/** Termination of the other interpreters of a process that is killed because one of them does not stop. */
export const COLLATERAL_KILL: Termination = {
  reason: "collateral",
  message: "another session of its process did not stop, and the process was killed",
};

/** Termination of all interpreters of a process that could not read its base image. */
export const DAMAGED_IMAGE: Termination = { reason: "damaged", message: "the base image is damaged" };

/** The error of an interpreter that did not start, if another attempt may succeed. */
class RetryableStartError extends SandboxError {}

/** The error of a damaged base image, which must be built again before another attempt to start. */
export class DamagedImageError extends RetryableStartError {}

/** Returns true if another attempt to start may succeed. */
export function isRetryable(error: unknown): boolean {
  return error instanceof RetryableStartError;
}

/** Returns the error for an interpreter that was terminated before it started. */
export function startError(
  termination: Termination,
  options: ErrorOptions & { stderr?: string | undefined } = {},
): SandboxError {
  const { cause, stderr = "" } = options;
  const message = `Cannot start session: ${termination.message}`;
  if (termination.reason === "damaged") return new DamagedImageError(termination.message);
  // A process that this host kills has another reason, so this SIGKILL came from elsewhere.
  if (termination.reason === "collateral" || termination.signal === "SIGKILL") {
    return new RetryableStartError(message);
  }
  const shown = stderr.trim();
  return new SandboxError(shown === "" ? message : `${message}: ${shown}`, { cause });
}
