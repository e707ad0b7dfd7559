import { MAX_TIMER_MS } from "../../async/abort.ts";
import { type Clock, HOST_CLOCK } from "../../async/clock.ts";

/** Options of {@linkcode IdleTimer}. */
export interface IdleTimerOptions {
  /**
   * End of the last use, if that was before now.
   *
   * @default now
   */
  readonly usedAt?: Date | undefined;
  /**
   * The clocks, by which the period without use is measured.
   *
   * @default the host's
   */
  readonly clock?: Clock | undefined;
}

/** Calls back after a period without use. */
export class IdleTimer implements Disposable {
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  readonly #clock: Clock;
  #usedAt: Date;
  #idleSince: number;
  #users = 0;
  #uses = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** With `idleMs` of `Infinity` the timer never calls back. */
  constructor(idleMs: number, onIdle: () => void, options: IdleTimerOptions = {}) {
    const { clock = HOST_CLOCK, usedAt = new Date(clock.now()) } = options;
    this.#idleMs = idleMs;
    this.#clock = clock;
    this.#usedAt = usedAt;
    this.#idleSince = clock.monotonic() - Math.max(0, clock.now() - usedAt.getTime());
    this.#onIdle = onIdle;
    this.#startTimer(this.#idleMs);
  }

  /** End of the last use, by the clock of the host. For display only: that clock may jump. */
  get usedAt(): Date {
    return this.#usedAt;
  }

  /** Milliseconds since the end of the last use. */
  get unusedMs(): number {
    return this.#clock.monotonic() - this.#idleSince;
  }

  /** Number of current uses. */
  get users(): number {
    return this.#users;
  }

  /** Number of all uses, which tells whether there was one meanwhile. */
  get uses(): number {
    return this.#uses;
  }

  /** Begins a use, which ends when the returned object is disposed. */
  use(): Disposable {
    clearTimeout(this.#timer);
    this.#users++;
    this.#uses++;
    return {
      [Symbol.dispose]: () => {
        this.#users--;
        this.#usedAt = new Date(this.#clock.now());
        this.#idleSince = this.#clock.monotonic();
        if (this.#users === 0) this.#startTimer(this.#idleMs);
      },
    };
  }

  /** Calls back once more after so many milliseconds, unless it is used before. */
  callAgain(ms: number): void {
    clearTimeout(this.#timer);
    this.#startTimer(ms);
  }

  /** Stops the timer for good. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #startTimer(ms: number): void {
    if (this.#isClosed || ms === Infinity) return;
    this.#timer = setTimeout(this.#onIdle, Math.min(ms, MAX_TIMER_MS));
  }
}
