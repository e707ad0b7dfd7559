import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { admit, Rate, WAIT_RANGE_MS } from "../../src/cluster/placement.ts";

Deno.test("admit() refuses a call exactly when as many wait as may, and states a bounded wait that grows with the queue", () => {
  const demand = fc.record({
    waiting: fc.nat({ max: 5000 }),
    maxWaiting: fc.nat({ max: 5000 }),
    slots: fc.nat({ max: 1000 }),
    grantsPerSecond: fc.double({ min: 0, max: 1e5, noNaN: true }),
  });
  fc.assert(fc.property(demand, (demand) => {
    const { isAdmitted, waitMs } = admit(demand);
    assertEquals(isAdmitted, demand.waiting < demand.maxWaiting);
    assert(waitMs >= WAIT_RANGE_MS.min && waitMs <= WAIT_RANGE_MS.max);
    assert(admit({ ...demand, waiting: demand.waiting + 1 }).waitMs >= waitMs);
    assert(admit({ ...demand, grantsPerSecond: 2 * demand.grantsPerSecond + 1 }).waitMs <= waitMs);
  }));
  assertEquals(admit({ waiting: 9, maxWaiting: 10, slots: 2, grantsPerSecond: 5 }), {
    isAdmitted: true,
    waitMs: 2000,
  });
  assertEquals(admit({ waiting: 0, maxWaiting: 10, slots: 0, grantsPerSecond: 5 }).waitMs, WAIT_RANGE_MS.max);
});

Deno.test("a Rate approaches that of its events, and fades", () => {
  const rate = new Rate();
  assertEquals(rate.at(0), 0);
  for (let ms = 0; ms < 100_000; ms += 50) rate.count(ms);
  assert(Math.abs(rate.at(100_000) - 20) < 0.5, String(rate.at(100_000)));
  assert(rate.at(130_000) < 2);
  assert(rate.at(90_000) <= 21, "a clock that is set back adds nothing");
});
