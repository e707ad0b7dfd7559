/**
 * Runs a suite of tests, prints how long it took and, as the last line, how many passed and failed. Further
 * arguments go to `deno test`.
 *
 *     deno run -A tests/run_suite.ts [all|unit|sandbox|escape|docs] [arguments of deno test]
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { groupTests, type TestGroup } from "./test_groups.ts";

const TESTS = ["test", "--no-check", "--no-prompt", "--parallel"];
/** Without `--allow-run`, a test that starts a process fails in the unit suite, and belongs in another one. */
const NO_PROCESS = ["-R", "-W", "-N", "-E", "-S"];

/** Files and folders whose doc comments and pages have examples. */
const DOCUMENTED = ["README.md", "docs", "examples", "mod.ts", "mod", "src"];

interface Suite {
  /** Arguments of `deno`. */
  readonly args: readonly string[];
  /** Tells the test files of the suite from all others. */
  readonly has: (path: string) => boolean;
}

const isEscape = (path: string) => path.startsWith("escape/");
const isSandbox = (path: string) => path.endsWith("_sandbox_test.ts");

const SUITES: Readonly<Record<string, Suite>> = {
  all: { args: [...TESTS, "-A", "--doc", ...DOCUMENTED], has: () => true },
  unit: { args: [...TESTS, ...NO_PROCESS], has: (path) => !isEscape(path) && !isSandbox(path) },
  sandbox: { args: [...TESTS, "-A"], has: isSandbox },
  escape: { args: [...TESTS, "-A"], has: isEscape },
  docs: { args: [...TESTS, "-A", "--doc", ...DOCUMENTED], has: () => false },
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

const ROOT = new URL("./", import.meta.url);

/** Writes a module for each group of several files, which imports them. Returns the paths of the groups. */
async function writeGroups(folder: string, groups: readonly TestGroup[]): Promise<string[]> {
  return await Promise.all(groups.map(async ({ name, files }) => {
    const [only] = files;
    if (only !== undefined && files.length === 1) return fileURLToPath(new URL(only, ROOT));
    const path = `${folder}/${name}.ts`;
    const imports = files.map((file) => `import ${JSON.stringify(new URL(file, ROOT).href)};\n`);
    await Deno.writeTextFile(path, imports.join(""));
    return path;
  }));
}

/** Modules of tests that run at once on each core. More than one, as most of them wait: for processes, timeouts, files. */
const JOBS_PER_CORE = 1.5;

/** Folder of the images that tests build, instead of the user's own cache. It is removed with the clone. */
const TEST_HOME = fileURLToPath(new URL("../.paddock/tests", ROOT));

/**
 * Returns the variables of a suite's processes. Their home is a folder of the clone, so that the images of tests are not
 * in the user's cache; the caches of Deno and npm stay where they are, and so do the wheels of math-verify. `DENO_JOBS`
 * of the user, the number of modules that run at once, has precedence.
 */
export async function testEnvironment(home = TEST_HOME): Promise<Record<string, string>> {
  const userCache = join(homedir(), ".cache", "paddock");
  const cache = join(home, ".cache", "paddock");
  await Deno.mkdir(cache, { recursive: true, mode: 0o700 });
  await Deno.symlink(join(userCache, "math-verify"), join(cache, "math-verify")).catch(() => {}); // an earlier suite made it
  return {
    HOME: home,
    USERPROFILE: home,
    PADDOCK_CACHE_DIR: cache,
    DENO_DIR: Deno.env.get("DENO_DIR") ?? await denoDir(),
    npm_config_cache: Deno.env.get("npm_config_cache") ?? join(homedir(), ".npm"),
    DENO_JOBS: Deno.env.get("DENO_JOBS") ?? String(Math.ceil(JOBS_PER_CORE * navigator.hardwareConcurrency)),
  };
}

async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

async function runSuite(name: string, more: readonly string[]): Promise<number> {
  const suite = SUITES[name];
  if (suite === undefined) {
    throw new TypeError(`Cannot run suite '${name}' as it must be one of ${Object.keys(SUITES).join(", ")}`);
  }
  const [given] = more.filter((arg) => arg.startsWith("--junit-path=")).map((arg) => arg.slice(13));
  const folder = await Deno.makeTempDir();
  const report = given ?? `${folder}/report.xml`;
  const startedAt = performance.now();
  try {
    const groups = await writeGroups(folder, await groupTests(ROOT, suite.has));
    const junit = given === undefined ? [`--junit-path=${report}`] : [];
    const args = [...suite.args, ...groups, ...junit, ...more];
    const child = new Deno.Command(Deno.execPath(), { args, env: await testEnvironment() }).spawn();
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      // A terminal sends Ctrl-C to the child as well, which then reports what it has run.
      Deno.addSignalListener(signal, () => signal === "SIGTERM" && child.kill(signal));
    }
    const { code } = await child.status;
    const junitText = await Deno.readTextFile(report).catch(() => undefined);
    if (junitText === undefined) return code || 1; // no test has run, such as after an import that fails
    const { passed, failed, skipped } = countTests(junitText);
    const duration = formatDuration(performance.now() - startedAt);
    const ignored = skipped > 0 ? `, ${skipped} skipped` : "";
    const summary = `The suite '${name}' took ${duration}\n${passed} passed, ${failed} failed${ignored}\n`;
    await Deno.stdout.write(new TextEncoder().encode(summary));
    return code;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const [name = "all", ...more] = Deno.args;
  Deno.exit(await runSuite(name, more));
}
