/** Holds back requests to a model server while its weights are replaced. */
export class PauseGate {
  #running = 0;
  #idle = Promise.withResolvers<void>();
  #open: PromiseWithResolvers<void> | undefined;

  /** True between {@linkcode pause} and {@linkcode resume}. */
  get isPaused(): boolean {
    return this.#open !== undefined;
  }

  /** Waits until the gate is open, and counts a request until the result is disposed. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    while (this.#open !== undefined) await untilAborted(this.#open.promise, signal);
    signal.throwIfAborted();
    this.#running++;
    return {
      [Symbol.dispose]: () => {
        this.#running--;
        if (this.#running === 0) this.#idle.resolve();
      },
    };
  }

  /** Closes the gate, and resolves when no request runs any more. */
  async pause(signal: AbortSignal): Promise<void> {
    this.#open ??= Promise.withResolvers<void>();
    while (this.#running > 0) {
      this.#idle = Promise.withResolvers();
      await untilAborted(this.#idle.promise, signal);
    }
  }

  /** Opens the gate. */
  resume(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }
}

async function untilAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([done, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
