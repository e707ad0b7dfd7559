import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { chosenVersions, formatTable } from "./run.ts";
import { chooseSuites, parseRunOptions, parseSuite, readReport } from "./suite.ts";

const REPORT = `<testsuites><testsuite>
  <testcase classname="test_a" name="passes"/>
  <testcase classname="test_a" name="fails[&lt;x&gt;]"><failure message="no">no</failure></testcase>
  <testcase classname="test_a" name="breaks"><error message="no">no</error></testcase>
  <testcase classname="test_a" name="skips"><skipped/></testcase></testsuite></testsuites>`;

Deno.test("readReport() counts failed, broken and skipped tests as problems", () => {
  assertEquals(readReport(REPORT), {
    passed: 1,
    excepted: 0,
    problems: ["failed: test_a::fails[<x>]", "failed: test_a::breaks", "skipped: test_a::skips"],
  });
});

Deno.test("readReport() allows exceptions, which must run and must not pass", () => {
  const reason = "the reason of an exception";
  const allowed = { "test_a::fails[<x>]": reason, "test_a::breaks": reason, "test_a::skips": reason };
  assertEquals(readReport(REPORT, allowed), { passed: 1, excepted: 3, problems: [] });
  assertEquals(
    readReport(REPORT, { ...allowed, "test_a::passes": reason, "test_a::gone": reason }).problems,
    [
      "passed in spite of its exception: test_a::passes",
      "did not run, but is an exception: test_a::gone",
    ],
  );
});

Deno.test("readReport() finds a problem in a report without tests", () => {
  assertEquals(readReport("").problems, ["no test passed"]);
});

Deno.test("parseSuite() has defaults and refuses unknown fields and short reasons", () => {
  const suite = parseSuite(`{ "python": "3.11", "packages": ["trl"] }`);
  assertEquals(suite.command, ["python", "-m", "pytest"]);
  assertEquals(suite.exceptions, {});
  for (const more of [`"skip": true`, `"exceptions": { "a": "" }`, `"checkouts": { "a": {} }`]) {
    assertThrows(() => parseSuite(`{ "python": "3.11", "packages": ["trl"], ${more} }`));
  }
});

Deno.test("chooseSuites() returns all suites or the named ones, and refuses an unknown name", () => {
  assertEquals(parseRunOptions(["--list", "verl"]), { names: ["verl"], list: true });
  assertEquals(chooseSuites(["trl", "verl"], []), ["trl", "verl"]);
  assertEquals(chooseSuites(["trl", "verl"], ["verl"]), ["verl"]);
  assertThrows(
    () => chooseSuites(["trl", "verl"], ["ver"]),
    RangeError,
    "'ver' as it must be one of trl, verl",
  );
});

Deno.test("chosenVersions() refuses a package that is not installed", () => {
  assertEquals(chosenVersions("trl==1.16.0\ntorch==2.15.0\n", ["torch", "trl"]), "torch 2.15.0, trl 1.16.0");
  assertThrows(() => chosenVersions("trl==1.16.0\n", ["verl"]), RangeError, "'verl'");
});

Deno.test("formatTable() has a row for each suite, and lists problems", () => {
  const row = { versions: "trl 1.16.0", passed: 3, excepted: 0, ms: 61_000 };
  const table = formatTable([{ ...row, name: "trl", problems: [] }, {
    ...row,
    name: "verl",
    problems: ["failed: a"],
  }]);
  assertMatch(
    table,
    /^trl +trl 1\.16\.0 +3 +0 +0 +1 min 1 s\nverl +trl 1\.16\.0 +3 +0 +1 .*\n✗ verl: failed: a\n$/m,
  );
});
