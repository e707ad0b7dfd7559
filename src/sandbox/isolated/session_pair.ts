import { SerialQueue } from "../../async/semaphore.ts";
import { deriveSeed } from "../../seeded_random.ts";
import type { SessionLease, SessionPool } from "../exec.ts";

/** Options of {@linkcode SessionPair.acquire}. */
export interface SessionPairOptions {
  /** Makes the randomness of both sessions reproducible; neither can be derived from the other. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Leases two sessions at once, for a program that calls and one that is called.
 *
 * Pairs cannot deadlock: a caller gets both sessions before the next one in the pool's queue gets its first, and of
 * two pools all callers take first from the one with the smaller queue id.
 */
export class SessionPair {
  readonly #pool: SessionPool;
  readonly #callerPool: SessionPool | undefined;
  readonly #queue: SerialQueue;
  readonly #callerQueue: SerialQueue;

  /** Without a `callerPool`, callers use sessions of `pool` that are reset to a fresh interpreter. */
  constructor(pool: SessionPool, callerPool: SessionPool | undefined) {
    this.#pool = pool;
    this.#callerPool = callerPool;
    this.#queue = pool.pairQueue ?? new SerialQueue();
    this.#callerQueue = callerPool === undefined ? this.#queue : callerPool.pairQueue ?? new SerialQueue();
  }

  /** Leases both; `leases` releases them. */
  async acquire(
    leases: AsyncDisposableStack,
    { seed, signal }: SessionPairOptions,
  ): Promise<{ forCallee: SessionLease; forCaller: SessionLease }> {
    const isCallerFirst = this.#callerQueue.id < this.#queue.id;
    const callers = this.#callerPool ?? this.#pool;
    const callerSeed = seedOf(2, seed);
    const takeCaller = async () => leases.use(await callers.acquire({ seed: callerSeed, signal }));
    return await (isCallerFirst ? this.#callerQueue : this.#queue).run(async () => {
      const early = isCallerFirst ? await takeCaller() : undefined;
      const forCallee = leases.use(await this.#pool.acquire({ seed: seedOf(1, seed), signal }));
      const forCaller = early ?? await takeCaller();
      if (this.#callerPool === undefined) await isolate(forCaller, leases, { seed: callerSeed, signal });
      return { forCallee, forCaller };
    }, { signal });
  }
}

/** In a pool that rewinds, model code may have had this interpreter before, and may have it afterwards. */
async function isolate({ session }: SessionLease, leases: AsyncDisposableStack, options: SessionPairOptions) {
  await session.reset({ mode: "fresh", ...options });
  leases.defer(() => session.reset({ mode: "fresh" }));
}

function seedOf(part: number, seed: number | undefined): number | undefined {
  return seed === undefined ? undefined : deriveSeed(seed, part);
}
