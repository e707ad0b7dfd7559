import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  formatCases,
  formatComparison,
  type Measured,
  missedBounds,
  SERVER_BOUNDS,
} from "../../bench/hostile/case.ts";
import { Tally } from "../../bench/hostile/tenant.ts";

const HELD: Measured = {
  hostBytes: 0,
  treeBytes: 0,
  keptBytes: 0,
  waitMs: 20,
  quietMs: 10,
  waited: "health",
  outcome: "413 × 2",
  breaches: [],
};

function missed(changes: Partial<Measured>): string[] {
  return missedBounds({ ...HELD, ...changes }, SERVER_BOUNDS);
}

Deno.test("missedBounds() judges a wait by the quiet one, or by the wait beside an honest load", () => {
  assertEquals(missed({}), []);
  assertEquals(missed({ waitMs: 510 }), []);
  assertEquals(missed({ waitMs: 511 }), ["wait"]);
  assertEquals(missed({ waitMs: 3_000, twinMs: 1_000 }), []);
  assertEquals(missed({ waitMs: 3_001, twinMs: 1_000 }), ["wait"]);
});

Deno.test("missedBounds() names memory beyond the budget, memory that stays, and lost state", () => {
  const { hostBytes, keptBytes } = SERVER_BOUNDS;
  assertEquals(missed({ hostBytes, keptBytes }), []);
  assertEquals(missed({ hostBytes: hostBytes + 1, keptBytes: keptBytes + 1, breaches: ["lost"] }), [
    "memory",
    "kept memory",
    "state",
  ]);
});

Deno.test("formatCases() returns one line per case, whatever a server has answered", () => {
  const results = [{ ...HELD, name: "a", fault: "S1", missed: ["wait"], outcome: "exit 1: a | b\nc" }];
  const lines = formatCases(results).split("\n");
  assertEquals(lines.length, 3);
  assertStringIncludes(lines[2] ?? "", "| 0 MiB");
  assertStringIncludes(lines[2] ?? "", "| MISSED: wait | exit 1: a   b c");
});

Deno.test("formatComparison() shows each case of a run beside its result in another run", () => {
  const now = [{ ...HELD, name: "a", fault: "S1", missed: [] }, {
    ...HELD,
    name: "b",
    fault: "S2",
    missed: [],
  }];
  const before = [{ ...HELD, name: "a", fault: "S1", waitMs: 3_000, twinMs: 1_000, missed: ["wait"] }];
  const lines = formatComparison(before, now).split("\n");
  assertStringIncludes(lines[2] ?? "", "| 3.00 s (3.0 ×) | wait   | 0 MiB  | 0.02 s | ok  |");
  assertEquals(lines.length, 4);
});

Deno.test("Tally shows the most frequent outcomes first", () => {
  const tally = new Tally();
  for (const status of [200, 413, 413]) tally.add(status);
  assertEquals(String(tally), "413 × 2, 200");
});
