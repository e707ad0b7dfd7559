/** The sessions of a process that were told to close and have not said yet that they did. */
export class Closings {
  readonly #open = new Map<number, { timer: ReturnType<typeof setTimeout>; settled: () => void }>();
  readonly #over = new Set<Promise<void>>();

  /** Resolves when every session that was told to close is gone. */
  get settled(): Promise<unknown> {
    return Promise.all(this.#over);
  }

  /** Waits for a session's word; when it has not come after `graceMs`, `onStuck` is called. */
  add(session: number, options: { graceMs: number; onStuck: () => void }): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(options.onStuck, options.graceMs);
    this.#open.set(session, { timer, settled: resolve });
    this.#over.add(promise);
    promise.then(() => this.#over.delete(promise));
  }

  /** Whether a session was told to close and may still be ending what it did. */
  has(session: number): boolean {
    return this.#open.has(session);
  }

  /** Takes a session's word that it has closed; false when nobody told it to. */
  take(session: number): boolean {
    const closing = this.#open.get(session);
    if (!closing) return false;
    clearTimeout(closing.timer);
    this.#open.delete(session);
    closing.settled();
    return true;
  }

  /** The process is gone, and every session with it. */
  takeAll(): void {
    for (const session of [...this.#open.keys()]) this.take(session);
  }
}
