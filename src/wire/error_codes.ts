/**
 * HTTP status of each error code. The code is the `type` in the JSON of an error of `/v1`; the server and the
 * client both read this table.
 */
export const HTTP_STATUS = {
  malformed: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
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

/** Code that says why a request failed. */
export type ErrorCode = keyof typeof HTTP_STATUS;

const CODES = Object.keys(HTTP_STATUS) as ErrorCode[];

/** True for the name of a code. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(HTTP_STATUS, text);
}

/** Returns the code of an HTTP status; undefined when no code has the status. */
export function errorCodeOf(status: number): ErrorCode | undefined {
  return CODES.find((code) => HTTP_STATUS[code] === status);
}
