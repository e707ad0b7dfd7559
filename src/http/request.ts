import { abortable, Deadline } from "../async/abort.ts";
import { JSON_LIMITS, JsonLimitError, type JsonLimits, parseUntrustedJson } from "../json.ts";
import { parseRetryAfter } from "./retry.ts";

/** The chunks of a response. */
export type ResponseBody = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** Options of {@linkcode sendRequest}. */
export interface SendRequestOptions<T> {
  /** Milliseconds until the whole response must be read. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Reads the response. Errors of the reader are rethrown unchanged. */
  read: (response: Response, body: ResponseBody) => Promise<T>;
}

/** Result of a request: the value that was read, or the fault. */
export type SentRequest<T> =
  | { readonly value: T }
  | {
    readonly fault: "timeout" | "unreachable";
    /** Describes the fault, to follow the server's address in a message. */
    readonly reason: string;
    readonly cause?: unknown;
    /** False if there was no connection, so that the server cannot have received the request. */
    readonly mayHaveArrived: boolean;
  };

/** Error of a connection that failed before the whole response was read. */
class ConnectionError extends Error {}

/** Sends a request once and reads the response. Rejects with the signal's reason, or with what `read` throws. */
export async function sendRequest<T>(
  send: (signal: AbortSignal) => Response | Promise<Response>,
  options: SendRequestOptions<T>,
): Promise<SentRequest<T>> {
  const { timeoutMs, signal, read } = options;
  using deadline = new Deadline(timeoutMs, { signal });
  let response: Response | undefined;
  try {
    response = await onConnection((async () => await send(deadline.signal))(), deadline.signal);
    return { value: await read(response, bodyOf(response, deadline.signal)) };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof ConnectionError)) throw error;
    if (deadline.isExpired) {
      return {
        fault: "timeout",
        reason: `did not answer within ${timeoutMs} ms`,
        mayHaveArrived: true,
      };
    }
    const { cause } = error;
    return {
      fault: "unreachable",
      reason: `cannot be reached: ${connectionErrorText(cause)}`,
      cause,
      mayHaveArrived: response !== undefined || !failedToConnect(cause),
    };
  } finally {
    response?.body?.cancel().catch(() => {}); // the body is locked after a read
  }
}

async function* bodyOf(
  { body }: Response,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await onConnection(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {}); // the rest is not needed
  }
}

/** Separates errors of a connection from errors of the code that reads from the connection. */
async function onConnection<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await abortable(work, signal);
  } catch (cause) {
    throw new ConnectionError("the connection broke", { cause });
  }
}

/** Returns all bytes of a body; `null` if there are more than `maxBytes`. Keeps no chunk longer than a step. */
export async function readBytes(
  body: ResponseBody,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  let buffer = new ArrayBuffer(0);
  let length = 0;
  for await (const chunk of body) {
    const end = length + chunk.length;
    if (end > maxBytes) {
      buffer.transfer(0); // frees the bytes now, and not at some later garbage collection
      return null;
    }
    if (end > buffer.byteLength) buffer = buffer.transfer(Math.min(maxBytes, Math.max(end, 2 * length)));
    // A copy: each chunk of a compressed response has 4 KiB, in a buffer of 64 KiB.
    new Uint8Array(buffer).set(chunk, length);
    length = end;
  }
  return new Uint8Array(buffer.transfer(length));
}

/** Returns the message of a failed connection without the address, which may hold a password. */
export function connectionErrorText(error: unknown): string {
  return fetchErrorText(error).replace(/^.*for url \([^)]*\): /, "").replace(
    /^.*client error \(\w+\): /s,
    "",
  );
}

/** True if a request failed before there was a connection, so that the request cannot have arrived. */
export function failedToConnect(error: unknown): boolean {
  // `fetch` throws no class and no code for this.
  return /client error \(Connect\)/.test(fetchErrorText(error));
}

/** Returns the cause of an error of `fetch`, which describes the failure. */
function fetchErrorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Kind of a failed request for JSON. `unavailable` means that another attempt may succeed. */
export type RequestFault = "refused" | "unreachable" | "unavailable" | "timeout" | "bad_answer";

/** Options of {@linkcode postJson}. */
export interface PostJsonOptions {
  /**
   * Maximum number of JSON values of the response.
   *
   * @default 100_000
   */
  maxValues?: number | undefined;
  headers: Readonly<Record<string, string>>;
  /** Milliseconds until the whole response must be read. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Result of {@linkcode postJson}: the response, or the fault. */
export type PostedJson =
  | { readonly response: unknown }
  | {
    readonly fault: RequestFault;
    /** Describes the fault, to follow the server's address in a message. */
    readonly reason: string;
    readonly cause?: unknown;
    /** Delay that the server asks for, in milliseconds. */
    readonly retryAfterMs?: number | undefined;
    /** The response with another status than 2xx. The body is a JSON value, or the text if the body is not JSON. */
    readonly answer?: { readonly status: number; readonly body: unknown };
  };

/** Maximum size of a response. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
const MAX_SHOWN_CHARACTERS = 300;
/** Statuses below 500 after which another attempt may succeed. */
const RETRYABLE_STATUSES = [408, 425, 429];

/** Posts JSON once and parses the response as JSON. Rejects only with the signal's reason. */
export async function postJson(url: URL, body: string, options: PostJsonOptions): Promise<PostedJson> {
  const { timeoutMs, signal, maxValues = JSON_LIMITS.values } = options;
  const headers = { "content-type": "application/json", ...options.headers };
  const sent = await sendRequest((signal) => fetch(url, { method: "POST", headers, body, signal }), {
    timeoutMs,
    signal,
    async read(response, body): Promise<PostedJson> {
      const bytes = await readBytes(body, MAX_RESPONSE_BYTES);
      const limits = { ...JSON_LIMITS, values: maxValues };
      return parseResponse(response, bytes && new TextDecoder().decode(bytes), limits);
    },
  });
  return "value" in sent ? sent.value : sent;
}

function parseResponse(response: Response, text: string | null, limits: JsonLimits): PostedJson {
  const { status, statusText, headers, ok } = response;
  if (text === null) {
    return { fault: "bad_answer", reason: `sent a response of more than ${MAX_RESPONSE_BYTES} bytes` };
  }
  if (!ok) {
    const answer = { status, body: parseErrorBody(text) };
    const reason = `answered ${`${status} ${statusText}`.trim()}${explanation(answer.body)}`;
    if (!isRetryable(status)) return { fault: "refused", reason, answer };
    const retryAfterMs = parseRetryAfter(headers.get("retry-after"), new Date());
    return { fault: "unavailable", reason, retryAfterMs, answer };
  }
  try {
    return { response: parseUntrustedJson(text, limits) };
  } catch (cause) {
    if (cause instanceof JsonLimitError) {
      return { fault: "bad_answer", reason: `answered with too much: ${cause.message}`, cause };
    }
    const found = text.trim() === "" ? "no text" : `'${shortened(text)}'`;
    return { fault: "bad_answer", reason: `sent a response that is not JSON: found ${found}`, cause };
  }
}

/** Returns whether another attempt may succeed after a response with this status. */
export function isRetryable(status: number): boolean {
  return status >= 500 || RETRYABLE_STATUSES.includes(status);
}

function parseErrorBody(text: string): unknown {
  try {
    return parseUntrustedJson(text);
  } catch {
    return text; // the body is not JSON: the text itself is shown
  }
}

/**
 * Returns a server's own explanation of an error, shortened and after `: `; the empty text if there is no explanation. The
 * body has a JSON shape that servers use.
 */
export function explanation(body: unknown): string {
  const { error, message, detail } = Object(body);
  const found = [error?.message, error, message, detail, body].find((value) => typeof value === "string");
  const text = found ?? JSON.stringify(body);
  return text.trim() === "" ? "" : `: ${shortened(text)}`;
}

function shortened(text: string): string {
  const line = text.slice(0, 10 * MAX_SHOWN_CHARACTERS).trim().replace(/\s+/g, " ");
  return line.length > MAX_SHOWN_CHARACTERS ? `${line.slice(0, MAX_SHOWN_CHARACTERS)}…` : line;
}

/**
 * Returns the URL of an endpoint: `base` if `base` ends in the endpoint, else `base` with the endpoint appended.
 *
 * @throws {TypeError} if `base` is not an http or https URL, or contains a password.
 */
export function serverUrl(base: string | URL, endpoint: string, options: { root?: string } = {}): URL {
  const { root = "" } = options;
  const url = URL.parse(base);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(
      `Cannot call server as 'url' must be an http or https URL: current value is '${base}'`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("Cannot call server as 'url' must not contain a password: pass it as the API key");
  }
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = path.endsWith(endpoint) ? path : `${path || root}${endpoint}`;
  return url;
}

/**
 * Checks a numeric option of a client.
 *
 * @throws {RangeError} if the option is less than `least`.
 */
export function requireAtLeast(name: string, value: number, least: number): void {
  if (value >= least) return;
  throw new RangeError(`Cannot call server as '${name}' must be >= ${least}: current value is ${value}`);
}
