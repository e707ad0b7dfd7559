import { SerialQueue } from "../../async/semaphore.ts";
import { deriveSeed } from "../../seeded_random.ts";
import type { SessionLease, SessionPool } from "../contract/pool.ts";

/** Options of {@linkcode SessionPair.acquire}. */
export interface SessionPairOptions {
  /** Makes the randomness of both sessions reproducible. Neither sequence can be derived from the other. */
  readonly seed?: number | undefined;
  /** See {@linkcode AcquireOptions.owner}. */
  readonly owner?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_OUTPUT_BYTES = 1024 * 1024;

/**
 * Queues of the callers that lease two sessions of a pool at once. Without them, two graders that share a pool can
 * each hold one session and wait for the other one forever.
 */
const queues = new WeakMap<SessionPool, SerialQueue>();

function queueOf(pool: SessionPool): SerialQueue {
  return queues.getOrInsertComputed(pool, () => new SerialQueue());
}

/**
 * Leases two sessions at once: one for a program that calls, one for the program that is called.
 *
 * Pairs cannot deadlock: each request gets both sessions before the next request in the queue of the pool gets its
 * first. If there are two pools, every request takes its first session from the one with the smaller queue ID.
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
    this.#queue = queueOf(pool);
    this.#callerQueue = queueOf(callerPool ?? pool);
  }

  /**
   * Maximum output of a program that is called, in bytes: the limit of the default profile, if its pool does not know
   * the limit.
   */
  get outputBytes(): number {
    return this.#pool.limits?.outputBytes ?? DEFAULT_OUTPUT_BYTES;
  }

  /** Factors of the limits of time of both pools. */
  get timeScales(): { readonly callee: number; readonly caller: number } {
    const callers = this.#callerPool ?? this.#pool;
    return { callee: this.#pool.timeScale ?? 1, caller: callers.timeScale ?? 1 };
  }

  /** Leases a session for a program that runs alone. The disposal of `leases` releases it. */
  async acquireCallee(
    leases: AsyncDisposableStack,
    { seed, owner, signal }: SessionPairOptions,
  ): Promise<SessionLease> {
    return leases.use(await this.#pool.acquire({ seed: seedOf(1, seed), owner, signal }));
  }

  /** Leases both sessions. The disposal of `leases` releases them. */
  async acquire(
    leases: AsyncDisposableStack,
    { seed, owner, signal }: SessionPairOptions,
  ): Promise<{ forCallee: SessionLease; forCaller: SessionLease }> {
    const isCallerFirst = this.#callerQueue.id < this.#queue.id;
    const callers = this.#callerPool ?? this.#pool;
    const callerSeed = seedOf(2, seed);
    const acquireCaller = async () => leases.use(await callers.acquire({ seed: callerSeed, owner, signal }));
    return await (isCallerFirst ? this.#callerQueue : this.#queue).run(async () => {
      const early = isCallerFirst ? await acquireCaller() : undefined;
      const forCallee = leases.use(await this.#pool.acquire({ seed: seedOf(1, seed), owner, signal }));
      const forCaller = early ?? await acquireCaller();
      if (this.#callerPool === undefined) {
        await useFreshInterpreter(forCaller, leases, { seed: callerSeed, signal });
      }
      return { forCallee, forCaller };
    }, { signal });
  }
}

/** Replaces the interpreter before and after use: in a pool that rewinds, model code may use the same one. */
async function useFreshInterpreter(
  { session }: SessionLease,
  leases: AsyncDisposableStack,
  options: SessionPairOptions,
) {
  await session.reset({ mode: "fresh", ...options });
  leases.defer(() => session.reset({ mode: "fresh" }));
}

function seedOf(part: number, seed: number | undefined): number | undefined {
  return seed === undefined ? undefined : deriveSeed(seed, part);
}
