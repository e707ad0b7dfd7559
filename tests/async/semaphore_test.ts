import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Semaphore, SerialQueue } from "../../src/async/semaphore.ts";

Deno.test("Semaphore.acquire() waits when every slot is held, first come, first served", async () => {
  const semaphore = new Semaphore(1);
  const first = await semaphore.acquire();
  const order: string[] = [];
  const waiting = ["a", "b"].map(async (name) => {
    using _slot = await semaphore.acquire();
    order.push(name);
  });
  await Promise.resolve();
  assertEquals(order, []);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await Promise.all(waiting);
  assertEquals(order, ["a", "b"]);
});

Deno.test("Semaphore.acquire() leaves the queue when it is aborted, and loses no slot", async () => {
  const semaphore = new Semaphore(1);
  const first = await semaphore.acquire();
  const abort = new AbortController();
  const waiting = semaphore.acquire(abort.signal);
  const behind = semaphore.acquire();
  abort.abort(new TypeError("stop"));
  await assertRejects(() => waiting, TypeError, "stop");
  first[Symbol.dispose]();
  (await behind)[Symbol.dispose]();
  using _again = await semaphore.acquire();
});

Deno.test("Semaphore.acquire() leaves no listener on its signal", async () => {
  const semaphore = new Semaphore(1);
  const listeners = new Set<unknown>();
  const { signal } = new AbortController();
  signal.addEventListener = (_: string, listener: unknown) => void listeners.add(listener);
  signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener);
  const first = await semaphore.acquire(signal);
  const second = semaphore.acquire(signal);
  await Promise.resolve();
  assertEquals(listeners.size, 1);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  assertEquals(listeners.size, 0);
});

Deno.test("Semaphore refuses a count below 1 or not whole", () => {
  for (const count of [0, 1.5, NaN]) assertThrows(() => new Semaphore(count), RangeError, "'concurrency'");
});

Deno.test("SerialQueue.run() runs work in order, also after work that failed", async () => {
  const queue = new SerialQueue();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue.run(async () => {
    await gate.promise;
    order.push("first");
    throw new RangeError("failed");
  });
  const second = queue.run(() => order.push("second"));
  gate.resolve();
  await assertRejects(() => first, RangeError, "failed");
  assertEquals(await second, 2);
  await queue.whenIdle();
  assertEquals(order, ["first", "second"]);
});

Deno.test("SerialQueue.run() does not run work that is aborted while it waits", async () => {
  const queue = new SerialQueue();
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const first = queue.run(() => gate.promise);
  const stop = new AbortController();
  const second = queue.run(() => order.push("second"), { signal: stop.signal });
  const third = queue.run(() => order.push("third"));
  stop.abort(new TypeError("stop"));
  await assertRejects(() => second, TypeError, "stop");
  gate.resolve();
  await Promise.all([first, third]);
  assertEquals(order, ["third"]);
});

Deno.test("SerialQueue.run() does not stop work that has started", async () => {
  const queue = new SerialQueue();
  const stop = new AbortController();
  const gate = Promise.withResolvers<string>();
  const work = queue.run(() => gate.promise, { signal: stop.signal });
  await Promise.resolve();
  await Promise.resolve();
  stop.abort(new TypeError("stop"));
  gate.resolve("done");
  assertEquals(await work, "done");
});
