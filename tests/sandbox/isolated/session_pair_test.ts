import { assert, assertEquals, assertRejects } from "@std/assert";
import { SerialQueue } from "../../../src/async/semaphore.ts";
import { SessionPair } from "../../../src/sandbox/isolated/session_pair.ts";
import type { SessionLease, SessionPool } from "../../../src/sandbox/exec.ts";
import { FakePool } from "../../fake_pool.ts";

/** A pool of which whoever comes when all are taken waits until one is given back. */
class NarrowPool implements SessionPool {
  readonly pairQueue = new SerialQueue();
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

Deno.test("SessionPair.acquire() never has two pairs wait for what the other one holds", async () => {
  const pool = new NarrowPool(2);
  let taken = 0;
  const take = async () => {
    await using leases = new AsyncDisposableStack();
    await new SessionPair(pool, undefined).acquire(leases, {});
    taken++;
  };
  const all = Promise.all([take(), take(), take()]).then(() => "all");
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve("they wait for each other"), 5_000);
  assertEquals(await Promise.race([all, late.promise]), "all");
  clearTimeout(timer);
  assertEquals(taken, 3);
});

Deno.test("SessionPair.acquire() never has pairs wait for each other that name two pools in opposite order", async () => {
  const [one, other] = [new NarrowPool(1), new NarrowPool(1)];
  let taken = 0;
  const take = async (pair: SessionPair) => {
    await using leases = new AsyncDisposableStack();
    const { forCallee, forCaller } = await pair.acquire(leases, {});
    assert(forCallee !== forCaller);
    taken++;
  };
  const pairs = [new SessionPair(one, other), new SessionPair(other, one)];
  await Promise.all([...pairs, ...pairs].map(take));
  assertEquals(taken, 4);
});

Deno.test("SessionPair.acquire() stops waiting for its turn when it is told to", async () => {
  const pool: SessionPool = {
    pairQueue: new SerialQueue(),
    acquire: () => new Promise<never>(() => {}),
  };
  await using leases = new AsyncDisposableStack();
  new SessionPair(pool, undefined).acquire(leases, {}).catch(() => assert(false));
  const stop = new AbortController();
  const second = new SessionPair(pool, undefined).acquire(leases, { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assertRejects(() => second, Error, "enough");
});
