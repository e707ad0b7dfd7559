import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { admit, type NodeView, rankNodes, Rate, WAIT_RANGE_MS } from "../../src/cluster/placement.ts";

const node = fc.record({
  id: fc.string({ minLength: 10, maxLength: 10 }),
  profile: fc.constantFrom("p", "q"),
  image: fc.constantFrom("i", "j"),
  slots: fc.integer({ min: 1, max: 64 }),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
  draining: fc.boolean(),
}).map(({ part, ...rest }): NodeView => ({ ...rest, free: Math.floor(part * rest.slots) }));
const nodes = fc.uniqueArray(node, { selector: ({ id }) => id, maxLength: 12 });
const needs = fc.record({
  session: fc.string(),
  profile: fc.constantFrom("p", "q"),
  image: fc.constantFrom("i", "j"),
});

Deno.test("rankNodes() returns exactly the nodes that can restore the session, those with more room first", () => {
  fc.assert(fc.property(nodes, needs, (nodes, needs) => {
    const ranked = rankNodes(nodes, needs);
    const able = nodes.filter(({ draining, profile, image }) =>
      !draining && profile === needs.profile && image === needs.image
    );
    assertEquals(new Set(ranked), new Set(able.map(({ id }) => id)));
    assertEquals(ranked.length, able.length);
    const parts = ranked.map((id) => {
      const found = able.find((node) => node.id === id);
      return found ? found.free / found.slots : NaN;
    });
    assert(parts.every((part, at) => at === 0 || part <= (parts[at - 1] ?? 0)));
  }));
});

Deno.test("rankNodes() decides alike wherever it is asked: the order of the nodes does not matter", () => {
  fc.assert(fc.property(nodes, needs, (nodes, needs) => {
    assertEquals(rankNodes(nodes.toReversed(), needs), rankNodes(nodes, needs));
  }));
});

Deno.test("rankNodes() keeps a session's choice when another node leaves", () => {
  fc.assert(fc.property(nodes, needs, (nodes, needs) => {
    const [best, ...others] = rankNodes(nodes, needs);
    const last = others.at(-1);
    assertEquals(rankNodes(nodes.filter(({ id }) => id !== last), needs)[0], best);
  }));
});

Deno.test("rankNodes() spreads the sessions of a lost node over equal nodes", () => {
  const equal = ["a", "b", "c"].map((id) => ({
    id: `node-${id}`,
    profile: "p",
    image: "i",
    slots: 4,
    free: 2,
    draining: false,
  }));
  const counts = new Map<string, number>();
  for (let at = 0; at < 3000; at++) {
    const [best = ""] = rankNodes(equal, { session: `session ${at}`, profile: "p", image: "i" });
    counts.set(best, (counts.get(best) ?? 0) + 1);
  }
  for (const { id } of equal) assert((counts.get(id) ?? 0) > 800, JSON.stringify([...counts]));
});

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
