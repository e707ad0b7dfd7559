import { parse } from "@std/jsonc";
import { Command } from "commander";
import { resolve } from "node:path";
import { z } from "zod";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { currentIo } from "../../src/cli/io.ts";
import { parseWholeNumber } from "../../src/cli/options.ts";
import { writeText } from "../../src/cli/output.ts";
import { flagsOf } from "../../src/cli/sandbox_options.ts";
import type { ExecResult } from "../../src/sandbox/contract/exec.ts";
import { parseProfile, type Profile } from "../../src/sandbox/profile/profile.ts";
import { Sandbox, type Session } from "../../mod/sandbox.ts";
import { exitWithUsage } from "../program.ts";
import runModule from "./run_module.py" with { type: "text" };

interface CPythonFlags {
  tests: string;
  timeout: number;
  all?: boolean;
  programs?: boolean;
  json?: string;
  logs?: string;
}

const EXPECTED = new URL("expected.jsonc", import.meta.url);

/** Most tests of a module that may fail, as a part of all, beside those of fixes that the sandbox's CPython lacks. */
const MAX_LISTED = 0.03;
/** The same in modules of sockets. */
const MAX_LISTED_OF_SOCKETS = 0.08;

/** Begins the reason for tests that fail in the native CPython 3.14.2 too. */
const NEWER = "fixed after 3.14.2";
/** Begins the reason for tests that need a part of the library which the sandbox lacks. */
const NO_TLS = "there is no TLS";

/** Precedes what the program in the sandbox writes about its progress. */
const MARK = "\x1e";

const NOTES = `
DIR is the folder 'test' of CPython 3.14's library, such as /usr/lib/python3.14/test of Debian's package
libpython3.14-testsuite. Each module runs as a program in a session that was rewound. Tests that CPython skips on
Emscripten only because it has no threads or no deep stack are run.

expected.jsonc names the required modules, with the tests in them that may fail and the reason (at most 3 % of a
module, 8 % of one of sockets, not counting tests of fixes made after CPython 3.14.2 and of TLS), and the modules in which no test fails. A failing
test that is not listed is unexpected, and so is a listed one that passes, a module that does not end, and a
required module that is skipped.

Exit codes: 0 nothing unexpected; 1 otherwise; 2 wrong usage; 125 the sandbox failed; 130 interrupted.`;

function cpythonCommand(): Command {
  return new Command("cpython")
    .description("Run modules of CPython's own tests in a sandbox")
    .argument("[modules...]", "modules, such as test_queue (default: the required ones of expected.jsonc)")
    .requiredOption("--tests <dir>", "folder of CPython's tests")
    .option("--all", "also run the modules of expected.jsonc that pass completely")
    .option("--programs", "also run tests that start programs")
    .option("--timeout <n>", "time limit of a module, in seconds", parseWholeNumber(1), 300)
    .option("--json <file>", "file for the outcomes")
    .option("--logs <dir>", "folder for what each module writes to stderr, with the tracebacks")
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((modules: string[], _: object, command: Command) =>
      runCommand(async (signal) => await runModules(modules, flagsOf<CPythonFlags>(command), signal))
    );
}

const outcomeSchema = z.object({
  run: z.number(),
  skipped: z.record(z.string(), z.string()),
  failed: z.record(z.string(), z.string()),
  seconds: z.number(),
});

/** Outcome of a module. `lost` says how it ended if it did not end by itself. */
type Outcome = z.infer<typeof outcomeSchema> & { readonly lost?: string };

const expectedSchema = z.strictObject({
  required: z.record(z.string(), z.record(z.string(), z.array(z.string()))),
  sockets: z.record(z.string(), z.record(z.string(), z.array(z.string()))),
  complete: z.array(z.string()),
});

/** Modules that must pass. Tests of `required` ones and of those of `sockets` may fail if they are listed, by module and reason. */
type Expected = z.infer<typeof expectedSchema>;

async function runModules(names: string[], flags: CPythonFlags, signal: AbortSignal): Promise<number> {
  const expected = expectedSchema.parse(parse(await Deno.readTextFile(EXPECTED)));
  const modules = modulesOf(names, flags, expected);
  await using sandbox = await Sandbox.start({ profile: suiteProfile(flags), signal });
  const session = await sandbox.openSession({ signal });
  const outcomes: Record<string, Outcome> = {};
  const totals = { complete: 0, unexpected: 0 };
  await print(tableRow(["module", "cases", "passed", "skipped", "listed", "unexpected", "seconds"]));
  for (const name of modules) {
    const onTest = progressOf(`${Object.keys(outcomes).length + 1}/${modules.length} ${name}`);
    const { outcome, log } = await runTests(name, { session, programs: flags.programs, signal, onTest });
    outcomes[name] = outcome;
    const reasons = expected.required[name] ?? expected.sockets[name] ?? {};
    const known = Object.values(reasons).flat();
    const differences = differencesOf(outcome, reasons, {
      isRequired: name in expected.required || name in expected.sockets,
      maxListed: name in expected.sockets ? MAX_LISTED_OF_SOCKETS : MAX_LISTED,
    });
    totals.unexpected += differences.length;
    if (isComplete(outcome)) totals.complete++;
    await onTest("");
    await print(rowOf(name, outcome, { listed: known.length, unexpected: differences.length }));
    for (const line of differences) await print(`  ${line}`);
    if (flags.json !== undefined) await Deno.writeTextFile(flags.json, JSON.stringify(outcomes, null, 1));
    if (flags.logs !== undefined) await Deno.writeTextFile(`${flags.logs}/${name}.log`, log);
  }
  const { complete, unexpected } = totals;
  await print(`${complete} of ${modules.length} modules pass completely; ${unexpected} unexpected outcomes`);
  return unexpected === 0 ? EXIT.ok : EXIT.error;
}

function modulesOf(
  names: string[],
  { all }: CPythonFlags,
  { required, sockets, complete }: Expected,
): string[] {
  const wrong = names.find((name) => !/^test_\w+(\.\w+)*$/.test(name));
  if (wrong !== undefined) {
    throw new UsageError(`Cannot run '${wrong}' as it must be the name of a test module`);
  }
  if (names.length > 0 && all) throw new UsageError("Cannot run named modules with --all");
  if (names.length > 0) return names;
  const listed = [...Object.keys(required), ...Object.keys(sockets)];
  return all ? [...listed, ...complete] : listed;
}

function suiteProfile({ tests, timeout }: CPythonFlags): Profile {
  const settings = {
    description: "CPython's tests",
    preimports: ["doctest", "tempfile", "unittest", "unittest.mock"],
    limits: {
      timeoutMs: timeout * 1000,
      cpuSeconds: 3600,
      memoryBytes: 1 << 30,
      fileBytes: 1 << 28,
      outputBytes: 1 << 24,
    },
    mounts: { "/cpython/test": resolve(tests), "/cpython/zoneinfo": resolve(tests, "../zoneinfo") },
  };
  return parseProfile(JSON.stringify(settings), { source: "cpython" });
}

/** Runs a module in the state after the session's start. If it ended the interpreter, the next one gets a new one. */
async function runTests(
  name: string,
  { session, programs = false, signal, onTest }: {
    session: Session;
    programs?: boolean | undefined;
    signal: AbortSignal;
    onTest: (id: string) => Promise<void>;
  },
): Promise<{ outcome: Outcome; log: string }> {
  await session.reset({ mode: "rewind", signal });
  const startedAt = performance.now();
  const result = await session.exec(runModule, {
    argv: ["run_module.py", name, "/cpython", programs ? "1" : "0"],
    signal,
    onOutput: (stream, text) => stream === "stderr" ? onTest(lastTest(text)) : undefined,
  });
  signal.throwIfAborted();
  const line = result.stdout.trimEnd().split("\n").at(-1) ?? "";
  const outcome = result.status === "ok" ? outcomeSchema.safeParse(parseOrUndefined(line)) : undefined;
  const log = result.stderr;
  if (outcome?.success) return { outcome: outcome.data, log };
  const seconds = (performance.now() - startedAt) / 1000;
  const lost = `${describeLoss(result)}; last test: ${lastTest(log)}`;
  return { outcome: { run: 0, skipped: {}, failed: {}, seconds, lost }, log };
}

/** Returns the id of the last test that the program names in a piece of its log. */
function lastTest(log: string): string {
  return log.split(MARK).findLast((piece) => piece.startsWith("test."))?.trim().split("\n")[0] ?? "";
}

function parseOrUndefined(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function describeLoss(result: ExecResult): string {
  const trace = "error" in result ? result.error.traceback : result.stderr;
  return `${result.status}: ${trace.trimEnd().split("\n").slice(-3).join(" | ").slice(0, 500)}`;
}

function isComplete({ run, failed, lost }: Outcome): boolean {
  return lost === undefined && run > 0 && Object.keys(failed).length === 0;
}

function differencesOf(
  outcome: Outcome,
  reasons: Readonly<Record<string, readonly string[]>>,
  { isRequired, maxListed }: { isRequired: boolean; maxListed: number },
): string[] {
  const listed = Object.values(reasons).flat();
  const counted = Object.entries(reasons).flatMap(([reason, ids]) =>
    reason.startsWith(NEWER) || reason.startsWith(NO_TLS) ? [] : ids
  );
  const { run, failed, skipped, lost } = outcome;
  if (lost !== undefined) return [`lost: ${lost}`];
  if (run === 0 && isRequired) return [`skipped: ${Object.values(skipped).join(", ")}`];
  const fails = Object.entries(failed).filter(([id]) => !listed.includes(id));
  const passes = listed.filter((id) => !(id in failed));
  const tooMany = counted.length > maxListed * run ? [`${counted.length} of ${run} tests are listed`] : [];
  return [
    ...fails.map(([id, why]) => `fails: ${id}: ${why.replaceAll("\n", " ")}`),
    ...passes.map((id) => `listed but passes: ${id}`),
    ...tooMany,
  ];
}

async function print(line: string): Promise<void> {
  await writeText(currentIo().stdout, `${line}\n`);
}

/** Returns a function that shows the running test on a terminal. */
function progressOf(title: string): (id: string) => Promise<void> {
  const { stderr } = currentIo();
  if (!stderr.isTerminal()) return () => Promise.resolve();
  return async (id) => await writeText(stderr, `\r\x1b[K${id === "" ? "" : `${title}: ${id}`.slice(0, 100)}`);
}

function rowOf(name: string, outcome: Outcome, counts: { listed: number; unexpected: number }): string {
  const { run, skipped, failed, lost, seconds } = outcome;
  const ids = new Set([...Object.keys(skipped), ...Object.keys(failed)]);
  const passed = lost === undefined ? `${Math.max(0, run - ids.size)}` : "lost";
  const cells = [run, passed, Object.keys(skipped).length, counts.listed, counts.unexpected];
  return tableRow([name, ...cells.map(String), seconds.toFixed(1)]);
}

function tableRow([name = "", ...cells]: string[]): string {
  return name.padEnd(28) + cells.map((cell) => cell.padStart(11)).join("");
}

if (import.meta.main) await cpythonCommand().parseAsync(Deno.args, { from: "user" });
