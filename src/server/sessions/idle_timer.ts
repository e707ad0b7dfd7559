/** Calls back after a period without use. */
export class IdleTimer implements Disposable {
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #usedAt = new Date();
  #users = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** With `idleMs` of `Infinity` it never calls back. */
  constructor(idleMs: number, onIdle: () => void) {
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
    this.#startTimer();
  }

  /** End of the last use. */
  get usedAt(): Date {
    return this.#usedAt;
  }

  /** Number of current uses. */
  get users(): number {
    return this.#users;
  }

  /** Begins a use, which ends when the returned object is disposed. */
  use(): Disposable {
    clearTimeout(this.#timer);
    this.#users++;
    return {
      [Symbol.dispose]: () => {
        this.#users--;
        this.#usedAt = new Date();
        if (this.#users === 0) this.#startTimer();
      },
    };
  }

  /** Stops the timer for good. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #startTimer(): void {
    if (this.#isClosed || this.#idleMs === Infinity) return;
    this.#timer = setTimeout(this.#onIdle, this.#idleMs);
  }
}
