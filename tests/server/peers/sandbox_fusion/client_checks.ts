/**
 * Runs SandboxFusion's own client, of an exact version, against `paddock serve`, and its own tests where
 * `PADDOCK_SANDBOX_FUSION` names a checkout of its repository. Each test that does not count, or cannot pass, is listed
 * in `client_checks/exceptions.json` with the reason, and must behave as the list says.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { Serving } from "../../../../bench/serving.ts";
import { ROOT, run } from "../../../../packaging/sources.ts";
import { writeText } from "../../../../src/cli/output.ts";
import { installLocked } from "../../../trainers/environment.ts";
import EXCEPTIONS from "./client_checks/exceptions.json" with { type: "json" };

const HOME = join(ROOT, ".paddock", "sandbox_fusion");
const CHECKS = join(ROOT, "tests", "server", "adapters", "sandbox_fusion", "client_checks");
const CHECKOUT = Deno.env.get("PADDOCK_SANDBOX_FUSION");
const CALLS = 25;
/** Calls that fail: prompts belong to the data sets, which Paddock has not. */
const FAILING = ["get_prompts_of_provided_data"];
/** Packages of the data sets' tests that exist for the sandbox's platform. */
const PACKAGES = ["sympy==1.14.0"];
/** Share of the tests of Python and bash that must pass. */
const LEAST_SHARE = 0.95;

/** What a test did. */
interface TestOutcome {
  readonly name: string;
  readonly passed: boolean;
  /** Number of requests to Paddock in a language that it serves. */
  readonly served?: number;
  /** Number of requests to Paddock in another language. */
  readonly refused?: number;
  /** Number of requests whose program imports a package that is not there. */
  readonly lacking?: number;
}

/** Why a test does not count: it sends no program, or a program in another language or with a missing package. */
type Need = "nothing" | "language" | "package";

interface Exception {
  readonly reason: string;
  /** Without it, the tests count as failed. */
  readonly needs?: Need;
  /** Names of tests, or of files for all of their tests. */
  readonly tests: readonly string[];
}

const exceptions = EXCEPTIONS as readonly Exception[];

async function python(): Promise<string> {
  return await installLocked(HOME, { python: "3.11", lock: join(CHECKS, "requirements.txt") });
}

/** Runs a program to its end, whatever its exit code, and returns what it prints. */
async function attempt(program: string, args: string[], options: Deno.CommandOptions): Promise<string> {
  const { stdout } = await new Deno.Command(program, { args, ...options, stdin: "null", stderr: "inherit" })
    .output();
  return new TextDecoder().decode(stdout);
}

Deno.test("the client of SandboxFusion makes all calls but those of prompts", async () => {
  await using server = await Serving.start("--profile", "workspace", "--max-sessions", "4");
  const lines = await attempt(await python(), [join(CHECKS, "calls.py")], {
    env: { PADDOCK_URL: server.url },
  });
  const calls = lines.trim().split("\n").map((line) => JSON.parse(line));
  const failed = calls.filter(({ error }) => error !== null);
  assertEquals([calls.length, failed.map(({ name }) => name)], [CALLS, FAILING], JSON.stringify(failed));
});

Deno.test({
  name: "the Python tests of PADDOCK_SANDBOX_FUSION pass, but for those that cannot",
  ignore: CHECKOUT === undefined,
  fn: async () => {
    const outcomes = await runTests(CHECKOUT ?? "");
    const counted = outcomes.filter((outcome) => ["passed", "failed"].includes(stateOf(outcome)));
    const passed = counted.filter((outcome) => outcome.passed).length;
    const share = `${(100 * passed / counted.length).toFixed(1)} %`;
    await writeText(
      Deno.stdout,
      `${passed} of ${counted.length} tests pass (${share}); ${outcomes.length} ran\n`,
    );
    assertEquals(problemsOf(outcomes), []);
    assert(passed >= LEAST_SHARE * counted.length, `only ${share} of the tests pass`);
  },
});

/** Writes a profile with a shell and the packages, and returns its path. */
async function writeProfile(): Promise<string> {
  const profile = join(HOME, "profile.jsonc");
  await Deno.copyFile(join(ROOT, "sandboxes", "workspace.jsonc"), profile);
  const cli = join(ROOT, "src", "cli.ts");
  await run(Deno.execPath(), ["run", "-A", cli, "packages", "add", "--profile", profile, ...PACKAGES]);
  return profile;
}

async function runTests(checkout: string): Promise<TestOutcome[]> {
  const program = await python();
  await using server = await Serving.start("--profile", await writeProfile(), "--max-sessions", "4");
  await Deno.mkdir(join(checkout, "docs", "build"), { recursive: true }); // its server serves this folder
  const report = join(HOME, "report.jsonl");
  await Deno.writeTextFile(report, "");
  const options = ["-q", "--tb=short", "--timeout=120", "-p", "no:cacheprovider", "-p", "paddock_plugin"];
  const env = { PADDOCK_URL: server.url, PADDOCK_REPORT: report, PYTHONPATH: `${CHECKS}:${checkout}` };
  const args = [
    "-m",
    "pytest",
    "sandbox/tests",
    ...options,
    "-o",
    "addopts=--ignore=sandbox/tests/runners/samples",
  ];
  await Deno.writeTextFile(join(HOME, "pytest.txt"), await attempt(program, args, { env, cwd: checkout }));
  const lines = (await Deno.readTextFile(report)).trim().split("\n");
  return [...new Map(lines.map((line) => JSON.parse(line)).map((row) => [row.name, row])).values()];
}

function matches(entry: string, name: string): boolean {
  return name === entry || name.startsWith(`${entry}::`);
}

function exceptionOf(name: string): Exception | undefined {
  return exceptions.find(({ tests }) => tests.some((entry) => matches(entry, name)));
}

/** Returns the tests that are not listed but should be, and the entries that are listed but should not be. */
function problemsOf(outcomes: readonly TestOutcome[]): string[] {
  const entries = exceptions.flatMap(({ tests }) => tests);
  const stale = entries.filter((entry) => !outcomes.some(({ name }) => matches(entry, name)));
  return [
    ...stale.map((entry) => `listed, but no such test ran: ${entry}`),
    ...outcomes.flatMap((outcome) => {
      const exception = exceptionOf(outcome.name);
      const found = stateOf(outcome);
      const expected = exception === undefined ? "passed" : exception.needs ?? "failed";
      return found === expected ? [] : [`${outcome.name}: listed as '${expected}', but is '${found}'`];
    }),
  ];
}

type State = "passed" | "failed" | Need;

function stateOf({ passed, served = 0, refused = 0, lacking = 0 }: TestOutcome): State {
  if (refused > 0) return "language";
  if (served === 0) return "nothing";
  if (lacking > 0) return "package"; // also if it expects that the program fails
  return passed ? "passed" : "failed";
}
