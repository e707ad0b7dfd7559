import { assert, assertEquals, assertRejects } from "@std/assert";
import { SessionPair } from "../../../src/sandbox/isolated/session_pair.ts";
import type { SessionLease, SessionPool } from "../../../src/sandbox/contract/pool.ts";
import { FakePool } from "../../fake_pool.ts";

/** A pool of fixed size. `acquire()` waits while all sessions are leased. */
class BoundedPool implements SessionPool {
  readonly #fake = new FakePool();
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(size: number) {
    this.#free = size;
  }

  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    while (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#free--;
    const { session } = await this.#fake.acquire(options);
    await new Promise((resolve) => setTimeout(resolve));
    return {
      session,
      [Symbol.asyncDispose]: () => {
        this.#free++;
        this.#waiting.shift()?.();
        return Promise.resolve();
      },
    };
  }
}

Deno.test("SessionPair.acquire() does not deadlock when pairs compete for the sessions of one pool", async () => {
  const pool = new BoundedPool(2);
  let acquired = 0;
  const acquirePair = async () => {
    await using leases = new AsyncDisposableStack();
    await new SessionPair(pool, undefined).acquire(leases, {});
    acquired++;
  };
  const all = Promise.all([acquirePair(), acquirePair(), acquirePair()]).then(() => "all");
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve("deadlock"), 5_000);
  assertEquals(await Promise.race([all, late.promise]), "all");
  clearTimeout(timer);
  assertEquals(acquired, 3);
});

Deno.test("SessionPair.acquire() does not deadlock when pairs use two pools in opposite order", async () => {
  const [one, other] = [new BoundedPool(1), new BoundedPool(1)];
  let acquired = 0;
  const acquirePair = async (pair: SessionPair) => {
    await using leases = new AsyncDisposableStack();
    const { forCallee, forCaller } = await pair.acquire(leases, {});
    assert(forCallee !== forCaller);
    acquired++;
  };
  const pairs = [new SessionPair(one, other), new SessionPair(other, one)];
  await Promise.all([...pairs, ...pairs].map(acquirePair));
  assertEquals(acquired, 4);
});

Deno.test("SessionPair.acquire() stops waiting for its turn when its signal is aborted", async () => {
  const pool: SessionPool = {
    acquire: () => new Promise<never>(() => {}),
  };
  await using leases = new AsyncDisposableStack();
  new SessionPair(pool, undefined).acquire(leases, {}).catch(() => assert(false));
  const stop = new AbortController();
  const second = new SessionPair(pool, undefined).acquire(leases, { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assertRejects(() => second, Error, "enough");
});
