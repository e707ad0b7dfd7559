import { parse } from "@std/jsonc";
import { Command } from "commander";
import { join } from "node:path";
import * as z from "zod";
import { Sandbox } from "../../mod/sandbox.ts";
import { ROOT, run } from "../../packaging/sources.ts";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { currentIo } from "../../src/cli/io.ts";
import { writeText } from "../../src/cli/output.ts";
import { flagsOf } from "../../src/cli/sandbox_options.ts";
import { parseProfile, type Profile } from "../../src/sandbox/profile/profile.ts";
import { exitWithUsage } from "../program.ts";
import { type Difference, differencesOf, type Outcomes } from "./differences.ts";
import runSuite from "./run_suite.py" with { type: "text" };
import SUITES from "./suites.json" with { type: "json" };

const HERE = new URL(".", import.meta.url);
const HOME = join(ROOT, ".paddock", "suites");
const SITE = join(HOME, "site");
const SOURCES = join(HOME, "sources");
const MINUTE_MS = 60_000;
/** Time limit of a suite in the sandbox. */
const TIMEOUT_MS = 60 * MINUTE_MS;
/** Precedes the outcomes in the output of `run_suite.py`. */
const MARK = "\x1e";

const NOTES = `
The packages and the sources with their tests come from the package index, by the hashes of requirements.txt, with pip.
The sources of rich have no tests there: the variable PADDOCK_RICH names a checkout of its version, else the suite is
left out. Each suite runs natively and in a session. expected.jsonc lists the tests that may differ, with the reason.

THE SUITES ALSO RUN ON THE HOST WITH ITS RIGHTS.

Exit codes: 0 no other differences, 1 some, 2 wrong usage, 125 the sandbox failed, 130 interrupted.`;

interface SuiteFlags {
  python: string;
  json?: string;
}

const suiteSchema = z.record(
  z.string(),
  z.strictObject({
    source: z.string().optional(),
    /** Variable that names a folder with the source. */
    checkout: z.string().optional(),
    tests: z.array(z.string()),
  }),
);
type Suite = z.output<typeof suiteSchema>[string];

/** Tests that may differ, by suite and reason. An entry is the beginning of the ids of some tests. */
const expectedSchema = z.record(z.string(), z.record(z.string(), z.array(z.string())));

function suitesCommand(): Command {
  return new Command("suites")
    .description("Run the test suites of packages natively and in a session, and compare their outcomes")
    .argument("[names...]", "suites (default: all)")
    .option("--python <path>", "native interpreter", "python3")
    .option("--json <file>", "file for the differences")
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((names: string[], _: object, command: Command) =>
      runCommand(async (signal) => await compareSuites(names, flagsOf<SuiteFlags>(command), signal))
    );
}

async function compareSuites(names: string[], flags: SuiteFlags, signal: AbortSignal): Promise<number> {
  const suites = suiteSchema.parse(SUITES);
  const unknown = names.find((name) => !Object.hasOwn(suites, name));
  if (unknown !== undefined) {
    throw new UsageError(
      `Cannot run suite '${unknown}' as it must be one of ${Object.keys(suites).join(", ")}`,
    );
  }
  const expected = expectedSchema.parse(parse(await Deno.readTextFile(new URL("expected.jsonc", HERE))));
  await install(flags.python);
  const found: Record<string, Difference[]> = {};
  await print(
    tableRow(["suite", "tests", "same", "passed", "listed", "unexpected", "native s", "session s"]),
  );
  for (const [name, suite] of Object.entries(suites)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const source = sourceOf(suite);
    if (source === undefined) {
      await print(`${name}: left out, as ${suite.checkout} names no checkout`);
      continue;
    }
    const native = await timed(() => runNatively(flags.python, source, suite.tests, signal));
    const session = await timed(() => runInSession(source, suite.tests, signal));
    const { same, passed, listed, unexpected } = differencesOf(
      native.value,
      session.value,
      expected[name] ?? {},
    );
    found[name] = unexpected;
    const counts = [Object.keys(native.value).length, same, passed, listed, unexpected.length].map(String);
    await print(tableRow([name, ...counts, native.seconds, session.seconds]));
    for (const { id, native, session } of unexpected) {
      await print(`  ${id}\n    native:  ${native}\n    session: ${session}`);
    }
    if (flags.json !== undefined) await Deno.writeTextFile(flags.json, JSON.stringify(found, null, 1));
  }
  return Object.values(found).every((list) => list.length === 0) ? EXIT.ok : EXIT.error;
}

/** Installs the packages and unpacks their sources. */
async function install(python: string): Promise<void> {
  const lock = join(HERE.pathname, "requirements.txt");
  const pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"];
  const hashed = ["--no-deps", "--require-hashes", "--requirement", lock];
  if (await Deno.stat(join(HOME, "done")).then(() => true, () => false)) return;
  await run(python, [...pip, "install", "--upgrade", "--target", SITE, ...hashed]);
  await run(python, [
    ...pip,
    "download",
    "--no-binary",
    sourcePackages().join(","), // and no others: pip builds metadata, with a compiler for some
    "--dest",
    join(HOME, "archives"),
    ...hashed,
  ]);
  await Deno.mkdir(SOURCES, { recursive: true });
  for await (const { name } of Deno.readDir(join(HOME, "archives"))) {
    if (name.endsWith(".tar.gz")) await run("tar", ["-xzf", join(HOME, "archives", name), "-C", SOURCES]);
  }
  await Deno.writeTextFile(join(HOME, "done"), "");
}

/** Returns the names of the packages whose sources have the tests. */
function sourcePackages(): string[] {
  const sources = Object.values(suiteSchema.parse(SUITES)).flatMap(({ source }) => source ?? []);
  return sources.map((source) => source.slice(0, source.lastIndexOf("-")));
}

function sourceOf({ source, checkout }: Suite): string | undefined {
  return source === undefined ? Deno.env.get(checkout ?? "") : join(SOURCES, source);
}

async function timed<Value>(task: () => Promise<Value>): Promise<{ value: Value; seconds: string }> {
  const startedMs = performance.now();
  const value = await task();
  return { value, seconds: ((performance.now() - startedMs) / 1000).toFixed(0) };
}

async function runNatively(
  python: string,
  source: string,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<Outcomes> {
  const script = new URL("run_suite.py", HERE).pathname;
  const { stdout, stderr } = await new Deno.Command(python, {
    args: ["-s", "-E", "-B", script, SITE, source, ...tests],
    clearEnv: true,
    env: { HOME: "/tmp", PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TERM: "dumb" },
    stdin: "null",
    signal,
  }).output();
  const decoder = new TextDecoder();
  return readOutcomes(decoder.decode(stdout), decoder.decode(stderr));
}

async function runInSession(
  source: string,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<Outcomes> {
  await using sandbox = await Sandbox.start({ profile: suiteProfile(source), signal });
  const session = await sandbox.openSession({ signal });
  const result = await session.exec(runSuite, {
    argv: ["run_suite.py", "/suite/site", "/suite/source", ...tests],
    signal,
  });
  const trace = "error" in result ? result.error.traceback : result.stderr;
  return readOutcomes(result.stdout, `${result.status}\n${trace}`);
}

function suiteProfile(source: string): Profile {
  const settings = {
    description: "Test suites of packages",
    shell: true,
    limits: {
      timeoutMs: TIMEOUT_MS,
      cpuSeconds: 3600,
      memoryBytes: 1 << 30,
      fileBytes: 1 << 28,
      outputBytes: 1 << 24,
    },
    mounts: { "/suite/site": SITE, "/suite/source": source },
  };
  return parseProfile(JSON.stringify(settings), { source: "suites" });
}

function readOutcomes(stdout: string, stderr: string): Outcomes {
  const line = stdout.slice(stdout.lastIndexOf(MARK) + 1);
  const shape = z.object({ code: z.number(), outcomes: z.record(z.string(), z.string()) });
  try {
    return shape.parse(JSON.parse(line)).outcomes;
  } catch {
    throw new Error(
      `Cannot read outcomes as the suite must end by itself: ${stdout.slice(-500)}${stderr.slice(-2000)}`,
    );
  }
}

async function print(line: string): Promise<void> {
  await writeText(currentIo().stdout, `${line}\n`);
}

function tableRow([name = "", ...cells]: string[]): string {
  return name.padEnd(16) + cells.map((cell) => cell.padStart(12)).join("");
}

if (import.meta.main) await suitesCommand().parseAsync(Deno.args, { from: "user" });
