import { delay } from "@std/async";
import type * as z from "zod";
import { abortable } from "../async/abort.ts";
import { requireAtLeast, serverUrl } from "../http/request.ts";
import { retry, retryDelayMs } from "../http/retry.ts";
import { HTTP_STATUS } from "../wire/error_codes.ts";
import { type BodyChunks, readBody, readResponse } from "./responses.ts";
import { attempt, type AttemptResult } from "./attempt.ts";
import type { Fetch, ServerApiOptions } from "./client_options.ts";

/** Options of a request. */
export interface RequestOptions {
  /** Name of the action, which follows `Cannot` in error messages. */
  action: string;
  /** Timeout of its program, in milliseconds. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of a request with a JSON response. */
export interface PostOptions<T> extends RequestOptions {
  /** Schema of the response. */
  schema: z.core.$ZodType<T>;
  /** True to retry without limit while the server is full. */
  waitWhileFull?: boolean | undefined;
  /** Returns the result if the server does not have what the path names. */
  onMissing?: (() => T) | undefined;
  /** Called with a response that arrives after the signal was aborted. */
  onLateResponse?: ((response: T) => Promise<void>) | undefined;
}

interface ApiRequest<T> extends RequestOptions {
  method: "GET" | "POST" | "DELETE";
  path: string;
  /** JSON, or bytes that are sent as they are. */
  body?: object | Uint8Array<ArrayBuffer> | undefined;
  /** Request id, which makes a retry safe even if the request may have arrived. */
  id?: string | undefined;
  waitWhileFull?: boolean | undefined;
  onMissing?: (() => T) | undefined;
  /** Aborts the HTTP request. `signal` only ends the wait for it. */
  cut?: AbortSignal | undefined;
  read: (body: BodyChunks) => Promise<T>;
}

/** Time limit of the requests that cancel or end something after its caller has stopped waiting. */
const LATE_MS = 10_000;
const CANCEL_RETRY_MS = 100;

/** Client of a server's `/v1` API: retries requests where that is safe and validates responses. */
export class ServerApi implements AsyncDisposable {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #options: { retries: number; backoffMs: number; responseTimeoutMs: number; fetch: Fetch };
  readonly #background = new Set<Promise<unknown>>();

  /**
   * @throws {TypeError} if the URL is invalid.
   * @throws {RangeError} if a limit is out of range.
   */
  constructor(options: ServerApiOptions) {
    const {
      url,
      token,
      retries = 4,
      backoffMs = 250,
      responseTimeoutMs = 300_000,
      fetch = globalThis.fetch,
    } = options;
    requireAtLeast("retries", retries, 0);
    requireAtLeast("backoffMs", backoffMs, 0);
    requireAtLeast("responseTimeoutMs", responseTimeoutMs, 1);
    this.#base = serverUrl(url, "/v1").href.replace(/[?#].*$/, "");
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#options = { retries, backoffMs, responseTimeoutMs, fetch };
  }

  /**
   * Sends JSON, or bytes as they are, and returns the response. The server runs the request once, even if it is sent several times. When the
   * signal aborts, the server is asked to cancel it.
   */
  async post<T>(path: string, body: object, options: PostOptions<T>): Promise<T> {
    const response = this.#post(path, body, options);
    this.track(response.catch(() => {})); // the caller receives the error
    return await response;
  }

  async #post<T>(path: string, body: object, options: PostOptions<T>): Promise<T> {
    const { signal, schema, onLateResponse = () => Promise.resolve(), ...rest } = options;
    signal?.throwIfAborted();
    const id = crypto.randomUUID();
    const cut = new AbortController();
    const read = (body: BodyChunks) => readResponse(options.action, body, schema);
    const response = this.#request({
      ...rest,
      method: "POST",
      path,
      body,
      id,
      signal,
      cut: cut.signal,
      read,
    });
    try {
      return await abortable(response, signal);
    } catch (error) {
      if (signal?.aborted) this.track(this.#abandon(id, response.then(onLateResponse), cut));
      throw error;
    }
  }

  /** Sends JSON and reads the response as a stream. The request is not sent again once it may have arrived. */
  async stream<T>(
    path: string,
    body: object,
    options: RequestOptions & { read: (body: BodyChunks) => Promise<T> },
  ): Promise<T> {
    return await this.#request({ ...options, method: "POST", path, body, cut: options.signal });
  }

  /** Gets a resource as bytes. */
  async get(path: string, options: RequestOptions): Promise<Uint8Array> {
    const read = (body: BodyChunks) => readBody(options.action, body);
    return await this.#request({ ...options, method: "GET", path, cut: options.signal, read });
  }

  /** Gets a resource as a stream. A stream that breaks off may be read again from its start. */
  async getStream<T>(
    path: string,
    options: RequestOptions & { read: (body: BodyChunks) => Promise<T> },
  ): Promise<T> {
    return await this.#request({ ...options, method: "GET", path, cut: options.signal });
  }

  /** Deletes a resource. A request that may have arrived is sent again. */
  async delete(path: string, options: RequestOptions & { onMissing?: () => void }): Promise<void> {
    const read = () => Promise.resolve();
    await this.#request({ ...options, method: "DELETE", path, cut: options.signal, read });
  }

  /** Deletes a resource in the background. If that fails, the resource ends after its idle time. */
  deleteInBackground(path: string): void {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), LATE_MS);
    const options = { signal: timeout.signal, cut: timeout.signal, read: () => Promise.resolve() };
    const deleted = this.#request({ action: "end session", method: "DELETE", path, ...options });
    this.track(deleted.catch(() => {}).finally(() => clearTimeout(timer))); // its idle time ends it
  }

  /** Makes the disposal wait for background work. The work must not reject. */
  track(work: Promise<unknown>): void {
    this.#background.add(work);
    work.finally(() => this.#background.delete(work));
  }

  /** Waits for background work. */
  async [Symbol.asyncDispose](): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background);
  }

  /** Cancels a request on the server, and waits for a late response so that its effect is undone. */
  async #abandon(id: string, response: Promise<void>, cut: AbortController): Promise<void> {
    const timer = setTimeout(() => cut.abort(), LATE_MS);
    let isOver = false;
    const ended = response.catch(() => {}).finally(() => isOver = true); // the caller has stopped waiting
    while (!await this.#cancel(id) && !isOver && !cut.signal.aborted) {
      await delay(CANCEL_RETRY_MS); // the cancellation may have arrived before the request
    }
    await ended;
    clearTimeout(timer);
  }

  /** Cancels a request. Returns false if the server does not know it. */
  async #cancel(id: string): Promise<boolean> {
    const { fetch } = this.#options;
    const request = new Request(`${this.#base}/requests/${id}`, { method: "DELETE", headers: this.#headers });
    const read = () => Promise.resolve();
    return "value" in await attempt(request, { fetch, action: "cancel", timeoutMs: LATE_MS, read });
  }

  async #request<T>(request: ApiRequest<T>): Promise<T> {
    return await retry(async (tries) => {
      const result = await this.#attempt(request);
      if ("value" in result) return { value: result.value };
      const { error, fault } = result;
      const { onMissing } = request;
      if (onMissing && result.status === HTTP_STATUS.not_found) return { value: onMissing() };
      if (fault === "late" && request.id !== undefined) this.track(this.#cancel(request.id));
      return { error, delayMs: this.#delayMs(result, request, tries) };
    }, { signal: request.signal });
  }

  #attempt<T>(
    { method, path, body, id, action, timeoutMs = 0, cut, read }: ApiRequest<T>,
  ): Promise<AttemptResult<T>> {
    const isBytes = body instanceof Uint8Array;
    const headers = {
      ...this.#headers,
      ...(body && { "content-type": isBytes ? "application/octet-stream" : "application/json" }),
      ...(id !== undefined && { "x-request-id": id }),
    };
    const request = new Request(this.#base + path, {
      method,
      headers,
      redirect: "manual",
      body: body === undefined ? null : isBytes ? body : JSON.stringify(body),
    });
    const { fetch, responseTimeoutMs } = this.#options;
    return attempt(request, { fetch, action, timeoutMs: timeoutMs + responseTimeoutMs, signal: cut, read });
  }

  #delayMs<T>(
    { fault, retryAfterMs }: Exclude<AttemptResult<T>, { value: T }>,
    { method, id, waitWhileFull = false }: ApiRequest<T>,
    tries: number,
  ): number | null {
    const { retries, backoffMs } = this.#options;
    const jitter = Math.random();
    if (fault === "full" && waitWhileFull) {
      return retryDelayMs({ attempt: 1, backoffMs, retryAfterMs, jitter });
    }
    const isSafe = fault !== "lost" || method !== "POST" || id !== undefined;
    if (fault === "final" || fault === "late" || !isSafe || tries > retries) return null;
    return retryDelayMs({ attempt: tries, backoffMs, retryAfterMs, jitter });
  }
}
