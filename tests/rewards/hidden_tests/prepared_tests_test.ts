import { assertEquals } from "@std/assert";
import {
  PackedTests,
  parsePreparedTests,
  type PreparedTests,
} from "../../../src/rewards/hidden_tests/prepared_tests.ts";
import { readTestProblem, type TestProblem } from "../../../src/rewards/hidden_tests/test_problem.ts";

function problemOf(fields: Record<string, unknown>): TestProblem {
  const problem = readTestProblem({ id: "t", query: "q", fields });
  if (problem === null) throw new Error("the task has no tests");
  return problem;
}

function testsOf(packed: string): PreparedTests {
  return { names: [], lookup: "[]", packed };
}

Deno.test("PackedTests keeps the tests of a problem, and of no other", () => {
  const packed = new PackedTests();
  packed.set(problemOf({ tests: ["assert f(1)"] }), testsOf("a"));

  assertEquals(packed.get(problemOf({ tests: ["assert f(1)"] })), testsOf("a"));
  assertEquals(packed.get(problemOf({ tests: ["assert f(2)"] })), undefined);
  assertEquals(packed.get(problemOf({ tests: ["assert f(1)"], prompt: "def f(x):" })), undefined);
  assertEquals(packed.get(problemOf({ tests: ["assert f(1)"], entry_point: "f" })), undefined);
});

Deno.test("PackedTests keeps no tests that cannot be packed", () => {
  const packed = new PackedTests();
  packed.set(problemOf({ tests: ["assert f(1)"] }), testsOf(""));

  assertEquals(packed.get(problemOf({ tests: ["assert f(1)"] })), undefined);
});

Deno.test("PackedTests drops those that were not used for longest", () => {
  const packed = new PackedTests();
  const problems = [1, 2, 3, 4].map((n) => problemOf({ tests: [`assert f(${n})`] }));
  const [first, second, third, fourth] = problems as [TestProblem, TestProblem, TestProblem, TestProblem];
  const long = "a".repeat(5 * 1024 * 1024);
  for (const problem of [first, second, third]) packed.set(problem, testsOf(long));
  packed.get(first);
  packed.set(fourth, testsOf(long));

  assertEquals(problems.map((problem) => packed.get(problem) !== undefined), [true, false, true, true]);
});

Deno.test("parsePreparedTests() reads what the tests' session returns", () => {
  const expected = { names: ["f"], lookup: "[]", packed: "p" };
  assertEquals(parsePreparedTests('[["f"], "[]", "p"]'), expected);
});
