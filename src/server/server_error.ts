import { SandboxError } from "../errors.ts";

/** The HTTP status of each way in which a request can fail. */
export const HTTP_STATUS = {
  malformed: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  too_slow: 408,
  conflict: 409,
  too_large: 413,
  unsupported: 415,
  invalid: 422,
  busy: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
  timeout: 504,
} as const;

/** Why a request failed. */
export type Fault = keyof typeof HTTP_STATUS;

/** What whoever asked is told; the cause stays on the host. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly fault: Fault;
  /** Seconds after which it is worth asking again. */
  readonly retryAfter: number | undefined;

  constructor(fault: Fault, message: string, options: ErrorOptions & { retryAfter?: number } = {}) {
    super(message, options);
    this.fault = fault;
    this.retryAfter = options.retryAfter;
  }

  get status(): (typeof HTTP_STATUS)[Fault] {
    return HTTP_STATUS[this.fault];
  }
}

/** How refusals that are worded for the caller begin; an engine words its own otherwise. */
const REFUSAL = /^Cannot (exec|run|seed|reset|use path|write|grant|take|step) /;

/**
 * What a session threw, as whoever asked may see it. A session words its refusals for the caller; what a
 * sandbox says when it breaks names places of the host, and what is no refusal is a fault of the server.
 */
export function sessionError(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  if ((error instanceof TypeError || error instanceof RangeError) && REFUSAL.test(error.message)) {
    return new ServerError("invalid", error.message, { cause: error });
  }
  if (error instanceof SandboxError) {
    return new ServerError("unavailable", "The sandbox failed", { cause: error, retryAfter: 1 });
  }
  const message = error instanceof Error && error.constructor === Error ? error.message : "";
  if (message.startsWith("Cannot read ")) return new ServerError("not_found", message, { cause: error });
  if (message.startsWith("Cannot write ")) return new ServerError("invalid", message, { cause: error });
  if (message.startsWith("Cannot use session ")) {
    return new ServerError("conflict", "The session has ended", { cause: error });
  }
  if (error instanceof DOMException && error.name === "AbortError") {
    return new ServerError("unavailable", "The request was cut short", { cause: error });
  }
  return new ServerError("internal", "The server failed; its log says why", { cause: error });
}
