import { assert, assertEquals } from "@std/assert";
import { formatAxis, formatKnown, formatMs, formatNumber } from "../../../src/viewer/pages/format.ts";

Deno.test("formatNumber() keeps a number short, whatever its size", () => {
  const cases: readonly [number | null | undefined, string][] = [
    [0, "0"],
    [0.123456, "0.1235"],
    [-1234.56, "-1,234.6"],
    [999_999_999_999, "999,999,999,999"],
    [1e12, "1e12"],
    [-1.2345e308, "-1.23e308"],
    [0.00001234, "1.23e-5"],
    [5e-324, "5e-324"],
    [Infinity, "∞"],
    [-Infinity, "−∞"],
    [NaN, "–"],
    [null, "–"],
    [undefined, "–"],
  ];
  for (const [value, expected] of cases) assertEquals(formatNumber(value), expected);
});

Deno.test("formatAxis() has at most seven characters", () => {
  for (const value of [0, 0.333333, -0.00001234, 1234.5678, -98_765.4, 1e6, 123_456_789, -1.6e308, 5e-324]) {
    assert(formatAxis(value).length <= 7, formatAxis(value));
  }
  assertEquals([formatAxis(0.5), formatAxis(144), formatAxis(1_250_000)], ["0.5", "144", "1.25M"]);
});

Deno.test("formatKnown() shows a count of 0 as unknown", () => {
  assertEquals([formatKnown(0), formatKnown(7)], ["–", "7"]);
});

Deno.test("formatMs() shows long times in hours", () => {
  assertEquals([12, 1_500, 125_000, 9e6, 1e15].map(formatMs), [
    "12 ms",
    "1.5 s",
    "2 min 5 s",
    "2.5 h",
    "277,777,777.8 h",
  ]);
});
