import { MAX_TIMER_MS } from "../../async/abort.ts";
import type { Clock } from "../../async/clock.ts";

/** Calls back at the time at which a session ends, used or not. */
export class EndTimer implements Disposable {
  readonly #onEnd: () => void;
  readonly #clock: Clock;
  #endsAt: Date | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onEnd: () => void, clock: Clock) {
    this.#onEnd = onEnd;
    this.#clock = clock;
  }

  /** Time of the end, by the clock of the host, if there is one. */
  get endsAt(): Date | undefined {
    return this.#endsAt;
  }

  /** Sets the time of the end. A time that is over calls back soon. */
  set(endsAt: Date): void {
    clearTimeout(this.#timer);
    this.#endsAt = endsAt;
    const leftMs = Math.max(0, endsAt.getTime() - this.#clock.now());
    this.#timer = setTimeout(this.#onEnd, Math.min(leftMs, MAX_TIMER_MS));
  }

  /** Removes the time of the end. */
  clear(): void {
    this[Symbol.dispose]();
    this.#endsAt = undefined;
  }

  /** Stops the timer. The time of the end stays. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
