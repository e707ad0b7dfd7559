import {
  ArgumentTypeError,
  GUEST_FILE_ERROR_CODES,
  GuestFileError,
  type GuestFileErrorCode,
  SandboxError,
} from "../errors.ts";
import type { ErrorCode } from "../wire/error_codes.ts";
import { requestError } from "../wire/v1.ts";

/** Error response of a server. */
export interface Refusal {
  /** HTTP status of the response, or what came in its place. */
  readonly status: number | string;
  /** The {@linkcode ErrorCode}; empty if another program, such as a gateway, sent the response. */
  readonly type: string;
  readonly message: string;
  /** The {@linkcode GuestFileErrorCode}, if a file of the session could not be read or written. */
  readonly reason?: string;
}

const SHOWN_CHARACTERS = 1_000;
const INVALID: ErrorCode = "invalid";

/** Reads the body of a response whose status is an error. */
export function parseRefusal(status: number, text: string): Refusal {
  const parsed = requestError.safeParse(errorIn(text));
  if (parsed.success) return { status, ...parsed.data };
  return { status, type: "", message: text.trim().replace(/\s+/g, " ") };
}

/**
 * Converts a refusal into the error that a local session throws: a `TypeError` for a wrong argument, a
 * `GuestFileError` for a file that cannot be read or written, and a `SandboxError` for anything else.
 */
export function toRefusalError(action: string, { status, type, message, reason }: Refusal): Error {
  const shown = message.slice(0, SHOWN_CHARACTERS);
  if (isFileErrorCode(reason)) return new GuestFileError(shown, { code: reason });
  if (type === INVALID) return new ArgumentTypeError(shown);
  return new SandboxError(`Cannot ${action} as the server answered ${status}${shown && `: ${shown}`}`);
}

function isFileErrorCode(reason: string | undefined): reason is GuestFileErrorCode {
  return GUEST_FILE_ERROR_CODES.some((code) => code === reason);
}

function errorIn(text: string): unknown {
  try {
    return Object(JSON.parse(text)).error;
  } catch {
    return undefined; // no JSON: the text itself is shown
  }
}
