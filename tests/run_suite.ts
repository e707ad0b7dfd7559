/**
 * Runs a suite of tests, prints how long it took and, as the last line, how many passed and failed. Further
 * arguments go to `deno test`.
 *
 *     deno run -A tests/run_suite.ts [all|unit|sandbox|escape|docs] [arguments of deno test]
 */
const TESTS = ["test", "--no-check", "--no-prompt", "--parallel"];
const SANDBOX = "tests/**/*_sandbox_test.ts";

/** Arguments of `deno` for each suite. */
const SUITES: Readonly<Record<string, readonly string[]>> = {
  all: [...TESTS, "-A", "--doc"],
  // Without `--allow-run`, a test that starts a process fails here, and belongs in a file of the next suite.
  unit: [...TESTS, "-R", "-W", "-N", "-E", "-S", `--ignore=tests/escape,${SANDBOX}`, "tests"],
  sandbox: [...TESTS, "-A", SANDBOX],
  escape: [...TESTS, "-A", "tests/escape"],
  docs: [...TESTS, "-A", "--doc", "--ignore=tests"],
};

/** Counts of a JUnit report; steps count as part of their test. */
export function countTests(junit: string): { passed: number; failed: number; skipped: number } {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [, body = ""] of junit.matchAll(/<testcase\b[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs)) {
    if (/<(failure|error)\b/.test(body)) counts.failed++;
    else if (/<skipped\b/.test(body)) counts.skipped++;
    else counts.passed++;
  }
  return counts;
}

/** Writes a duration as minutes and seconds. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

async function runSuite(name: string, more: readonly string[]): Promise<number> {
  const suite = SUITES[name];
  if (suite === undefined) {
    throw new TypeError(`Cannot run suite '${name}' as it must be one of ${Object.keys(SUITES).join(", ")}`);
  }
  const [given] = more.filter((arg) => arg.startsWith("--junit-path=")).map((arg) => arg.slice(13));
  const report = given ?? await Deno.makeTempFile({ suffix: ".xml" });
  const startedAt = performance.now();
  try {
    const args = [...suite, ...(given === undefined ? [`--junit-path=${report}`] : []), ...more];
    const child = new Deno.Command(Deno.execPath(), { args }).spawn();
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      // A terminal sends Ctrl-C to the child as well, which then reports what it has run.
      Deno.addSignalListener(signal, () => signal === "SIGTERM" && child.kill(signal));
    }
    const { code } = await child.status;
    const { passed, failed, skipped } = countTests(await Deno.readTextFile(report));
    const duration = formatDuration(performance.now() - startedAt);
    const ignored = skipped > 0 ? `, ${skipped} skipped` : "";
    const summary = `The suite '${name}' took ${duration}\n${passed} passed, ${failed} failed${ignored}\n`;
    await Deno.stdout.write(new TextEncoder().encode(summary));
    return code;
  } finally {
    if (given === undefined) await Deno.remove(report);
  }
}

if (import.meta.main) {
  const [name = "all", ...more] = Deno.args;
  Deno.exit(await runSuite(name, more));
}
