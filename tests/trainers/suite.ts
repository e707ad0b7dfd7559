import { parseArgs } from "node:util";
import * as z from "zod";
import { parseUntrustedJson } from "../../src/json.ts";

const suiteFile = z.strictObject({
  python: z.string().regex(/^3\.\d+$/),
  packages: z.array(z.string()).min(1),
  serve: z.array(z.string()).default(["--max-sessions", "8"]),
  checkouts: z.record(
    z.string().regex(/^[a-z0-9_]+$/),
    z.strictObject({ repository: z.url(), commit: z.string().regex(/^[0-9a-f]{40}$/) }),
  ).default({}),
  editable: z.boolean().default(false),
  command: z.array(z.string()).min(1).default(["python", "-m", "pytest"]),
  exceptions: z.record(z.string(), z.string().min(10)).default({}),
});

/** Checks of one project, as its `suite.json` describes them. Each field is explained in `README.md`. */
export type Suite = z.output<typeof suiteFile>;

/** Parses a `suite.json`. Throws if a field is unknown or invalid. */
export function parseSuite(text: string): Suite {
  return suiteFile.parse(parseUntrustedJson(text));
}

/** Arguments of the command line. */
export interface RunOptions {
  /** Names of the suites to run; all if empty. */
  readonly names: readonly string[];
  /** True if the suites are only listed. */
  readonly list: boolean;
}

/** Reads the arguments of the command line. */
export function parseRunOptions(args: readonly string[]): RunOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { list: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  return { names: positionals, list: values.list };
}

/** Returns the suites to run. Throws if a name is not that of a suite. */
export function chooseSuites(all: readonly string[], names: readonly string[]): string[] {
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot run suite '${unknown}' as it must be one of ${all.join(", ")}`);
  }
  return all.filter((name) => names.length === 0 || names.includes(name));
}

/** Outcome of one suite. */
export interface SuiteReport {
  readonly passed: number;
  /** Number of tests that may fail and did. */
  readonly excepted: number;
  /** Names of tests that failed or were skipped, and of exceptions that passed or did not run. */
  readonly problems: readonly string[];
}

/**
 * Reads a JUnit report. A skipped test is a problem, and so is an exception that no longer fails: both hide a change of
 * the other project. A report without a passed test is a problem too.
 */
export function readReport(junit: string, exceptions: Readonly<Record<string, string>> = {}): SuiteReport {
  const problems: string[] = [];
  const left = new Set(Object.keys(exceptions));
  let passed = 0;
  let excepted = 0;
  for (const { name, outcome } of testCases(junit)) {
    const isException = name in exceptions;
    left.delete(name);
    if (outcome === "passed") passed++;
    if (outcome !== "passed" && isException) excepted++;
    if (outcome !== "passed" && !isException) problems.push(`${outcome}: ${name}`);
    if (outcome === "passed" && isException) problems.push(`passed in spite of its exception: ${name}`);
  }
  for (const name of left) problems.push(`did not run, but is an exception: ${name}`);
  if (passed === 0) problems.push("no test passed");
  return { passed, excepted, problems };
}

interface TestCase {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
}

function testCases(junit: string): TestCase[] {
  return [...junit.matchAll(/<testcase\b([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)].map(
    ([, tag = "", body = ""]) => {
      const name = [attribute(tag, "classname"), attribute(tag, "name")].filter(Boolean).join("::");
      if (/<(failure|error)\b/.test(body)) return { name, outcome: "failed" };
      return { name, outcome: /<skipped\b/.test(body) ? "skipped" : "passed" };
    },
  );
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function attribute(tag: string, name: string): string {
  const value = [...tag.matchAll(/([\w:]+)="([^"]*)"/g)].find(([, key]) => key === name)?.[2] ?? "";
  return value.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => ENTITIES[entity] ?? "");
}
