import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { admit, chooseNode, Rate, WAIT_RANGE_MS } from "../../src/cluster/placement.ts";

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

const hash = fc.constantFrom("a", "b");
const home = fc.record({ image: hash, key: hash, profile: fc.record({ sha256: hash }) });
const node = fc.record({
  id: fc.uuid(),
  free: fc.nat({ max: 4 }),
  sessions: fc.nat({ max: 9 }),
  draining: fc.boolean(),
  image: hash,
  key: hash,
  profile: fc.record({ sha256: hash }),
});
const choice = fc.record({
  nodes: fc.array(node, { maxLength: 12 }),
  home,
  tried: fc.nat({ max: 3 }),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

Deno.test("chooseNode() takes a fitting node with a free slot if there is any, otherwise the one with the fewest sessions", () => {
  fc.assert(
    fc.property(choice, ({ nodes, home, tried: count, random }) => {
      const tried = new Set(nodes.slice(0, count).map(({ id }) => id));
      const chosen = chooseNode(nodes, { home, tried, random });
      const fitting = nodes.filter((node) =>
        !node.draining && !tried.has(node.id) && node.image === home.image && node.key === home.key &&
        node.profile.sha256 === home.profile.sha256
      );
      if (chosen === undefined) return assertEquals(fitting, []);
      assert(fitting.includes(chosen));
      if (fitting.some(({ free }) => free > 0)) return assert(chosen.free > 0);
      assertEquals(chosen.sessions, Math.min(...fitting.map(({ sessions }) => sessions)));
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("chooseNode() spreads sessions over nodes in proportion to their free slots", () => {
  const home = { image: "a", key: "a", profile: { sha256: "a" } };
  const nodes = [1, 3, 0].map((free) => ({ ...home, id: `${free}`, free, sessions: 0, draining: false }));
  const counts = new Map<string, number>();
  for (let at = 0; at < 400; at++) {
    const id = chooseNode(nodes, { home, tried: new Set(), random: at / 400 })?.id ?? "";
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  assertEquals(Object.fromEntries(counts), { "1": 100, "3": 300 });
});

Deno.test("a Rate approaches that of its events, and fades", () => {
  const rate = new Rate();
  assertEquals(rate.at(0), 0);
  for (let ms = 0; ms < 100_000; ms += 50) rate.count(ms);
  assert(Math.abs(rate.at(100_000) - 20) < 0.5, String(rate.at(100_000)));
  assert(rate.at(130_000) < 2);
  assert(rate.at(90_000) <= 21, "a clock that is set back adds nothing");
});
