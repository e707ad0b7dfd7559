/**
 * Runs the SDKs of E2B in Python and JavaScript, of exact versions, against `paddock serve`: 40 calls each, and their own
 * tests where `PADDOCK_E2B` and `PADDOCK_E2B_CODE_INTERPRETER` name checkouts of their repositories. Those run with the
 * versions of the checkouts.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { Serving } from "../../../../bench/serving.ts";
import { ROOT, run } from "../../../../packaging/sources.ts";
import { writeText } from "../../../../src/cli/output.ts";
import { block } from "../../../readme/pages.ts";
import CANNOT_PASS from "./sdk_checks/cannot_pass.json" with { type: "json" };

const HOME = join(ROOT, ".paddock", "e2b");
const CALLS = join(ROOT, "tests", "server", "adapters", "e2b", "sdk_checks");
const PYTHON = ["e2b==2.63.0", "e2b-code-interpreter==2.11.5"];
const JAVASCRIPT = ["e2b@2.51.0", "@e2b/code-interpreter@2.8.0"];
const PYTEST = ["pytest==9.0.2", "pytest-asyncio==1.5.0", "pytest-timeout==2.4.0", "python-dotenv==1.2.4"];
const VITEST = ["vitest@4.1.10", "msw@2.12.10", "dotenv@16.4.5", "error-stack-parser-es@2.0.1"];
const TOKEN = "e2b_0123456789abcdef0123456789abcdef01234567";
const CALLS_OF_EACH = 40;
/** Share of the SDKs' own tests that must pass. */
const LEAST_SHARE = 0.95;

/** Folders of tests that need templates, git or the internet, or another runtime than Node and Python. */
const LEFT_OUT = /template|\/git\/|test_git|internet|runtimes|bundle|browser|performance/i;

interface TestOutcome {
  readonly name: string;
  readonly isPassed: boolean;
}

/** Serves with a shell, and returns the variables of the SDKs. */
async function serve(): Promise<{ server: Serving; env: Record<string, string> }> {
  const server = await Serving.start("--profile", "workspace", "--max-sessions", "6", "--token", TOKEN);
  return { server, env: { E2B_API_URL: server.url, E2B_SANDBOX_URL: server.url, E2B_API_KEY: TOKEN } };
}

async function installPython(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(HOME, name);
  await run("python3", ["-m", "venv", folder]);
  const python = join(folder, "bin", "python");
  await run(python, ["-m", "pip", "install", "--quiet", ...packages]);
  return python;
}

async function installJavaScript(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(HOME, name);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await run("npm", ["install", "--prefix", folder, "--silent", "--no-audit", ...packages]);
  return folder;
}

/** Runs a command to its end, whatever its exit code. */
async function attempt(
  command: string,
  args: readonly string[],
  options: Deno.CommandOptions,
): Promise<string> {
  const { stdout } = await new Deno.Command(command, { args: [...args], ...options, stdin: "null" }).output();
  return new TextDecoder().decode(stdout);
}

function checkCalls(lines: string): void {
  const calls = lines.trim().split("\n").map((line) => JSON.parse(line));
  const failed = calls.filter(({ error }) => error !== null);
  assertEquals([calls.length, failed.map(({ name }) => name)], [CALLS_OF_EACH, []], JSON.stringify(failed));
}

Deno.test("the Python SDKs of E2B make 40 calls, with their variables alone", async () => {
  const { server, env } = await serve();
  await using _server = server;
  const python = await installPython("python", PYTHON);
  checkCalls(await attempt(python, [join(CALLS, "calls.py")], { env }));
});

Deno.test("the program of docs/e2b.md prints what its comments say", async () => {
  const { server, env } = await serve();
  await using _server = server;
  const python = await installPython("python", PYTHON);
  const program = block("E2B", "python");
  const comments = [...program.matchAll(/ {2}# (.+)$/gm)].map(([, text]) => text);
  const printed = await attempt(python, ["-c", program], { env });
  assertEquals(printed.trim().split("\n"), comments);
});

Deno.test("the JavaScript SDKs of E2B make 40 calls, with their variables alone", async () => {
  const { server, env } = await serve();
  await using _server = server;
  const folder = await installJavaScript("javascript", JAVASCRIPT);
  await Deno.copyFile(join(CALLS, "calls.mjs"), join(folder, "calls.mjs"));
  checkCalls(await attempt("node", ["calls.mjs"], { env, cwd: folder }));
});

/** Tests of the SDKs alone, which mock the server or expect the URLs of E2B. */
const ALONE = {
  python: /test_(connection_config|sandbox_urls|config_propagation)\.py$/,
  javascript: /from 'msw|urls\.test|rpcHeaders\.test/,
};

const CHECKOUTS = { e2b: "PADDOCK_E2B", codeInterpreter: "PADDOCK_E2B_CODE_INTERPRETER" } as const;

for (const variable of Object.values(CHECKOUTS)) {
  const checkout = Deno.env.get(variable);
  const [python, javascript] = variable === CHECKOUTS.e2b
    ? ["packages/python-sdk", "packages/js-sdk"]
    : ["python", "js"];
  Deno.test({
    name: `the Python tests of ${variable} pass, but for those that cannot`,
    ignore: !checkout,
    fn: () => checkSuite(join(checkout ?? "", python), runPytest),
  });
  Deno.test({
    name: `the JavaScript tests of ${variable} pass, but for those that cannot`,
    ignore: !checkout,
    fn: () => checkSuite(join(checkout ?? "", javascript), runVitest),
  });
}

type RunTests = (folder: string, env: Record<string, string>) => Promise<TestOutcome[]>;

async function checkSuite(folder: string, runTests: RunTests): Promise<void> {
  const { server, env } = await serve();
  await using _server = server;
  const outcomes = await runTests(folder, env);
  const rowOf = (name: string) => CANNOT_PASS.find(({ tests }) => new RegExp(tests).test(name));
  const failed = outcomes.filter(({ isPassed }) => !isPassed).map(({ name }) => name);
  // tests that pass although they match a row are counted, those that need a template or the internet are not
  const own = failed.filter((name) => rowOf(name)?.needs === undefined);
  const byReason = Object.groupBy(own, (name) => rowOf(name)?.reason ?? "unknown");
  const rows = Object.entries(byReason).map(([reason, names = []]) => `  ${names.length} ${reason}\n`);
  const passed = outcomes.length - failed.length;
  const total = passed + own.length;
  const share = `${(100 * passed / total).toFixed(1)} %`;
  await writeText(Deno.stdout, `${folder}: ${passed} of ${total} tests pass (${share})\n${rows.join("")}`);
  assert(outcomes.length > 0, "no test was run");
  assertEquals(failed.filter((name) => rowOf(name) === undefined), []);
  assert(passed >= LEAST_SHARE * total);
}

async function runPytest(folder: string, env: Record<string, string>): Promise<TestOutcome[]> {
  const project = await Deno.readTextFile(join(folder, "pyproject.toml"));
  const [, name = "", version = ""] = project.match(/^name = "(.+)"\nversion = "(.+)"/m) ?? [];
  const lock = await Deno.readTextFile(join(folder, "poetry.lock")).catch(() => ""); // not every project has one
  const [, base] = lock.match(/^name = "e2b"\nversion = "(.+)"/m) ?? [];
  const packages = [`${name}==${version}`, ...base === undefined ? [] : [`e2b==${base}`]];
  const python = await installPython(`${name}-tests`, [...packages, ...PYTEST]);
  const options = ["-q", "-rA", "--tb=no", "--timeout=60", "-p", "no:cacheprovider"];
  const args = [...options, "-o", "addopts=--import-mode=importlib"];
  const run = async (paths: readonly string[], env: Record<string, string>) => {
    const output = await attempt(python, ["-m", "pytest", ...paths, ...args], { env, cwd: folder });
    const rows = [...output.matchAll(/^(PASSED|FAILED|ERROR) (\S+::\S+)/gm)];
    return rows.map(([, status, name = ""]) => ({ name, isPassed: status === "PASSED" }));
  };
  const alone = (await testFiles(join(folder, "tests"))).filter((path) => ALONE.python.test(path));
  return outcomesOf([
    ...await run(["tests"], env),
    ...alone.length > 0 ? await run(alone, { E2B_API_KEY: TOKEN }) : [],
  ]);
}

async function runVitest(folder: string, env: Record<string, string>): Promise<TestOutcome[]> {
  const { name, dependencies } = JSON.parse(await Deno.readTextFile(join(folder, "package.json")));
  const packages = Object.entries<string>(dependencies).map(([name, range]) => `${name}@${range}`);
  const modules = await installJavaScript(`${name.replace(/\W/g, "-")}-tests`, [...VITEST, ...packages]);
  await Deno.remove(join(folder, "node_modules")).catch(() => {}); // there is none yet
  await Deno.symlink(join(modules, "node_modules"), join(folder, "node_modules"));
  const [config, out] = [join(folder, "paddock.vitest.mjs"), join(modules, "report.json")];
  const setup = "tests/globalFetchFallback.setup.ts";
  const hasSetup = await Deno.stat(join(folder, setup)).then(() => true, () => false);
  const test = {
    include: ["tests/**/*.test.ts"],
    exclude: [
      "tests/runtimes/**",
      "tests/template/**",
      "tests/bundle/**",
      "**/sandbox/git/**",
      "**/*.browser.*",
    ],
    testTimeout: 40_000,
    hookTimeout: 40_000,
    fileParallelism: false,
    setupFiles: hasSetup ? [setup] : [],
    reporters: ["json"],
    outputFile: out,
  };
  await Deno.writeTextFile(config, `export default ${JSON.stringify({ test })};\n`);
  const vitest = join(modules, "node_modules", ".bin", "vitest");
  const run = async (paths: readonly string[], env: Record<string, string>) => {
    await attempt(vitest, ["run", "--config", config, ...paths], { env, cwd: folder });
    const { testResults }: VitestReport = JSON.parse(await Deno.readTextFile(out));
    return testResults.flatMap(({ name: file, assertionResults }) =>
      assertionResults.filter(({ status }) => status === "passed" || status === "failed")
        .map(({ fullName, status }) => ({
          name: `${file.slice(folder.length + 1)}::${fullName}`,
          isPassed: status === "passed",
        }))
    );
  };
  const files = await testFiles(join(folder, "tests"));
  const texts = await Promise.all(files.map(async (path) => `${path}\n${await Deno.readTextFile(path)}`));
  const alone = files.filter((_, index) => ALONE.javascript.test(texts[index] ?? ""));
  const outcomes = [
    ...await run([], env),
    ...alone.length > 0 ? await run(alone, { E2B_API_KEY: TOKEN }) : [],
  ];
  await Deno.remove(config);
  return outcomesOf(outcomes);
}

interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Returns the paths of the files below a folder. */
async function testFiles(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const paths = await Promise.all(entries.map(({ name, isDirectory }) => {
    return isDirectory ? testFiles(join(folder, name)) : [join(folder, name)];
  }));
  return paths.flat().filter((path) => !LEFT_OUT.test(path.slice(path.indexOf("tests"))));
}

/** Returns the outcome of each test that the checks are about. One of two outcomes that passes is the test's. */
function outcomesOf(outcomes: readonly TestOutcome[]): TestOutcome[] {
  const passed = new Set(outcomes.filter(({ isPassed }) => isPassed).map(({ name }) => name));
  const names = new Set(outcomes.map(({ name }) => name));
  return [...names].filter((name) => !LEFT_OUT.test(name)).map((name) => ({
    name,
    isPassed: passed.has(name),
  }));
}
