import { delay } from "@std/async";
import type { z } from "zod";
import { abortable } from "../async/abort.ts";
import { requireAtLeast, serverUrl } from "../http/request.ts";
import { retry, retryDelayMs } from "../http/retry.ts";
import { type AnswerBody, checkedAnswer, wholeBody } from "./answer_body.ts";
import { attempt, type Attempted, type Fetch } from "./attempt.ts";

/** How a {@linkcode ServerApi} asks its server. */
export interface ServerApiOptions {
  /** Where the server is: `http://127.0.0.1:8471`. */
  url: string | URL;
  /** One of the server's tokens. */
  token?: string | undefined;
  /** Further attempts when there is no connection, or the server is too busy or failed; 4 unless given. */
  retries?: number | undefined;
  /** Milliseconds before the second attempt, twice as many before each further one; 250 unless given. */
  backoffMs?: number | undefined;
  /** Milliseconds that an answer may take, beside the time that its program may; 300,000 unless given. */
  answerTimeoutMs?: number | undefined;
  /** Asks the server; the global `fetch` unless given. */
  fetch?: Fetch | undefined;
}

/** What each request is given. */
export interface AskOptions {
  /** What is tried, to stand behind `Cannot` in errors. */
  doing: string;
  /** Milliseconds that its program may take. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What a request is given whose answer is JSON. */
export interface PostOptions<T> extends AskOptions {
  /** What the answer must be. */
  answer: z.ZodType<T>;
  /** Asks again without end while the server is full. */
  waits?: boolean | undefined;
  /** Called with an answer that comes although the signal was aborted. */
  onLate?: ((answer: T) => Promise<void>) | undefined;
}

interface Wanted<T> extends AskOptions {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: object | undefined;
  /** Lets it be sent again although it may have arrived. */
  id?: string | undefined;
  waits?: boolean | undefined;
  /** Ends what was sent. Unlike the signal, which ends the wait for it. */
  cut?: AbortSignal | undefined;
  read: (body: AnswerBody) => Promise<T>;
}

/** How long the server is told of what nobody wants, and what it answers all the same is waited for, to undo it. */
const LATE_MS = 10_000;
const CANCEL_AGAIN_MS = 100;

/** The API `/v1` of a server: requests that are made again where that may help, and answers that are checked. */
export class ServerApi implements AsyncDisposable {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #options: { retries: number; backoffMs: number; answerTimeoutMs: number; fetch: Fetch };
  readonly #busy = new Set<Promise<unknown>>();

  /**
   * @throws {TypeError} when the URL is none.
   * @throws {RangeError} when a limit cannot be kept.
   */
  constructor(options: ServerApiOptions) {
    const { url, token, retries = 4, backoffMs = 250, answerTimeoutMs = 300_000, fetch = globalThis.fetch } =
      options;
    requireAtLeast("retries", retries, 0);
    requireAtLeast("backoffMs", backoffMs, 0);
    requireAtLeast("answerTimeoutMs", answerTimeoutMs, 1);
    this.#base = serverUrl(url, "/v1").href.replace(/[?#].*$/, "");
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#options = { retries, backoffMs, answerTimeoutMs, fetch };
  }

  /**
   * Sends JSON and gives what is answered. It is done once, however often it must be sent; when the signal is
   * aborted the server is told to leave it.
   */
  async post<T>(path: string, body: object, options: PostOptions<T>): Promise<T> {
    const posted = this.#post(path, body, options);
    this.later(posted.catch(() => {})); // whoever asked hears of it
    return await posted;
  }

  async #post<T>(path: string, body: object, options: PostOptions<T>): Promise<T> {
    const { signal, answer, onLate = () => Promise.resolve(), ...rest } = options;
    signal?.throwIfAborted();
    const id = crypto.randomUUID();
    const cut = new AbortController();
    const read = (body: AnswerBody) => checkedAnswer(options.doing, body, answer);
    const answered = this.#ask({ ...rest, method: "POST", path, body, id, signal, cut: cut.signal, read });
    try {
      return await abortable(answered, signal);
    } catch (error) {
      if (signal?.aborted) this.later(this.#leave(id, answered.then(onLate), cut));
      throw error;
    }
  }

  /** Sends JSON and reads the answer while it is written. It is not sent again once it may have arrived. */
  async stream<T>(
    path: string,
    body: object,
    options: AskOptions & { read: (body: AnswerBody) => Promise<T> },
  ): Promise<T> {
    return await this.#ask({ ...options, method: "POST", path, body, cut: options.signal });
  }

  /** Reads bytes. */
  async get(path: string, options: AskOptions): Promise<Uint8Array> {
    const read = (body: AnswerBody) => wholeBody(options.doing, body);
    return await this.#ask({ ...options, method: "GET", path, cut: options.signal, read });
  }

  /** Ends something in the background; what cannot be told ends by itself when nobody uses it. */
  end(path: string): void {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LATE_MS);
    const ends = { signal: late.signal, cut: late.signal, read: () => Promise.resolve() };
    const ended = this.#ask({ doing: "end session", method: "DELETE", path, ...ends });
    this.later(ended.catch(() => {}).finally(() => clearTimeout(timer))); // it ends by itself
  }

  /** Has something done before this is disposed; it must not reject. */
  later(work: Promise<unknown>): void {
    this.#busy.add(work);
    work.finally(() => this.#busy.delete(work));
  }

  /** Waits for what goes on in the background. */
  async [Symbol.asyncDispose](): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy);
  }

  /** Leaves what was asked for: its program is stopped, and what comes all the same is undone. */
  async #leave(id: string, answered: Promise<void>, cut: AbortController): Promise<void> {
    const timer = setTimeout(() => cut.abort(), LATE_MS);
    let over = false;
    const ended = answered.catch(() => {}).finally(() => over = true); // nobody wants it
    while (!await this.#cancel(id) && !over && !cut.signal.aborted) {
      await delay(CANCEL_AGAIN_MS); // it may have overtaken what it is to cancel
    }
    await ended;
    clearTimeout(timer);
  }

  /** Has the server stop what was asked for; false when it knows of no such request. */
  async #cancel(id: string): Promise<boolean> {
    const { fetch } = this.#options;
    const request = new Request(`${this.#base}/requests/${id}`, { method: "DELETE", headers: this.#headers });
    const read = () => Promise.resolve();
    return "answer" in await attempt(request, { fetch, doing: "cancel", timeoutMs: LATE_MS, read });
  }

  async #ask<T>(wanted: Wanted<T>): Promise<T> {
    return await retry(async (number) => {
      const attempted = await this.#once(wanted);
      if ("answer" in attempted) return { value: attempted.answer };
      const { error, fault } = attempted;
      if (fault === "late" && wanted.id !== undefined) this.later(this.#cancel(wanted.id));
      return { error, delayMs: this.#delayMs(attempted, wanted, number) };
    }, { signal: wanted.signal });
  }

  #once<T>({ method, path, body, id, doing, timeoutMs = 0, cut, read }: Wanted<T>): Promise<Attempted<T>> {
    const headers = {
      ...this.#headers,
      ...(body && { "content-type": "application/json" }),
      ...(id !== undefined && { "x-request-id": id }),
    };
    const request = new Request(this.#base + path, {
      method,
      headers,
      redirect: "manual",
      body: body === undefined ? null : JSON.stringify(body),
    });
    const { fetch, answerTimeoutMs } = this.#options;
    return attempt(request, { fetch, doing, timeoutMs: timeoutMs + answerTimeoutMs, signal: cut, read });
  }

  #delayMs<T>(
    { fault, retryAfterMs }: Exclude<Attempted<T>, { answer: T }>,
    { method, id, waits = false }: Wanted<T>,
    tries: number,
  ): number | null {
    const { retries, backoffMs } = this.#options;
    const jitter = Math.random();
    if (fault === "full" && waits) return retryDelayMs({ attempt: 1, backoffMs, retryAfterMs, jitter });
    const isSafe = fault !== "lost" || method !== "POST" || id !== undefined;
    if (fault === "final" || fault === "late" || !isSafe || tries > retries) return null;
    return retryDelayMs({ attempt: tries, backoffMs, retryAfterMs, jitter });
  }
}
