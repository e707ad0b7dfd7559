import { derivedSeed } from "../../seeded_random.ts";
import type { SessionLease, SessionPool } from "../exec.ts";
import { unlessAborted } from "../unless_aborted.ts";

/** What {@linkcode SessionPair.acquire} may be given. */
export interface PairOptions {
  /** Makes the chance of both reproducible, and neither's tells the other's. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Two sessions at a time, for a program that calls and one that is called: whoever takes a pair waits for both
 * before another waits for its first, so that none starves, and no two hold what the other one waits for.
 */
export class SessionPair {
  /** When whoever is last in the line has a pair: all who take pairs of a pool stand in one line. */
  static readonly #turns = new WeakMap<SessionPool, Promise<unknown>>();
  readonly #pool: SessionPool;
  readonly #callerPool: SessionPool | undefined;

  /** Without a pool of their own, callers take sessions of the one pool, in interpreters that nobody had. */
  constructor(pool: SessionPool, callerPool: SessionPool | undefined) {
    this.#pool = pool;
    this.#callerPool = callerPool;
  }

  /** Takes both, to be given back by `leases`. */
  async acquire(
    leases: AsyncDisposableStack,
    { seed, signal }: PairOptions,
  ): Promise<{ forCallee: SessionLease; forCaller: SessionLease }> {
    const before = SessionPair.#turns.get(this.#pool) ?? Promise.resolve();
    const done = Promise.withResolvers<void>();
    SessionPair.#turns.set(this.#pool, before.then(() => done.promise));
    try {
      await unlessAborted(before, signal);
      const forCallee = leases.use(await this.#pool.acquire({ seed: seedOf(1, seed), signal }));
      const callers = this.#callerPool ?? this.#pool;
      const callerSeed = seedOf(2, seed);
      const forCaller = leases.use(await callers.acquire({ seed: callerSeed, signal }));
      if (this.#callerPool === undefined) await isolate(forCaller, leases, { seed: callerSeed, signal });
      return { forCallee, forCaller };
    } finally {
      done.resolve();
    }
  }
}

/** In a pool that rewinds, model code may have had this interpreter before, and may have it afterwards. */
async function isolate({ session }: SessionLease, leases: AsyncDisposableStack, options: PairOptions) {
  await session.reset({ mode: "fresh", ...options });
  leases.defer(() => session.reset({ mode: "fresh" }));
}

function seedOf(part: number, seed: number | undefined): number | undefined {
  return seed === undefined ? undefined : derivedSeed(seed, part);
}
