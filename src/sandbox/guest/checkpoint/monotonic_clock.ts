/** A clock that continues the clock of another process, so that a program never sees it go back. */
export class MonotonicClock {
  readonly #now: () => number;
  #aheadMs = 0;

  /** @param now Returns the time of this process, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds since some point in time. */
  now(): number {
    return this.#now() + this.#aheadMs;
  }

  /** Advances the clock, if it is not as far yet. */
  advanceTo(ms: number): void {
    this.#aheadMs += Math.max(0, ms - this.now());
  }
}
