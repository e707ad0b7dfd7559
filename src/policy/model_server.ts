import { PolicyError } from "../errors.ts";
import { pause } from "./pause.ts";
import { type Posted, postJson } from "./post_json.ts";
import { requireAtLeast } from "./require_at_least.ts";
import { retryDelayMs } from "./retry_delay.ts";
import { Slots } from "./slots.ts";

/** How a policy asks its server. */
export interface ModelServerOptions {
  /** Sent as a bearer token. */
  apiKey?: string | undefined;
  /** Further headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds that one request may take; 300,000 unless given. */
  timeoutMs?: number | undefined;
  /** Further attempts when there is no connection, or the status is 408, 425, 429 or 5xx; 4 unless given. */
  retries?: number | undefined;
  /** What is tried again: all of these, which is the default, or a failed `connection` alone. */
  retryOn?: "connection" | "busy" | undefined;
  /** Milliseconds before the second attempt, twice as many before each further one; 250 unless given. */
  backoffMs?: number | undefined;
  /** Requests at once, above which a reply waits; 64 unless given. */
  concurrency?: number | undefined;
}

/** What a post may be given beside its body. */
export interface PostOptions {
  signal?: AbortSignal | undefined;
  /** Called, and waited for, when the signal is aborted while the server is at it. */
  onAborted?: (() => Promise<void>) | undefined;
}

type Failed = Exclude<Posted, { answer: unknown }>;

/**
 * A server that answers JSON with JSON. What it does wrong is a `PolicyError` with its `fault`.
 *
 * A server that could not be reached in all attempts of one request is asked once by the next ones, until it
 * answers again: a dead server costs the time of its retries once and not once for each episode.
 */
export class ModelServer {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #apiKey: string | undefined;
  readonly #timeoutMs: number;
  readonly #attempts: number;
  readonly #retriesBusy: boolean;
  readonly #backoffMs: number;
  readonly #slots: Slots;
  #reachable = true;

  /** @throws {RangeError} when a limit cannot be kept. */
  constructor(url: URL, options: ModelServerOptions = {}) {
    const {
      apiKey,
      headers = {},
      timeoutMs = 300_000,
      retries = 4,
      retryOn,
      backoffMs = 250,
      concurrency = 64,
    } = options;
    requireAtLeast("timeoutMs", timeoutMs, 1);
    requireAtLeast("retries", retries, 0);
    requireAtLeast("backoffMs", backoffMs, 0);
    this.#url = url;
    this.#apiKey = apiKey;
    this.#headers = { ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}), ...headers };
    this.#timeoutMs = timeoutMs;
    this.#attempts = retries + 1;
    this.#retriesBusy = retryOn !== "connection";
    this.#backoffMs = backoffMs;
    this.#slots = new Slots(concurrency);
  }

  /** What the server answers; rejects with a `PolicyError`, or with the signal's reason. */
  async post(body: object, options: PostOptions = {}): Promise<unknown> {
    const { signal } = options;
    const text = JSON.stringify(body);
    using _slot = await this.#slots.take(signal);
    for (let attempt = 1;; attempt++) {
      const posted = await this.#ask(text, options);
      if (!("fault" in posted)) {
        this.#reachable = true;
        return posted.answer;
      }
      const delayMs = this.#delayMs(posted, attempt);
      if (delayMs === null) throw this.#error(posted, attempt);
      await pause(delayMs, signal);
    }
  }

  async #ask(text: string, { signal, onAborted }: PostOptions): Promise<Posted> {
    const timeoutMs = this.#timeoutMs;
    try {
      return await postJson(this.#url, text, { headers: this.#headers, timeoutMs, signal });
    } catch (error) {
      await onAborted?.();
      throw error;
    }
  }

  /** The error of an answer that is JSON and still not what it must be. */
  badAnswer(reason: string): PolicyError {
    return this.#error({ fault: "bad_answer", reason }, 1);
  }

  #delayMs({ fault, askedMs }: Failed, attempt: number): number | null {
    const passes = fault === "unreachable" || (fault === "unavailable" && this.#retriesBusy);
    const ends = !passes || attempt >= this.#attempts;
    if (fault !== "unreachable") this.#reachable = true;
    else if (!this.#reachable) return null;
    else if (ends) this.#reachable = false;
    if (ends) return null;
    return retryDelayMs({ attempt, backoffMs: this.#backoffMs, askedMs, jitter: Math.random() });
  }

  #error({ fault, reason, cause }: Failed, attempts: number): PolicyError {
    const { origin, pathname } = this.#url;
    const tried = attempts > 1 ? ` (${attempts} attempts)` : "";
    const message = `Cannot get reply as ${origin}${pathname} ${reason}${tried}`;
    const safe = this.#apiKey ? message.replaceAll(this.#apiKey, "[key]") : message;
    return new PolicyError(safe, { cause, fault });
  }
}
