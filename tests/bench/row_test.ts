import { assertEquals } from "@std/assert";
import { quantile } from "../../bench/measure.ts";
import { formatRows, reaches } from "../../bench/row.ts";

Deno.test("quantile() returns the value that a share of all values does not exceed", () => {
  const values = Array.from({ length: 100 }, (_, at) => 100 - at);
  assertEquals([0, 0.5, 0.99, 1].map((share) => quantile(values, share)), [1, 50, 99, 100]);
  assertEquals(quantile([], 0.5), NaN);
});

Deno.test("reaches() treats a bound as a maximum for errors and as a minimum for sessions", () => {
  const errors = (value: number) => reaches({ what: "a", value, unit: "errors", bound: 0 });
  const sessions = (value: number) => reaches({ what: "a", value, unit: "sessions", bound: 500 });
  assertEquals([errors(0), errors(1)], [true, false]);
  assertEquals([sessions(500), sessions(499)], [true, false]);
});

Deno.test("formatRows() rounds bounds to two digits", () => {
  const table = formatRows([{ what: "p99", value: 12, unit: "ms", bound: 3_915.222_84 }]);
  assertEquals(table.split("\n").at(1), "p99      12 ms             ≤ 3915.22 ms  ok");
});
