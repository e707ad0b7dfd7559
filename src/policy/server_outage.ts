import { retryDelayMs } from "../http/retry.ts";

/** Longest delay between two attempts while a server is away, so that the server's return is noticed soon. */
const MAX_DELAY_MS = 10_000;

/** Options for a server that is away after an answer. */
export interface OutageOptions {
  /**
   * Milliseconds that requests wait for a server that has answered before and cannot be reached any more, for example
   * while it restarts. They are counted from the server's last answer, for all requests together.
   *
   * @default 0
   */
  waitMs?: number | undefined;
  /** Called when requests begin to wait. */
  onAway?: ((outage: { reason: string; waitMs: number }) => void) | undefined;
  /** Called when the server answers again. */
  onBack?: ((outage: { awayMs: number }) => void) | undefined;
  /** Returns the time in milliseconds. @default performance.now */
  nowMs?: (() => number) | undefined;
}

/** The times at which a server was away. All requests of a client share an outage. */
export class ServerOutage {
  readonly #options: OutageOptions;
  readonly #waitMs: number;
  readonly #nowMs: () => number;
  #hasAnswered = false;
  #outage: { readonly startMs: number; readonly back: AbortController } | undefined;

  constructor(options: OutageOptions = {}) {
    const { waitMs = 0, nowMs = () => performance.now() } = options;
    this.#options = options;
    this.#waitMs = waitMs;
    this.#nowMs = nowMs;
  }

  /** True if the server has been away for longer than requests wait. */
  get isOver(): boolean {
    return this.#outage !== undefined && this.#nowMs() - this.#outage.startMs >= this.#waitMs;
  }

  /** Records an answer. Requests that wait are sent at once. */
  end(): void {
    this.#hasAnswered = true;
    const outage = this.#outage;
    if (outage === undefined) return;
    this.#outage = undefined;
    outage.back.abort();
    this.#options.onBack?.({ awayMs: this.#nowMs() - outage.startMs });
  }

  /**
   * Records a request that did not reach the server. Returns the milliseconds until the next attempt, and the signal of
   * the server's return; `undefined` if requests do not wait, or have waited long enough.
   */
  wait(
    { reason, attempt, backoffMs }: { reason: string; attempt: number; backoffMs: number },
  ): { delayMs: number; wake: AbortSignal } | undefined {
    if (!this.#hasAnswered || this.#waitMs <= 0) return undefined;
    if (this.#outage === undefined) {
      this.#outage = { startMs: this.#nowMs(), back: new AbortController() };
      this.#options.onAway?.({ reason, waitMs: this.#waitMs });
    }
    const leftMs = this.#outage.startMs + this.#waitMs - this.#nowMs();
    if (leftMs <= 0) return undefined;
    const delayMs = retryDelayMs({ attempt: Math.min(attempt, 20), backoffMs, jitter: Math.random() }) ?? 0;
    // the last attempt is at the end of the wait
    return { delayMs: Math.min(delayMs, leftMs, MAX_DELAY_MS), wake: this.#outage.back.signal };
  }
}
