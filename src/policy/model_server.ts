import * as z from "zod";
import { Semaphore } from "../async/semaphore.ts";
import { PolicyError, type PolicyFault } from "../errors.ts";
import { explanation, isRetryable, type PostedJson, postJson, requireAtLeast } from "../http/request.ts";
import { type Attempt, retry, retryDelayMs } from "../http/retry.ts";
import { isContextOverflow } from "./context_overflow.ts";
import { isServerError, serverErrorOf } from "./server_error.ts";
import { type OutageOptions, ServerOutage } from "./server_outage.ts";

/** Options for the requests of a policy to the model server. */
export interface ModelServerOptions extends Omit<OutageOptions, "nowMs"> {
  /** API key, sent as a bearer token. */
  apiKey?: string | undefined;
  /** Additional headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Timeout of a request, in milliseconds.
   *
   * @default 300_000
   */
  timeoutMs?: number | undefined;
  /**
   * Number of retries if the connection fails, or the status is 408, 425, 429 or 5xx.
   *
   * @default 4
   */
  retries?: number | undefined;
  /**
   * Failures that are retried: `busy` stands for failed connections and the statuses above, `connection` for
   * failed connections only.
   *
   * @default "busy"
   */
  retryOn?: "connection" | "busy" | undefined;
  /**
   * Delay before the second attempt, in milliseconds. The delay doubles with each further attempt.
   *
   * @default 250
   */
  backoffMs?: number | undefined;
  /**
   * Maximum number of concurrent requests; further requests wait.
   *
   * @default 64
   */
  concurrency?: number | undefined;
  /**
   * How requests reach the server, for messages: `through the proxy of HTTP_PROXY`.
   *
   * @default no name
   */
  route?: string | undefined;
  /**
   * Called with an error that all later requests will have too: the server refuses the key (401), has no such address or
   * model (404), or has been away for `waitMs`.
   */
  onUnusable?: ((error: PolicyError) => void) | undefined;
}

/** Names of the options. */
export const MODEL_SERVER_OPTIONS: Readonly<Record<keyof ModelServerOptions, true>> = {
  apiKey: true,
  headers: true,
  timeoutMs: true,
  retries: true,
  retryOn: true,
  backoffMs: true,
  concurrency: true,
  route: true,
  onUnusable: true,
  waitMs: true,
  onAway: true,
  onBack: true,
};

/** Options of {@linkcode ModelServer.post}. */
export interface ModelRequestOptions {
  /**
   * Maximum number of JSON values of the response.
   *
   * @default 100_000
   */
  maxValues?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called and awaited if a running request fails or is aborted. */
  onAborted?: (() => Promise<void>) | undefined;
}

/**
 * Values of a response with the ids and log-probabilities of tokens: a chat completion has about ten for each, so
 * that a reply of 64,000 tokens stays within the limit.
 */
export const MAX_TOKEN_VALUES = 1_000_000;

/** Returns the schema of a long list, whose validation stops at the first wrong item. */
export function listOf<Item>(item: z.core.$ZodType<Item>): z.core.$ZodType<Item[]> {
  return z.array(z.unknown()).transform((items, context) => {
    const valid: Item[] = [];
    for (const [at, value] of items.entries()) {
      const { success, data, error } = z.safeParse(item, value);
      if (success) valid.push(data);
      else {
        const [issue] = error.issues;
        const path = [at, ...issue?.path ?? []];
        context.issues.push({ code: "custom", message: issue?.message ?? "", input: value, path });
        return z.NEVER;
      }
    }
    return valid;
  });
}

type Failed = Omit<Exclude<PostedJson, { response: unknown }>, "fault"> & { readonly fault: PolicyFault };

/**
 * A client of a model server that accepts and returns JSON. Failures are `PolicyError`s with a `fault`.
 *
 * If the server could not be reached in all attempts of a request, later requests make only one attempt
 * until the server responds again. So an unreachable server costs the retry delays once, not for each episode.
 *
 * If the server has answered before and `waitMs` is set, requests wait for the server's return instead.
 */
export class ModelServer {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #apiKey: string | undefined;
  readonly #timeoutMs: number;
  readonly #attempts: number;
  readonly #retriesBusy: boolean;
  readonly #backoffMs: number;
  readonly #slots: Semaphore;
  readonly #outage: ServerOutage;
  readonly #onUnusable: (error: PolicyError) => void;
  readonly #route: string | undefined;
  #reachable = true;

  /** @throws {RangeError} if a limit is out of range. */
  constructor(url: URL, options: ModelServerOptions = {}) {
    const {
      apiKey,
      headers = {},
      timeoutMs = 300_000,
      retries = 4,
      retryOn,
      backoffMs = 250,
      concurrency = 64,
      waitMs = 0,
      onUnusable = () => {},
    } = options;
    requireAtLeast("timeoutMs", timeoutMs, 1);
    requireAtLeast("retries", retries, 0);
    requireAtLeast("backoffMs", backoffMs, 0);
    requireAtLeast("waitMs", waitMs, 0);
    this.#url = url;
    this.#apiKey = apiKey;
    this.#headers = { ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}), ...headers };
    this.#timeoutMs = timeoutMs;
    this.#attempts = retries + 1;
    this.#retriesBusy = retryOn !== "connection";
    this.#backoffMs = backoffMs;
    this.#slots = new Semaphore(concurrency);
    this.#outage = new ServerOutage(options);
    this.#onUnusable = onUnusable;
    this.#route = options.route;
  }

  /** Returns the server's response. Rejects with a `PolicyError`, or with the signal's reason. */
  async post(body: object, options: ModelRequestOptions = {}): Promise<unknown> {
    const { signal } = options;
    const text = JSON.stringify(body);
    using _slot = await this.#slots.acquire(signal);
    return await retry(async (attempt): Promise<Attempt<unknown>> => {
      const posted = await this.#send(text, options);
      if ("fault" in posted) return this.#failedAttempt(posted, attempt);
      this.#reachable = true;
      this.#outage.end();
      return { value: posted.response };
    }, { signal });
  }

  async #send(
    text: string,
    { signal, onAborted, maxValues }: ModelRequestOptions,
  ): Promise<{ readonly response: unknown } | Failed> {
    const timeoutMs = this.#timeoutMs;
    try {
      const posted = await postJson(this.#url, text, {
        headers: this.#headers,
        timeoutMs,
        signal,
        maxValues,
      });
      const failed = "fault" in posted ? posted : errorInResponse(posted.response);
      if (failed === undefined) return posted;
      const overflows = failed.answer !== undefined && isContextOverflow(failed.answer);
      return overflows ? { ...failed, fault: "context_overflow" } : failed;
    } catch (error) {
      await onAborted?.();
      throw error;
    }
  }

  /** Creates the error of a JSON response whose content is unexpected, or of another kind of fault. */
  badResponseError(reason: string, fault: PolicyFault = "bad_answer"): PolicyError {
    return this.#error({ fault, reason }, 1);
  }

  /** Returns the error of an attempt, and when the next attempt follows. */
  #failedAttempt(failed: Failed, attempt: number): Attempt<never> {
    const error = this.#error(failed, attempt);
    if (!isAway(failed, { retriesBusy: this.#retriesBusy })) {
      this.#outage.end();
      if (isRefusedForGood(failed)) this.#onUnusable(error);
      return { error, delayMs: this.#delayMs(failed, attempt) };
    }
    const { reason } = failed;
    const wait = this.#outage.wait({ reason, attempt, backoffMs: this.#backoffMs });
    if (wait !== undefined) return { error, ...wait };
    if (!this.#outage.isOver) return { error, delayMs: this.#delayMs(failed, attempt) };
    this.#onUnusable(error);
    return { error, delayMs: null };
  }

  #delayMs({ fault, retryAfterMs }: Failed, attempt: number): number | null {
    const passes = fault === "unreachable" || (fault === "unavailable" && this.#retriesBusy);
    const ends = !passes || attempt >= this.#attempts;
    if (fault !== "unreachable") this.#reachable = true;
    else if (!this.#reachable) return null;
    else if (ends) this.#reachable = false;
    if (ends) return null;
    return retryDelayMs({ attempt, backoffMs: this.#backoffMs, retryAfterMs, jitter: Math.random() });
  }

  #error({ fault, reason, cause, answer, retryAfterMs }: Failed, attempts: number): PolicyError {
    const { origin, pathname } = this.#url;
    const notes = [
      ...attempts > 1 ? [`${attempts} attempts`] : [],
      ...this.#route === undefined ? [] : [this.#route],
    ];
    const suffix = notes.length === 0 ? "" : ` (${notes.join(", ")})`;
    const message = `Cannot get reply as ${origin}${pathname} ${reason}${suffix}`;
    const redacted = this.#apiKey ? message.replaceAll(this.#apiKey, "[key]") : message;
    return new PolicyError(redacted, { cause, fault, status: answer?.status, retryAfterMs });
  }
}

/** Returns the failure that a response with the status 200 describes: some send an error in place of a reply. */
function errorInResponse(response: unknown): Exclude<PostedJson, { response: unknown }> | undefined {
  if (!isServerError(response)) return undefined;
  const code = Number(serverErrorOf(response).code);
  const status = Number.isInteger(code) && code >= 400 && code <= 599 ? code : 200;
  const reason = `answered 200 with an error${explanation(response)}`;
  const fault = status === 200 ? "bad_answer" : isRetryable(status) ? "unavailable" : "refused";
  return { fault, reason, answer: { status, body: response } };
}

/** Statuses of a gateway whose server is away. */
const AWAY_STATUSES: readonly unknown[] = [502, 503, 504];

/** True if the request did not reach the server, which may be back later. */
function isAway({ fault, answer }: Failed, { retriesBusy }: { retriesBusy: boolean }): boolean {
  return fault === "unreachable" ||
    (retriesBusy && fault === "unavailable" && AWAY_STATUSES.includes(answer?.status));
}

/** True if the server will refuse every other request as well: the key, the address or the name of the model is wrong. */
function isRefusedForGood({ fault, answer }: Failed): boolean {
  if (fault !== "refused" || answer === undefined) return false;
  return answer.status === 401 || answer.status === 404 ||
    serverErrorOf(answer.body).code === "model_not_found";
}
