import { HTTPException } from "hono/http-exception";
import {
  CheckpointError,
  type CheckpointErrorCode,
  EpisodeError,
  GuestFileError,
  type GuestFileErrorCode,
  isArgumentError,
  PoolFullError,
  SandboxError,
  SandboxLostError,
  SessionClosedError,
  WaitingExecError,
  type WaitingExecErrorCode,
} from "../../errors.ts";
import { type ErrorCode, errorCodeOf, HTTP_STATUS } from "../../wire/error_codes.ts";

/** Code of the error of a session's file or of a checkpoint. */
export type FailureReason = GuestFileErrorCode | CheckpointErrorCode | WaitingExecErrorCode;

/** Options of {@linkcode ServerError}. */
export interface ServerErrorOptions extends ErrorOptions {
  /** Seconds after which the client may retry. */
  retryAfter?: number;
  /** Reason for a failed access to a file of a session, or to a checkpoint. */
  reason?: FailureReason;
  /** Methods that the path has. */
  allow?: readonly string[];
  /** Authentication scheme that a client can use. @default "Bearer" */
  challenge?: string;
}

/** An error whose code and message are sent to the client. The cause stays on the host. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly code: ErrorCode;
  /** Seconds after which the client may retry. */
  readonly retryAfter: number | undefined;
  /** Reason for a failed access to a file of a session, or to a checkpoint. */
  readonly reason: FailureReason | undefined;
  /** Methods that the path has. */
  readonly allow: readonly string[] | undefined;
  /** Authentication scheme that a client can use. */
  readonly challenge: string;

  constructor(code: ErrorCode, message: string, options: ServerErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.retryAfter = options.retryAfter;
    this.reason = options.reason;
    this.allow = options.allow;
    this.challenge = options.challenge ?? "Bearer";
  }

  get status(): (typeof HTTP_STATUS)[ErrorCode] {
    return HTTP_STATUS[this.code];
  }
}

/** JSON of an error of `/v1`. */
export interface ErrorBody {
  type: ErrorCode;
  message: string;
  reason?: FailureReason;
}

/** Returns the JSON of an error of `/v1`. */
export function toErrorBody({ code, message, reason }: ServerError): ErrorBody {
  return { type: code, message, ...(reason !== undefined && { reason }) };
}

const FILE_ERRORS: Readonly<Record<GuestFileErrorCode, ErrorCode>> = {
  file_not_found: "not_found",
  file_is_directory: "conflict",
  file_forbidden: "conflict",
  file_unreadable: "not_found",
  file_unwritable: "invalid",
};

const CHECKPOINT_ERRORS: Readonly<Record<CheckpointErrorCode, ErrorCode>> = {
  checkpoint_refused: "conflict",
  checkpoint_foreign: "forbidden",
  checkpoint_damaged: "invalid",
  checkpoint_truncated: "invalid",
  checkpoint_other_format: "invalid",
  checkpoint_other_image: "conflict",
  checkpoint_other_profile: "conflict",
  checkpoint_other_owner: "forbidden",
  checkpoint_too_large: "too_large",
};

/**
 * Converts an error of a session into an error that may be sent to the client. Errors of arguments, files and
 * checkpoints keep the message, which is written for the client. The message of a failed sandbox or of an unexpected
 * error may contain names of the host, so the client gets a general message.
 */
export function toPublicError(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  if (isArgumentError(error)) return new ServerError("invalid", error.message, { cause: error });
  if (error instanceof PoolFullError) {
    const retryAfter = Math.ceil(error.retryAfterMs / 1000);
    return new ServerError("busy", error.message, { cause: error, retryAfter });
  }
  if (error instanceof SandboxLostError) {
    const message = "The node of the session was lost, and its state with it";
    return new ServerError("unavailable", message, { cause: error, retryAfter: 1 });
  }
  if (error instanceof SandboxError) {
    return new ServerError("unavailable", "The sandbox failed", { cause: error, retryAfter: 1 });
  }
  if (error instanceof GuestFileError) {
    const { code, message } = error;
    return new ServerError(FILE_ERRORS[code], message, { cause: error, reason: code });
  }
  if (error instanceof CheckpointError) {
    const { code, message } = error;
    return new ServerError(CHECKPOINT_ERRORS[code], message, { cause: error, reason: code });
  }
  if (error instanceof WaitingExecError) {
    const { code, message } = error;
    return new ServerError("conflict", message, { cause: error, reason: code });
  }
  if (error instanceof SessionClosedError) {
    return new ServerError("conflict", "The session has ended", { cause: error });
  }
  if (error instanceof DOMException && error.name === "AbortError") {
    return new ServerError("unavailable", "The request was cancelled", { cause: error });
  }
  return new ServerError("internal", "The server failed: see its log", { cause: error });
}

/** Messages for requests that hono refuses before a route runs. */
const REFUSED: Partial<Record<ErrorCode, string>> = {
  malformed: "The body must be JSON",
  unsupported: "The body must be JSON: send the header 'content-type: application/json'",
};

/**
 * Returns the response to an unknown route: 405 if the path has other methods, else 404. `index` is the path that
 * lists the routes.
 */
export function notFoundResponse(
  { method, path }: { method: string; path: string },
  index: string,
  allow: readonly string[] = [],
): Response {
  const route = `${method} ${path.slice(0, 100)}`;
  if (allow.length > 0) {
    const message = `There is no route ${route}: the path has ${allow.join(", ")}`;
    return errorResponse(new ServerError("method_not_allowed", message, { allow }));
  }
  return errorResponse(new ServerError("not_found", `There is no route ${route}: see ${index}`));
}

/** Returns the response of a failed request in the format of `/v1`. */
export function errorResponse(error: ServerError): Response {
  return Response.json({ error: toErrorBody(error) }, {
    status: error.status,
    headers: toErrorHeaders(error),
  });
}

/** Returns the headers of an error response. */
export function toErrorHeaders({ code, retryAfter, allow, challenge }: ServerError): Record<string, string> {
  return {
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    ...(code === "unauthorized" && { "www-authenticate": challenge }),
    ...(allow && { allow: allow.join(", ") }),
  };
}

/** Converts any thrown value into an error that may be sent to the client and that contains nothing about the host. */
export function toServerError(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  if (error instanceof HTTPException) {
    const code = errorCodeOf(error.status) ?? "malformed";
    return new ServerError(code, REFUSED[code] ?? "The request is refused", { cause: error });
  }
  return toPublicError(error);
}

/** Maximum number of issues in a message, and of characters of each: an issue may repeat names of the request. */
const MAX_ISSUES = 16;
const MAX_ISSUE_CHARACTERS = 300;

/** Converts validation issues into a single `invalid` error, which describes the first 16 in 300 characters each. */
export function toInvalidRequest(
  { issues: found }: { readonly issues: readonly { path: readonly PropertyKey[]; message: string }[] },
): ServerError {
  const issues = found.slice(0, MAX_ISSUES).map(({ path, message }) =>
    shorten(`${path.map((part) => shorten(String(part), 60)).join(".") || "the request"}: ${message}`)
  );
  return new ServerError("invalid", issues.join("; "));
}

function shorten(text: string, maxCharacters = MAX_ISSUE_CHARACTERS): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

/**
 * Returns a function that reports errors of the server, but not errors of clients. Each error is reported once, even
 * if several layers catch it.
 */
export function errorReporter(onError: (error: unknown) => void): (thrown: unknown) => void {
  const reported = new WeakSet<object>();
  return (thrown) => {
    const { code, cause } = toServerError(thrown);
    if (code !== "internal" && !(cause instanceof SandboxError)) return;
    const isObject = typeof cause === "object" && cause !== null;
    if (isObject && reported.has(cause)) return;
    if (isObject) reported.add(cause);
    onError(cause);
  };
}

/**
 * Converts an error of an env into an error that may be sent to the client. The first public error in the chain of
 * causes is used, since transforms wrap the errors of sessions.
 */
export function toEnvError(error: unknown): ServerError {
  const chain = [...causes(error)];
  const publicError = chain.find((cause) => cause instanceof ServerError);
  if (publicError !== undefined) return publicError;
  const sandboxError = chain.find((cause) => cause instanceof SandboxError);
  if (sandboxError !== undefined || !(error instanceof EpisodeError)) {
    return toPublicError(sandboxError ?? error);
  }
  return new ServerError("invalid", error.message, { cause: error });
}

function* causes(error: unknown): Generator<unknown> {
  for (let cause = error; cause !== undefined; cause = cause instanceof Error ? cause.cause : undefined) {
    yield cause;
  }
}
