import {
  GuestFileError,
  type GuestFileErrorCode,
  isArgumentError,
  SandboxError,
  SessionClosedError,
} from "../errors.ts";
import { type ErrorCode, HTTP_STATUS } from "../wire/error_codes.ts";

/** Options of {@linkcode ServerError}. */
export interface ServerErrorOptions extends ErrorOptions {
  /** Seconds after which the client may retry. */
  retryAfter?: number;
  /** Reason for a failed access to a file of a session. */
  reason?: GuestFileErrorCode;
}

/** An error whose code and message are sent to the client. The cause stays on the host. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly code: ErrorCode;
  /** Seconds after which the client may retry. */
  readonly retryAfter: number | undefined;
  /** Reason for a failed access to a file of a session. */
  readonly reason: GuestFileErrorCode | undefined;

  constructor(code: ErrorCode, message: string, options: ServerErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.retryAfter = options.retryAfter;
    this.reason = options.reason;
  }

  get status(): (typeof HTTP_STATUS)[ErrorCode] {
    return HTTP_STATUS[this.code];
  }
}

/** JSON of an error of `/v1`. */
export interface ErrorBody {
  type: ErrorCode;
  message: string;
  reason?: GuestFileErrorCode;
}

/** Returns the JSON of an error of `/v1`. */
export function toErrorBody({ code, message, reason }: ServerError): ErrorBody {
  return { type: code, message, ...(reason !== undefined && { reason }) };
}

const FILE_ERRORS: Readonly<Record<GuestFileErrorCode, ErrorCode>> = {
  file_not_found: "not_found",
  file_unreadable: "not_found",
  file_unwritable: "invalid",
};

/**
 * Converts an error of a session into one that may be sent to the client. Argument errors and file errors keep their
 * message, which is written for the client. The message of a failed sandbox or of an unexpected error may contain names
 * of the host, so the client gets a general one.
 */
export function toPublicError(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  if (isArgumentError(error)) return new ServerError("invalid", error.message, { cause: error });
  if (error instanceof SandboxError) {
    return new ServerError("unavailable", "The sandbox failed", { cause: error, retryAfter: 1 });
  }
  if (error instanceof GuestFileError) {
    const { code, message } = error;
    return new ServerError(FILE_ERRORS[code], message, { cause: error, reason: code });
  }
  if (error instanceof SessionClosedError) {
    return new ServerError("conflict", "The session has ended", { cause: error });
  }
  if (error instanceof DOMException && error.name === "AbortError") {
    return new ServerError("unavailable", "The request was cancelled", { cause: error });
  }
  return new ServerError("internal", "The server failed: see its log", { cause: error });
}
