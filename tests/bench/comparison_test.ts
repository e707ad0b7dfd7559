import { assertEquals, assertMatch } from "@std/assert";
import { compareReports, formatComparison, type Report } from "../../bench/comparison.ts";
import { summarize } from "../../bench/measure.ts";
import type { Row } from "../../bench/row.ts";

function report(...rows: Row[]): Report {
  return { deno: "1", system: "linux", cores: 2, python: null, rows };
}

Deno.test("summarize() returns the median and the quartiles", () => {
  assertEquals(summarize([5, 1, 4, 2, 3, 7, 6, 8]), { value: 4.5, low: 2, high: 6 });
});

Deno.test("compareReports() finds rows whose quartiles do not overlap, in the direction of their unit", () => {
  const ms = (what: string, low: number, value: number, high: number): Row => ({
    what,
    value,
    low,
    high,
    unit: "ms",
  });
  const before = report(
    ms("slower", 1, 2, 3),
    ms("faster", 1, 2, 3),
    ms("noisy", 1, 2, 3),
    { what: "rate", value: 100, low: 90, high: 110, unit: "/s" },
    { what: "single", value: 10, unit: "MB" },
    { what: "removed", value: 1, unit: "ms" },
  );
  const after = report(
    ms("slower", 3.5, 4, 5),
    ms("faster", 0.2, 0.5, 0.9),
    ms("noisy", 2.5, 3, 4),
    { what: "rate", value: 50, low: 45, high: 55, unit: "/s" },
    { what: "single", value: 30, unit: "MB" },
    { what: "new", value: 1, unit: "ms" },
  );
  const rows = compareReports(before, after);
  assertEquals(rows.map(({ what, change, ratio }) => [what, change, ratio]), [
    ["slower", "worse", 2],
    ["faster", "better", 0.25],
    ["noisy", "same", 1.5],
    ["rate", "worse", 0.5],
    ["single", "unclear", 3],
  ]);
  assertMatch(
    formatComparison(rows),
    /slower +2 ms +4 ms +2\.00 × +worse\n[^]*2 worse, 1 better, 1 the same, 1 without/,
  );
});
