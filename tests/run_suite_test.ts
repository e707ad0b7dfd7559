import { assertEquals } from "@std/assert";
import { countTests, formatDuration } from "./run_suite.ts";

Deno.test("countTests() counts the tests of a JUnit report", () => {
  const report = `<testsuites><testsuite>
    <testcase name="a"></testcase><testcase name="b"/>
    <testcase name="c"><failure message="no">no</failure></testcase>
    <testcase name="d"><skipped/></testcase></testsuite></testsuites>`;
  assertEquals(countTests(report), { passed: 2, failed: 1, skipped: 1 });
  assertEquals(countTests(""), { passed: 0, failed: 0, skipped: 0 });
});

Deno.test("formatDuration() writes minutes and seconds", () => {
  assertEquals([formatDuration(59_400), formatDuration(61_000)], ["59 s", "1 min 1 s"]);
});
