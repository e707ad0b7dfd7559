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
 * before another waits for its first, so that none starves, and no two hold what the other one waits for: of two
 * pools all take first from the one that was seen first.
 */
export class SessionPair {
  /** When whoever is last in the line has a pair: all who take pairs of a pool stand in one line. */
  static readonly #turns = new WeakMap<SessionPool, Promise<unknown>>();
  /** The pools by the order in which they were seen. */
  static readonly #ranks = new WeakMap<SessionPool, number>();
  static #seen = 0;
  readonly #pool: SessionPool;
  readonly #callerPool: SessionPool | undefined;

  /** Without a pool of their own, callers take sessions of the one pool, in interpreters that nobody had. */
  constructor(pool: SessionPool, callerPool: SessionPool | undefined) {
    this.#pool = pool;
    this.#callerPool = callerPool;
  }

  static #rank(pool: SessionPool): number {
    const rank = SessionPair.#ranks.get(pool) ?? SessionPair.#seen++;
    SessionPair.#ranks.set(pool, rank);
    return rank;
  }

  /** Takes both, to be given back by `leases`. */
  async acquire(
    leases: AsyncDisposableStack,
    { seed, signal }: PairOptions,
  ): Promise<{ forCallee: SessionLease; forCaller: SessionLease }> {
    const callers = this.#callerPool ?? this.#pool;
    const callersFirst = SessionPair.#rank(this.#pool) > SessionPair.#rank(callers);
    const first = callersFirst ? callers : this.#pool;
    const before = SessionPair.#turns.get(first) ?? Promise.resolve();
    const done = Promise.withResolvers<void>();
    SessionPair.#turns.set(first, before.then(() => done.promise));
    const callerSeed = seedOf(2, seed);
    const takeCaller = async () => leases.use(await callers.acquire({ seed: callerSeed, signal }));
    try {
      await unlessAborted(before, signal);
      const early = callersFirst ? await takeCaller() : undefined;
      const forCallee = leases.use(await this.#pool.acquire({ seed: seedOf(1, seed), signal }));
      const forCaller = early ?? await takeCaller();
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
