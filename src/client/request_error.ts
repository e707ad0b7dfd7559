import { SandboxError } from "../errors.ts";
import { type ErrorCode, errorCodeOf, isErrorCode } from "../wire/error_codes.ts";

/**
 * Why a request failed: the server's code, such as `busy` or `unauthorized`; `unreachable` if there was no connection, or
 * the connection broke; `late` if there was no response in time; `bad_response` if the response was not one of `/v1`.
 */
export type RequestErrorCode = ErrorCode | "unreachable" | "late" | "bad_response";

/** Options of {@linkcode RequestError}. */
export interface RequestErrorOptions extends ErrorOptions {
  readonly code: RequestErrorCode;
  /** HTTP status of the response, if there was one. */
  readonly status?: number | undefined;
}

/** The error of a request of a {@linkcode PaddockClient} that failed. It is a `SandboxError`, as local sessions throw. */
export class RequestError extends SandboxError {
  readonly code: RequestErrorCode;
  /** HTTP status of the response; `undefined` if there was none. */
  readonly status: number | undefined;

  constructor(message: string, { code, status, ...options }: RequestErrorOptions) {
    super(message, options);
    this.code = code;
    this.status = status;
  }

  override get name(): string {
    return "RequestError"; // a bundler may rename the class
  }
}

/** Returns the code of a response that is an error: the server's own, or the one of its status. */
export function codeOfResponse(type: string, status: number | string): RequestErrorCode {
  const ofStatus = typeof status === "number" ? errorCodeOf(status) : undefined;
  if (type === "") return ofStatus ?? "bad_response"; // a gateway sent it
  return isErrorCode(type) ? type : ofStatus ?? "bad_response";
}
