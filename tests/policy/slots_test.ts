import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Slots } from "../../src/policy/slots.ts";

Deno.test("Slots.take() gives so many and no more, and to those who wait in their order", async () => {
  const slots = new Slots(1);
  const first = await slots.take();
  const order: string[] = [];
  const waiting = ["a", "b"].map(async (name) => {
    using _slot = await slots.take();
    order.push(name);
  });
  await Promise.resolve();
  assertEquals(order, []);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await Promise.all(waiting);
  assertEquals(order, ["a", "b"]);
});

Deno.test("Slots.take() is not waited for after an abort, and no slot is lost by it", async () => {
  const slots = new Slots(1);
  const first = await slots.take();
  const abort = new AbortController();
  const waiting = slots.take(abort.signal);
  abort.abort(new TypeError("stop"));
  await assertRejects(() => waiting, TypeError, "stop");
  first[Symbol.dispose]();
  using _again = await slots.take();
});

Deno.test("Slots refuses a count that lets nothing through", () => {
  for (const count of [0, 1.5, NaN]) assertThrows(() => new Slots(count), RangeError, "'concurrency'");
});
