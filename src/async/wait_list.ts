/** A caller that waits in a {@linkcode WaitList}. */
export class Waiter<Value, Request = undefined> {
  readonly request: Request;
  /** Settles when the wait ends. */
  readonly promise: Promise<Value>;
  /** Ends the wait with a value. */
  readonly resolve: (value: Value) => void;
  /** Ends the wait with an error. */
  readonly reject: (error: unknown) => void;
  /** The list that has the caller. */
  list: Set<Waiter<Value, Request>> | undefined;
  hasEnded = false;

  constructor(request: Request, signal: AbortSignal | undefined) {
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const end = () => {
      this.hasEnded = true;
      this.list?.delete(this);
      signal?.removeEventListener("abort", onAbort);
    };
    this.request = request;
    this.promise = promise;
    this.resolve = (value) => {
      end();
      resolve(value);
    };
    this.reject = (error) => {
      end();
      reject(error);
    };
    const onAbort = () => this.reject(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
  }
}

/**
 * Callers that wait, first come, first served. A caller leaves the list when the wait ends, or when the caller's signal
 * aborts: the wait then rejects with the signal's reason.
 */
export class WaitList<Value, Request = undefined> implements Iterable<Waiter<Value, Request>> {
  readonly #waiters = new Set<Waiter<Value, Request>>();

  /** Number of callers in the list. */
  get size(): number {
    return this.#waiters.size;
  }

  /** The caller that has waited longest. */
  get first(): Waiter<Value, Request> | undefined {
    const [first] = this.#waiters;
    return first;
  }

  /** The callers in their order. */
  [Symbol.iterator](): Iterator<Waiter<Value, Request>> {
    return this.#waiters.values();
  }

  /**
   * Adds a caller at the end.
   *
   * @throws the reason of `signal`, if already aborted.
   */
  add(request: Request, signal?: AbortSignal): Waiter<Value, Request> {
    signal?.throwIfAborted();
    const waiter = new Waiter<Value, Request>(request, signal);
    this.#insert(waiter);
    return waiter;
  }

  /** Takes a number of callers out of the list, the first ones. Their waits go on. */
  take(count: number): Waiter<Value, Request>[] {
    const taken = this.#waiters.values().take(count).toArray();
    for (const waiter of taken) {
      this.#waiters.delete(waiter);
      waiter.list = undefined;
    }
    return taken;
  }

  /** Puts callers that were taken out before all others, except those whose waits have ended. */
  putBack(waiters: readonly Waiter<Value, Request>[]): void {
    const later = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) if (!waiter.hasEnded) this.#insert(waiter);
    for (const waiter of later) this.#insert(waiter);
  }

  /** Ends the waits of all callers in the list with an error. */
  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiters) reject(error);
  }

  #insert(waiter: Waiter<Value, Request>): void {
    waiter.list = this.#waiters;
    this.#waiters.add(waiter);
  }
}
