import { parse } from "@std/jsonc";
import { Command } from "commander";
import { resolve } from "node:path";
import { z } from "zod";
import { EXIT, runCommand } from "../../src/cli/command.ts";
import { UsageError } from "../../src/cli/errors.ts";
import { currentIo } from "../../src/cli/io.ts";
import { parseWholeNumber } from "../../src/cli/options.ts";
import { writeText } from "../../src/cli/output.ts";
import { flagsOf } from "../../src/cli/sandbox_options.ts";
import type { ExecResult } from "../../src/sandbox/exec.ts";
import { parseProfile, type Profile } from "../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { exitWithUsage } from "../program.ts";
import runModule from "./run_module.py" with { type: "text" };

interface CPythonFlags {
  tests: string;
  timeout: number;
  json?: string;
}

const LISTED = new URL("listed.jsonc", import.meta.url);

const NOTES = `
DIR is the folder 'test' of CPython 3.14's library, such as /usr/lib/python3.14/test of Debian's package
libpython3.14-testsuite. Without modules, those of listed.jsonc are run. Each runs as a program in a session that was
rewound. listed.jsonc names tests that may fail, with the reason.

Exit codes: 0 every test passes that is not listed, and every listed one fails; 1 otherwise; 2 wrong usage.`;

function cpythonCommand(): Command {
  return new Command("cpython")
    .description("Run modules of CPython's own tests in a sandbox")
    .argument("[modules...]", "modules, such as test_queue")
    .requiredOption("--tests <dir>", "folder of CPython's tests")
    .option("--timeout <n>", "time limit of a module, in seconds", parseWholeNumber(1), 300)
    .option("--json <file>", "file for the outcomes")
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((modules: string[], _: object, command: Command) =>
      runCommand(async (signal) => await runModules(modules, flagsOf<CPythonFlags>(command), signal))
    );
}

const outcomeSchema = z.object({
  run: z.number(),
  skipped: z.number(),
  failed: z.record(z.string(), z.string()),
  seconds: z.number(),
  reason: z.string().optional(),
});

/** Outcome of a module. `lost` is the status of a module that did not end by itself. */
type Outcome = z.infer<typeof outcomeSchema> & { readonly lost?: string };

/** Tests that may fail, by module and reason. */
const listedSchema = z.record(z.string(), z.record(z.string(), z.array(z.string())));

async function runModules(names: string[], flags: CPythonFlags, signal: AbortSignal): Promise<number> {
  const listed = listedSchema.parse(parse(await Deno.readTextFile(LISTED)));
  const modules = names.length > 0 ? names : Object.keys(listed);
  const unknown = modules.find((name) => !/^test_\w+(\.\w+)?$/.test(name));
  if (unknown !== undefined) {
    throw new UsageError(`Cannot run '${unknown}' as it must be the name of a test module`);
  }
  const profile = suiteProfile(flags);
  const outcomes: Record<string, Outcome> = {};
  let unexpected = 0;
  const print = (line: string) => writeText(currentIo().stdout, `${line}\n`);
  await print("module                           run skipped  failed  listed seconds");
  for (const name of modules) {
    const outcome = await runTests(name, profile, signal);
    outcomes[name] = outcome;
    const known = new Set(Object.values(listed[name] ?? {}).flat());
    const differences = differencesOf(outcome, known);
    unexpected += differences.length;
    await print(rowOf(name, outcome, known.size));
    for (const line of differences) await print(`  ${line}`);
    if (flags.json !== undefined) await Deno.writeTextFile(flags.json, JSON.stringify(outcomes, null, 1));
  }
  const whole = Object.values(outcomes).filter(({ run, failed, lost }) =>
    lost === undefined && run > 0 && Object.keys(failed).length === 0
  );
  await print(
    `${whole.length} of ${modules.length} modules pass completely; ${unexpected} unexpected outcomes`,
  );
  return unexpected === 0 ? EXIT.ok : EXIT.error;
}

function suiteProfile({ tests, timeout }: CPythonFlags): Profile {
  const settings = {
    description: "CPython's tests",
    limits: {
      timeoutMs: timeout * 1000,
      cpuSeconds: 3600,
      memoryBytes: 1 << 30,
      fileBytes: 1 << 28,
      outputBytes: 1 << 24,
    },
    mounts: { "/cpython/test": resolve(tests) },
  };
  return parseProfile(JSON.stringify(settings), { source: "cpython" });
}

/** Runs a module in a process of its own, since a test may end it. */
async function runTests(name: string, profile: Profile, signal: AbortSignal): Promise<Outcome> {
  await using sandbox = await Sandbox.start({ profile, signal });
  const session = await sandbox.openSession({ signal });
  const startedAt = performance.now();
  const result = await session.exec(runModule, { argv: ["run_module.py", name], signal });
  signal.throwIfAborted();
  const line = result.stdout.trimEnd().split("\n").at(-1) ?? "";
  const outcome = result.status === "ok" ? outcomeSchema.safeParse(parseOrUndefined(line)) : undefined;
  if (outcome?.success) return outcome.data;
  const seconds = (performance.now() - startedAt) / 1000;
  return { run: 0, skipped: 0, failed: {}, seconds, lost: describeLoss(result) };
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

function differencesOf({ failed, lost }: Outcome, known: ReadonlySet<string>): string[] {
  if (lost !== undefined) return [`lost: ${lost}`];
  const fails = Object.entries(failed).filter(([id]) => !known.has(id));
  const passes = [...known].filter((id) => !(id in failed));
  return [
    ...fails.map(([id, why]) => `fails: ${id}: ${why}`),
    ...passes.map((id) => `listed but passes: ${id}`),
  ];
}

function rowOf(name: string, { run, skipped, failed, lost, seconds }: Outcome, listed: number): string {
  const count = lost === undefined ? `${Object.keys(failed).length}` : "lost";
  const cells = [run, skipped, count, listed, seconds.toFixed(1)].map((cell) => `${cell}`.padStart(8));
  return name.padEnd(28) + cells.join("");
}

if (import.meta.main) await cpythonCommand().parseAsync(Deno.args, { from: "user" });
