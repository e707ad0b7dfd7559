import { assert, assertEquals, assertThrows } from "@std/assert";
import { histogramOf, mcNemarTest, meanInterval, passAll, passAt } from "../../src/viewer/statistics.ts";

Deno.test("passAt() is the share of draws of k samples with a right one", () => {
  // 3 of 5 right: of the 10 pairs, only the pair of the two wrong ones has none.
  assertAlmostEquals(passAt(2, { count: 5, right: 3 }), 0.9);
  assertAlmostEquals(passAt(1, { count: 5, right: 3 }), 0.6);
  assertEquals(passAt(5, { count: 5, right: 1 }), 1);
  assertEquals(passAt(3, { count: 5, right: 0 }), 0);
});

Deno.test("passAt() refuses more samples than there are", () => {
  assertThrows(() => passAt(3, { count: 2, right: 1 }), RangeError, "found 2");
});

Deno.test("mcNemarTest() is the exact binomial test", () => {
  // 2 * (C(10,0) + C(10,1)) / 2^10
  assertAlmostEquals(mcNemarTest(9, 1).p, 22 / 1024);
  assertAlmostEquals(mcNemarTest(1, 9).p, 22 / 1024);
  assertEquals(mcNemarTest(5, 5).p, 1);
  assertEquals(mcNemarTest(0, 0).p, 1);
});

Deno.test("mcNemarTest() of many pairs neither underflows nor overflows", () => {
  const { p } = mcNemarTest(5_100, 4_900);
  assertAlmostEquals(p, 0.0466, 0.001); // normal approximation with continuity correction
  assert(mcNemarTest(9_000, 1_000).p < 1e-300);
});

Deno.test("meanInterval() is undefined without values, and a point if all are equal", () => {
  assertEquals(meanInterval([]), undefined);
  assertEquals(meanInterval([2, 2, 2]), { mean: 2, low: 2, high: 2, count: 3, method: "bootstrap" });
});

Deno.test("meanInterval() of few values is close to the normal approximation of many", () => {
  const values = Array.from({ length: 4_000 }, (_, at) => at % 2);
  const few = meanInterval(values);
  const many = meanInterval([...values, 0, 1]);
  assertEquals([few?.method, many?.method], ["bootstrap", "normal"]);
  assertAlmostEquals(few?.low ?? 0, many?.low ?? 1, 0.002);
  assertAlmostEquals(few?.high ?? 0, many?.high ?? 1, 0.002);
  assertEquals(meanInterval(values), few);
});

Deno.test("histogramOf() counts whole numbers and puts outliers into the last range", () => {
  const values = [...Array(500).fill(1), ...Array(500).fill(3), 10_000, NaN];
  const { low, width, counts } = histogramOf(Float64Array.from(values), { bins: 24, whole: true });
  assertEquals({ low, width }, { low: 1, width: 1 });
  assertEquals(counts, [500, 0, 501]);
});

Deno.test("histogramOf() of no values has one empty range", () => {
  assertEquals(histogramOf(new Float64Array(), { bins: 8, whole: true }).counts, [0]);
});

Deno.test("histogramOf() of equal values has one range", () => {
  assertEquals(histogramOf(Float64Array.of(0.5, 0.5), { bins: 8, whole: false }).counts, [2]);
});

Deno.test("histogramOf() of numbers whose range is infinite puts each into its range", () => {
  const { low, high, counts } = histogramOf(Float64Array.of(-1e308, 0, 1e308), { bins: 4, whole: false });
  assertEquals([low, high], [-1e308, 1e308]);
  assertEquals(counts, [1, 0, 1, 1]);
});

Deno.test("passAll() is the share of draws of k samples that are all right", () => {
  const samples = { count: 5, right: 3 };
  assertAlmostEquals(passAll(1, samples), 0.6);
  assertAlmostEquals(passAll(2, samples), 3 / 10); // of 10 pairs, 3 have two right ones
  assertAlmostEquals(passAll(3, samples), 1 / 10);
  assertAlmostEquals(passAll(4, samples), 0);
});

function assertAlmostEquals(actual: number, expected: number, tolerance = 1e-9): void {
  assert(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}
