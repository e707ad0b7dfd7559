import { assertEquals } from "@std/assert";
import { countTests, formatDuration, testEnvironment } from "./run_suite.ts";
import { TempFolder } from "./temp_folder.ts";
import { groupTests } from "./test_groups.ts";

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

Deno.test("groupTests() puts each test file into one group, and files with a shared helper into the same", async () => {
  const groups = await groupTests(new URL("./", import.meta.url), () => true);
  const files = groups.flatMap(({ files }) => files);
  assertEquals(new Set(files).size, files.length);
  const groupOf = (file: string) => groups.find(({ files }) => files.includes(file));
  assertEquals(groupOf("sandbox/files_sandbox_test.ts")?.name, "sandbox.shared_session");
  assertEquals(groupOf("sandbox/slips_sandbox_test.ts")?.name, "sandbox.shared_session");
  assertEquals(groupOf("escape/escape_test.ts")?.files, ["escape/escape_test.ts"]);
  assertEquals(groupOf("run_suite_test.ts")?.name.startsWith("unit."), true);
  assertEquals(groupOf("cli/serve_sandbox_test.ts")?.name.startsWith("sandbox."), true);
});

Deno.test("testEnvironment() keeps images out of the user's cache, and the caches of Deno and npm where they are", async () => {
  await using folder = await TempFolder.of();
  const home = `${folder.path}/home`;
  const environment = await testEnvironment(home);
  assertEquals(environment.HOME, home);
  assertEquals(environment.PADDOCK_CACHE_DIR, `${home}/.cache/paddock`);
  assertEquals((await Deno.stat(`${home}/.cache/paddock`)).isDirectory, true);
  for (const variable of [environment.DENO_DIR, environment.npm_config_cache]) {
    assertEquals(variable?.startsWith(folder.path), false);
  }
  await testEnvironment(home);
});

Deno.test("testEnvironment() runs more modules at once than there are cores, as most of them wait", async () => {
  await using folder = await TempFolder.of();
  const { DENO_JOBS } = await testEnvironment(folder.path);
  const { DENO_JOBS: chosen } = Deno.env.toObject();
  if (chosen === undefined) assertEquals(Number(DENO_JOBS) > navigator.hardwareConcurrency, true);
  else assertEquals(DENO_JOBS, chosen);
});
