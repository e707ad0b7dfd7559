import { assert, assertEquals, assertRejects } from "@std/assert";
import { SessionPair } from "../../../src/sandbox/apart/session_pair.ts";
import type { SessionLease, SessionPool } from "../../../src/sandbox/exec.ts";
import { FakePool } from "../../fake_pool.ts";

/** A pool of two, whose third asker waits until one is given back. */
class PoolOfTwo implements SessionPool {
  readonly #fake = new FakePool();
  readonly #waiting: (() => void)[] = [];
  #free = 2;

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
  const pool = new PoolOfTwo();
  let taken = 0;
  const take = async () => {
    await using leases = new AsyncDisposableStack();
    await new SessionPair(pool, undefined).acquire(leases, {});
    taken++;
  };
  const all = Promise.all([take(), take(), take()]).then(() => "all");
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve("they wait for each other"), 30_000);
  assertEquals(await Promise.race([all, late.promise]), "all");
  clearTimeout(timer);
  assertEquals(taken, 3);
});

Deno.test("SessionPair.acquire() stops waiting for its turn when it is told to", async () => {
  const pool: SessionPool = { acquire: () => new Promise<never>(() => {}) };
  await using leases = new AsyncDisposableStack();
  new SessionPair(pool, undefined).acquire(leases, {}).catch(() => assert(false));
  const stop = new AbortController();
  const second = new SessionPair(pool, undefined).acquire(leases, { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assertRejects(() => second, Error, "enough");
});
