/** A sample that requests wait for. It is cancelled when no request waits any more. */
export class SharedSample<T> {
  readonly #abort = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(sample: (signal: AbortSignal) => Promise<T>) {
    this.#result = sample(this.#abort.signal);
    this.#result.catch(() => {}); // each request that waits gets the error
  }

  /** True if no request waits any more, so that the sample is cancelled. */
  get isCancelled(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Waits for the sample. Rejects with the signal's reason, or with the error of the sample. */
  async wait(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const left = Promise.withResolvers<never>();
    const onAbort = () => left.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#waiting++;
    try {
      return await Promise.race([this.#result, left.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#waiting--;
      if (this.#waiting === 0) this.#abort.abort(new DOMException("No request waits", "AbortError"));
    }
  }
}
