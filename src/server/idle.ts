/** Ends what nobody uses: calls back when its time without any use is over. */
export class Idle implements Disposable {
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #usedAt = new Date();
  #users = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  /** It never calls back when `idleMs` is `Infinity`. */
  constructor(idleMs: number, onIdle: () => void) {
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
    this.#rest();
  }

  /** When the last use ended. */
  get usedAt(): Date {
    return this.#usedAt;
  }

  /** How many use it now. */
  get users(): number {
    return this.#users;
  }

  /** Begins a use, which ends when what comes back is disposed. */
  use(): Disposable {
    clearTimeout(this.#timer);
    this.#users++;
    return {
      [Symbol.dispose]: () => {
        this.#users--;
        this.#usedAt = new Date();
        if (this.#users === 0) this.#rest();
      },
    };
  }

  /** Calls back no more. */
  [Symbol.dispose](): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  #rest(): void {
    if (this.#over || this.#idleMs === Infinity) return;
    this.#timer = setTimeout(this.#onIdle, this.#idleMs);
  }
}
