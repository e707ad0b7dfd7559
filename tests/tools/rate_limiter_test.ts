import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { RateLimiter } from "../../src/tools/rate_limiter.ts";

Deno.test("RateLimiter.acquire() limits how many calls run at once and keeps their order", async () => {
  const limiter = new RateLimiter({ maxConcurrent: 1 });
  const order: string[] = [];
  const first = await limiter.acquire();
  const waiting = ["a", "b"].map(async (name) => {
    using _turn = await limiter.acquire();
    order.push(name);
  });
  await Promise.resolve();
  assertEquals(order, []);
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  await Promise.all(waiting);
  assertEquals(order, ["a", "b"]);
});

Deno.test("RateLimiter.acquire() keeps the rate after a burst", async () => {
  const burst = new RateLimiter({ ratePerSecond: 0.001, burst: 3, maxWaitMs: 1 });
  const turns: unknown[] = [];
  for (let n = 0; n < 4; n++) turns.push(await burst.acquire() === null);
  assertEquals(turns, [false, false, false, true]);
  const steady = new RateLimiter({ ratePerSecond: 100 });
  let isTimerOver = false;
  setTimeout(() => isTimerOver = true, 20);
  for (let n = 0; n < 4; n++) await steady.acquire(); // three turns of 10 ms each
  assert(isTimerOver);
});

Deno.test("RateLimiter.acquire() returns null after maxWaitMs and rejects when it is aborted", async () => {
  const limiter = new RateLimiter({ maxConcurrent: 1, maxWaitMs: 5 });
  using _turn = await limiter.acquire();
  assertEquals(await limiter.acquire(), null);
  const patient = new RateLimiter({ maxConcurrent: 1 });
  using held = await patient.acquire();
  const stop = new AbortController();
  const waiting = patient.acquire({ signal: stop.signal });
  stop.abort(new RangeError("enough"));
  await assertRejects(() => waiting, RangeError, "enough");
  held?.[Symbol.dispose]();
  using next = await patient.acquire();
  assert(next !== null);
});

Deno.test("RateLimiter refuses limits that are not positive", () => {
  for (const options of [{ maxConcurrent: 0 }, { maxConcurrent: 1.5 }, { burst: 0 }, { maxWaitMs: -1 }]) {
    assertThrows(() => new RateLimiter(options), RangeError, "must be a positive number: current value is");
  }
  assertThrows(() => new RateLimiter({ ratePerSecond: NaN }), RangeError, "current value is NaN");
});
