import {
  ArgumentTypeError,
  CHECKPOINT_ERROR_CODES,
  CheckpointError,
  GUEST_FILE_ERROR_CODES,
  GuestFileError,
  type GuestFileErrorCode,
  WaitingExecError,
} from "../errors.ts";
import { readBytes, sendRequest } from "../http/request.ts";
import { parseUntrustedJson } from "../json.ts";
import { parseRetryAfter } from "../http/retry.ts";
import { type ErrorCode, HTTP_STATUS } from "../wire/error_codes.ts";
import { requestErrorSchema, V1_FORMAT, V1_FORMAT_HEADER } from "../wire/v1.ts";
import type { Fetch } from "./client_options.ts";
import { codeOfResponse, RequestError } from "./request_error.ts";
import type { BodyChunks } from "./responses.ts";

/** Options of {@linkcode attempt}. */
export interface AttemptOptions<T> {
  fetch: Fetch;
  /** Name of the action, which follows `Cannot` in error messages. */
  action: string;
  /** Milliseconds within which the whole response must arrive. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Reads the body of a successful response. */
  read: (body: BodyChunks) => Promise<T>;
}

/**
 * Reason for a failed attempt:
 *
 * - `never`: the request was never sent, so a retry is safe.
 * - `lost`: the connection broke, so the server may have run it.
 * - `late`: the timeout passed, so the server may still run it.
 * - `full`: the server is busy.
 * - `failed`: the server cannot run it now.
 * - `final`: a retry would fail too.
 */
export type AttemptFailure = "never" | "lost" | "late" | "full" | "failed" | "final";

/** Result of one attempt. */
export type AttemptResult<T> =
  | { readonly value: T }
  | {
    readonly error: Error;
    readonly fault: AttemptFailure;
    /** HTTP status of the response, if there was one. */
    readonly status?: number | undefined;
    /** Milliseconds to wait before a retry, as set by the server. */
    readonly retryAfterMs?: number | undefined;
  };

const MAX_REFUSAL_BYTES = 1024 * 1024;
const BAD_GATEWAY = 502;
const FAULTS: Readonly<Record<number, AttemptFailure>> = {
  [HTTP_STATUS.too_slow]: "failed",
  [HTTP_STATUS.busy]: "full",
  [BAD_GATEWAY]: "lost",
  [HTTP_STATUS.unavailable]: "failed",
  [HTTP_STATUS.timeout]: "full",
};

/** Sends a request once. Rejects with the signal's reason, or with the error of `read`. */
export async function attempt<T>(request: Request, options: AttemptOptions<T>): Promise<AttemptResult<T>> {
  const { fetch, action, timeoutMs, signal, read } = options;
  const { origin } = new URL(request.url);
  const result = await sendRequest((signal) => fetch(new Request(request, { signal })), {
    timeoutMs,
    signal,
    async read(response, body): Promise<AttemptResult<T>> {
      const format = Number(response.headers.get(V1_FORMAT_HEADER) ?? V1_FORMAT);
      if (format > V1_FORMAT) {
        const message =
          `Cannot ${action} as ${origin} must use format ${V1_FORMAT} of /v1: it uses format ${format}`;
        return {
          error: new RequestError(message, { code: "bad_response", status: response.status }),
          fault: "final",
        };
      }
      return response.ok ? { value: await read(body) } : await readFailure(response, body, action);
    },
  });
  if ("value" in result) return result.value;
  const fault = result.fault === "timeout" ? "late" : result.mayHaveArrived ? "lost" : "never";
  return {
    error: new RequestError(`Cannot ${action} as ${origin} ${result.reason}`, {
      code: fault === "late" ? "late" : "unreachable",
      cause: result.cause,
    }),
    fault,
  };
}

async function readFailure(
  response: Response,
  body: BodyChunks,
  action: string,
): Promise<AttemptResult<never>> {
  const { status, headers } = response;
  const bytes = await readBytes(body, MAX_REFUSAL_BYTES);
  const location = headers.get("location");
  const text = location === null
    ? new TextDecoder().decode(bytes ?? undefined)
    : `redirects are not followed: ${location}`;
  const refusal = parseRefusal(status, text);
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), new Date());
  return { error: toRefusalError(action, refusal), fault: faultOf(status, refusal), status, retryAfterMs };
}

/** Classifies a failure. After the timeout of a gateway, the server may still run the request. */
function faultOf(status: number, { type }: Refusal): AttemptFailure {
  if (status === HTTP_STATUS.timeout && type === "") return "lost";
  return FAULTS[status] ?? "final";
}

/** Error response of a server. */
export interface Refusal {
  /** HTTP status of the response, or the description of a response without one. */
  readonly status: number | string;
  /** The {@linkcode ErrorCode}; empty if another program, such as a gateway, sent the response. */
  readonly type: string;
  readonly message: string;
  /** The code of the error of a file of the session or of a checkpoint, if there is one. */
  readonly reason?: string;
}

const SHOWN_CHARACTERS = 1_000;
const INVALID: ErrorCode = "invalid";

/** Reads the body of a response whose status is an error. */
function parseRefusal(status: number, text: string): Refusal {
  const parsed = requestErrorSchema.safeParse(errorIn(text));
  if (parsed.success) return { status, ...parsed.data };
  return { status, type: "", message: text.trim().replace(/\s+/g, " ") };
}

/**
 * Converts a refusal into the error that a local session throws: a `TypeError` for a wrong argument, a
 * `GuestFileError` for a file that cannot be read or written, a `CheckpointError` for a refused checkpoint, a
 * `WaitingExecError` for an exec that waits or does not, and a {@linkcode RequestError} for anything else.
 */
export function toRefusalError(action: string, { status, type, message, reason }: Refusal): Error {
  const shown = message.slice(0, SHOWN_CHARACTERS);
  if (isFileErrorCode(reason)) return new GuestFileError(shown, { code: reason });
  const code = CHECKPOINT_ERROR_CODES.find((code) => code === reason);
  if (code) return new CheckpointError(shown, { code });
  if (reason === "exec_waiting" || reason === "exec_not_waiting") {
    return new WaitingExecError(shown, { code: reason });
  }
  if (type === INVALID) return new ArgumentTypeError(shown);
  return new RequestError(`Cannot ${action} as the server answered ${status}${shown && `: ${shown}`}`, {
    code: codeOfResponse(type, status),
    status: typeof status === "number" ? status : undefined,
  });
}

function isFileErrorCode(reason: string | undefined): reason is GuestFileErrorCode {
  return GUEST_FILE_ERROR_CODES.some((code) => code === reason);
}

function errorIn(text: string): unknown {
  try {
    return Object(parseUntrustedJson(text)).error;
  } catch {
    return undefined; // no JSON: the text itself is shown
  }
}
