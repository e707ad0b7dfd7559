/**
 * Runs checks against the real packages of trainers and agents. Each suite is a folder `<name>_checks`, see `README.md`.
 *
 *     deno task trainers [--list] [name…]
 */
import { delimiter, join } from "node:path";
import { Serving } from "../../bench/serving.ts";
import { ROOT } from "../../packaging/sources.ts";
import { writeText } from "../../src/cli/output.ts";
import { formatDuration } from "../run_suite.ts";
import { createEnvironment, fetchCheckouts, HOME, listVersions, SUITES } from "./environment.ts";
import {
  chooseSuites,
  parseRunOptions,
  parseSuite,
  readReport,
  type Suite,
  type SuiteReport,
} from "./suite.ts";

/** Row of the table at the end. */
export interface SuiteRow extends SuiteReport {
  readonly name: string;
  /** Versions of the packages that the suite names. */
  readonly versions: string;
  readonly ms: number;
}

const SUFFIX = "_checks";
const HEADER = ["suite", "versions", "passed", "exceptions", "problems", "time"];

/** Formats the table of all suites, and their problems below it. */
export function formatTable(rows: readonly SuiteRow[]): string {
  const cells = rows.map((row) => [
    row.name,
    row.versions,
    String(row.passed),
    String(row.excepted),
    String(row.problems.length),
    formatDuration(row.ms),
  ]);
  const widths = HEADER.map((_, column) =>
    Math.max(...[HEADER, ...cells].map((line) => line[column]?.length ?? 0))
  );
  const lines = [HEADER, widths.map((width) => "-".repeat(width)), ...cells].map((line) =>
    line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  );
  const problems = rows.flatMap(({ name, problems }) => problems.map((problem) => `✗ ${name}: ${problem}`));
  return [...lines, ...problems].map((line) => `${line}\n`).join("");
}

async function listSuites(): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(SUITES));
  const folders = entries.filter(({ name, isDirectory }) => isDirectory && name.endsWith(SUFFIX));
  return folders.map(({ name }) => name.slice(0, -SUFFIX.length)).sort();
}

async function runSuite(name: string): Promise<SuiteRow> {
  const startedAt = performance.now();
  const ms = () => performance.now() - startedAt;
  let versions = "";
  try {
    const suite = parseSuite(await Deno.readTextFile(join(SUITES, name + SUFFIX, "suite.json")));
    const environment = await createEnvironment(name, suite);
    const all = await listVersions(environment);
    versions = chosenVersions(all, suite.packages);
    const report = await runCommand(name, suite, { environment, versions: all });
    return { ...report, name, versions, ms: ms() };
  } catch (error) {
    return { name, versions, passed: 0, excepted: 0, problems: [String(error)], ms: ms() };
  }
}

/** Returns the versions of some packages. Throws if one is not installed. */
export function chosenVersions(freeze: string, packages: readonly string[]): string {
  return packages.map((name) => {
    const version = freeze.split("\n").map((line) => line.split("==")).find(([other]) => other === name)?.[1];
    if (version === undefined) throw new RangeError(`Cannot find '${name}' as the lock file must list it`);
    return `${name} ${version}`;
  }).join(", ");
}

/** Runs the command of a suite beside a server, and returns its report. The output is printed and kept in a log. */
async function runCommand(
  name: string,
  suite: Suite,
  { environment, versions }: { environment: string; versions: string },
): Promise<SuiteReport> {
  const checkouts = await fetchCheckouts(suite);
  const logs = join(HOME, "logs");
  await Deno.mkdir(logs, { recursive: true });
  const report = join(logs, `${name}.xml`);
  await Deno.remove(report).catch(() => {}); // the first run has none
  await using serving = await Serving.start(...suite.serve);
  const [program = "", ...args] = suite.command;
  const isPytest = args.includes("pytest");
  const child = new Deno.Command(program === "python" ? join(environment, "bin", "python") : program, {
    args: [...args, ...isPytest ? ["--junit-xml", report, "-ra", "-p", "no:cacheprovider", "."] : []],
    cwd: join(SUITES, name + SUFFIX),
    env: {
      ...checkouts,
      CUDA_VISIBLE_DEVICES: "",
      HF_HUB_OFFLINE: "1",
      PADDOCK_JUNIT: report,
      PADDOCK_ROOT: ROOT,
      PADDOCK_URL: serving.url,
      PATH: [join(environment, "bin"), Deno.env.get("PATH")].join(delimiter),
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONPATH: [join(ROOT, "packaging", "python"), SUITES].join(delimiter),
      PYTHONUNBUFFERED: "1",
    },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  using log = await Deno.open(join(logs, `${name}.txt`), { create: true, write: true, truncate: true });
  await writeText(log, `${versions}\n`);
  await Promise.all([child.stdout, child.stderr].map(async (stream) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      await Promise.all([writeText(log, text), writeText(Deno.stdout, text)]);
    }
  }));
  const { code } = await child.status;
  const result = readReport(await Deno.readTextFile(report).catch(() => ""), suite.exceptions);
  const isUnexplained = code !== 0 && result.problems.length === 0 && result.excepted === 0;
  return isUnexplained ? { ...result, problems: [`the command ended with code ${code}`] } : result;
}

if (import.meta.main) {
  const all = await listSuites();
  const { names, list } = parseRunOptions(Deno.args);
  const chosen = chooseSuites(all, names);
  if (list) {
    await writeText(Deno.stdout, chosen.map((name) => `${name}\n`).join(""));
    Deno.exit(0);
  }
  const rows: SuiteRow[] = [];
  for (const name of chosen) rows.push(await runSuite(name));
  await writeText(Deno.stdout, `\n${formatTable(rows)}\nThe logs are in ${join(HOME, "logs")}\n`);
  Deno.exit(rows.some(({ problems }) => problems.length > 0) ? 1 : 0);
}
