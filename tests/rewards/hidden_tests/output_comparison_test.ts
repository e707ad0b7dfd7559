import { assertEquals, assertThrows } from "@std/assert";
import { isSameOutput, type OutputComparison } from "../../../src/rewards/hidden_tests/output_comparison.ts";
import { readTestProblem } from "../../../src/rewards/hidden_tests/test_problem.ts";
import { HANG_MS } from "../../deadline.ts";

/** Output, expected output, and the comparisons that accept it. */
const CASES: readonly (readonly [output: string, expected: string, ...accepting: OutputComparison[]])[] = [
  ["1\n2\n", "1\n2", "lines", "livecodebench", "apps"],
  ["1 \r\n2\r\n", "1\n2\n", "lines", "livecodebench", "apps"],
  ["\n 1\n2\n\n", "1\n2", "lines", "livecodebench", "apps"],
  ["1\n 2", "1\n2", "livecodebench", "apps"],
  ["1\n\n2", "1\n2", "apps"],
  ["", "", "lines", "livecodebench", "apps"],
  ["", "1"],
  ["1", ""],
  ["1\n2", "1"],
  ["1", "1\n2"],
  ["1 2", "1  2", "livecodebench", "apps"],
  ["a b", "a  b", "apps"],
  ["YES", "yes"],
  ["1.0", "1", "livecodebench", "apps"],
  ["+1.50e1 2", "15 2.0", "livecodebench", "apps"],
  ["-0", "0", "livecodebench", "apps"],
  ["1e3", "1000", "livecodebench", "apps"],
  ["0.1 x", "0.10 x"],
  ["50000000000000001", "50000000000000000", "apps"],
  ["0.333333", "0.3333333333", "apps"],
  ["0.3333", "0.3333333333", "apps"],
  ["0.334", "0.3333333333"],
  ["YES\n0.3333", "YES\n0.3333333333"],
  ["1e-9", "0", "apps"],
  ["1.0001 7", "1.0002 7", "apps"],
  ["1.001 7", "1.002 7"],
  ["7 1", "1 7"],
  ["2\n1", "1\n2"],
  ["nan", "NaN"],
  ["inf", "Infinity", "livecodebench", "apps"],
  ["1_000", "1000", "livecodebench", "apps"],
  ["1e400", "1e401", "apps"],
  [".", "0"],
  ["5", "inf"],
  ["5", "-inf"],
  ["-inf", "-inf", "lines", "livecodebench", "apps"],
  ["-0.0001", "0.0", "apps"],
  ["0.0625 1", "0.062 1", "apps"],
  ["0.0625 1", "0.063 1"],
  ["0.0635 1", "0.064 1", "apps"],
  ["1e99999999999999999999", "1E99999999999999999999", "livecodebench", "apps"],
];

Deno.test("isSameOutput() accepts what each comparison defines", () => {
  for (const [output, expected, ...accepting] of CASES) {
    for (const comparison of ["lines", "livecodebench", "apps"] as const) {
      const found = isSameOutput(output, expected, comparison);
      assertEquals(
        found,
        accepting.includes(comparison),
        `${comparison}: ${JSON.stringify([output, expected])}`,
      );
    }
  }
});

Deno.test({ name: "isSameOutput() reads long numbers in linear time", timeout: HANG_MS }, () => {
  const digits = "9".repeat(1_000_000);
  for (
    const other of [`${digits}.0`, "1".repeat(1_000_000), `${"1 ".repeat(500_000)}x`, "_1".repeat(500_000)]
  ) {
    assertEquals(isSameOutput(digits, other, "livecodebench"), false);
  }
});

Deno.test("readTestProblem() reads functional tests of LiveCodeBench as code, and other ones as input", () => {
  const tests = [
    { input: "1", output: "1", testtype: "stdin" },
    { input: "1\n[2]", output: "3", testtype: "functional" },
  ];
  const read = (fields: Record<string, unknown>) =>
    readTestProblem({ id: "t", query: "q", fields: { tests, ...fields } });
  const ofClass = read({ metadata: '{"func_name": "add"}', starter_code: "class Solution:\n    def add" });
  const call = 'add(json.loads("1"), json.loads("[2]")), "3")';
  assertEquals(ofClass?.codeTests, [`assert paddock_is_result(Solution().${call}`]);
  assertEquals(ofClass?.entryPoint, "Solution");
  assertEquals(ofClass?.programTests.length, 1);
  const ofFunction = read({ entry_point: "add", starter_code: "def add(a, b):" });
  assertEquals(ofFunction?.codeTests, [`assert paddock_is_result(${call}`]);
  assertEquals(ofFunction?.entryPoint, "add");
});

Deno.test("readTestProblem() refuses functional tests without a function, and test types that it does not know", () => {
  const read = (testtype: string, fields: Record<string, unknown>) =>
    readTestProblem({
      id: "t",
      query: "q",
      fields: { tests: [{ input: "1", output: "1", testtype }], ...fields },
    });
  for (const metadata of [undefined, "{", '{"func_name": "f(1)"}', {}, 5]) {
    const needed = "a functional test needs 'metadata' with 'func_name', or an 'entry_point' that is a name";
    assertThrows(() => read("functional", { metadata }), TypeError, needed);
  }
  assertThrows(() => read("interactive", {}), TypeError, "'tests.0'");
});
