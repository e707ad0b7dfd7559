import type { SessionLease, SessionPool } from "../../sandbox/exec.ts";

/** Two sessions at a time: one grade waits for both before another waits for its first, so that none starves. */
export class SessionPair {
  readonly #pool: SessionPool;
  readonly #testPool: SessionPool | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(pool: SessionPool, testPool: SessionPool | undefined) {
    this.#pool = pool;
    this.#testPool = testPool;
  }

  /** Takes both, to be given back by `leases`. */
  async acquire(
    leases: AsyncDisposableStack,
    signal: AbortSignal | undefined,
  ): Promise<{ forCandidate: SessionLease; forTests: SessionLease }> {
    const before = this.#turn;
    const done = Promise.withResolvers<void>();
    this.#turn = before.then(() => done.promise);
    try {
      await before;
      const forCandidate = leases.use(await this.#pool.acquire({ signal }));
      const forTests = leases.use(await (this.#testPool ?? this.#pool).acquire({ signal }));
      if (this.#testPool === undefined) await this.#isolate(forTests, leases, signal);
      return { forCandidate, forTests };
    } finally {
      done.resolve();
    }
  }

  /** In a pool that rewinds, model code may have had this interpreter before, and may have it afterwards. */
  async #isolate(
    { session }: SessionLease,
    leases: AsyncDisposableStack,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await session.reset({ mode: "fresh", signal });
    leases.defer(() => session.reset({ mode: "fresh" }));
  }
}
