import { Command } from "commander";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { flagsOf } from "../../src/cli/sandbox_options.ts";
import { collectValues, parseWholeNumber } from "../../src/cli/options.ts";
import { errorMessage } from "../../src/errors.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { writeText } from "../../src/cli/output.ts";
import { exitWithUsage } from "../program.ts";
import {
  type Bounds,
  type CaseResult,
  COMMAND_BOUNDS,
  type CommandCase,
  formatCases,
  formatComparison,
  type Measured,
  missedBounds,
  SERVER_BOUNDS,
  type ServerCase,
} from "./case.ts";
import { BOMBS } from "./cases/bombs.ts";
import { CHECKPOINTS } from "./cases/checkpoints.ts";
import { COMMAND_LINES } from "./cases/command_lines.ts";
import { FLOODS } from "./cases/floods.ts";
import { LOCKOUTS } from "./cases/lockouts.ts";
import { PROGRAMS } from "./cases/programs.ts";
import { SLOW_PEERS } from "./cases/slow_peers.ts";
import { measureCommandCase } from "./command_case.ts";
import { measureServerCase, type SuiteOptions } from "./server_case.ts";

interface HostileFlags {
  only?: string[];
  list?: true;
  json?: string;
  before?: string;
  root: string;
  seconds: number;
  maxMemory: number;
}

const SERVER_CASES: readonly ServerCase[] = [
  ...BOMBS,
  ...FLOODS,
  ...SLOW_PEERS,
  ...LOCKOUTS,
  ...CHECKPOINTS,
  ...PROGRAMS,
];
const MIB = 1024 * 1024;
const MAX_SECONDS = 60;
const MAX_MEMORY_MIB = 6 * 1024;
const TREE = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");

const NOTES = `
Each case has a new server with the shipped defaults and two tokens. While one token attacks, the other one sends
small requests: /v1/health, an exec in its session, a grade, a program. Cases of the command line run it against a
lying file, model server or MCP server, and against an honest one.

Columns:
  memory   peak memory of the host process beyond its idle memory; of a command, beyond an honest run
  all      the same with all sandboxes
  kept     memory of the host process after the case, beyond its idle memory
  wait     longest wait of the other token and its request; of a command, its time
  quiet    the same before the case; of a command, its time with an honest peer
  ratio    wait divided by the wait beside an honest load of the same kind; measured if the wait is too long

Bounds: wait at most ${SERVER_BOUNDS.waitMs} ms beyond quiet, or ratio at most ${SERVER_BOUNDS.ratio};
memory at most ${SERVER_BOUNDS.hostBytes / MIB} MiB (512 configured and 256 beyond; of a command, 256);
kept at most ${
  SERVER_BOUNDS.keptBytes / MIB
} MiB. The other token keeps its session and its remembered response.

The suite sends requests only to loopback. It needs Linux, and some 8 GB of free memory. On a busy machine a wait
may be too long for another reason: repeat the case with --only.

Exit codes: 0 all bounds hold, 1 a bound is missed, 2 wrong usage.`;

function hostileCommand(): Command {
  return new Command("hostile")
    .description("Attack a server and the command line, and measure memory and the waits of another tenant")
    .option("--only <case>", "play only this case, or those of a fault such as S5; repeatable", collectValues)
    .option("--list", "list the cases and exit")
    .option("--json <file>", "also write the results to a file")
    .option("--before <file>", "print the results beside those of another run, which --json wrote")
    .option("--root <dir>", "test the command line of another checkout", TREE)
    .option("--seconds <n>", `time of a case, at most ${MAX_SECONDS}`, parseWholeNumber(1), 10)
    .option(
      "--max-memory <mib>",
      "memory above which a server is killed, beside what a case permits",
      parseWholeNumber(512),
      4096,
    )
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((_: object, command: Command) =>
      runCommand((signal) => runHostile(flagsOf<HostileFlags>(command), signal))
    );
}

async function runHostile(flags: HostileFlags, signal: AbortSignal): Promise<number> {
  const [servers, commands] = [selectCases(SERVER_CASES, flags.only), selectCases(COMMAND_LINES, flags.only)];
  const all = [...servers, ...commands];
  if (all.length === 0) throw new UsageError(`Cannot play '${flags.only}': --list shows the cases`);
  if (flags.list) {
    await writeText(
      Deno.stdout,
      all.map(({ name, fault, about }) => `${name.padEnd(26)}${fault.padEnd(8)}${about}\n`).join(""),
    );
    return EXIT.ok;
  }
  const options: SuiteOptions = {
    root: await Deno.realPath(flags.root),
    caseMs: Math.min(flags.seconds, MAX_SECONDS) * 1000,
    killBytes: Math.min(flags.maxMemory, MAX_MEMORY_MIB) * MIB,
  };
  const results: CaseResult[] = [];
  for await (const result of playCases({ servers, commands }, options)) {
    results.push(result);
    const { name, missed } = result;
    await writeText(
      Deno.stderr,
      `${results.length} of ${all.length}: ${name} ${missed.join(", ") || "ok"}\n`,
    );
    if (flags.json !== undefined) {
      await Deno.writeTextFile(flags.json, JSON.stringify(results, mapsAsObjects, 2));
    }
    if (signal.aborted) break;
  }
  const missed = results.filter((result) => result.missed.length > 0).length;
  const before: CaseResult[] | undefined = flags.before === undefined
    ? undefined
    : JSON.parse(await Deno.readTextFile(flags.before));
  const table = before === undefined ? formatCases(results) : formatComparison(before, results);
  const summary = `${missed} of ${results.length} cases miss a bound.`;
  await writeText(Deno.stdout, `${table}\n\n${summary}\n`);
  return missed > 0 ? EXIT.error : EXIT.ok;
}

async function* playCases(
  { servers, commands }: { servers: readonly ServerCase[]; commands: readonly CommandCase[] },
  options: SuiteOptions,
): AsyncGenerator<CaseResult> {
  for (const attack of servers) {
    yield await toResult(attack, () => measureServerCase(attack, options), SERVER_BOUNDS);
  }
  for (const attack of commands) {
    yield await toResult(attack, () => measureCommandCase(attack, options), COMMAND_BOUNDS);
  }
}

/** Judges the measurements of a case. A case that cannot be measured does not end the suite. */
async function toResult(
  { name, fault }: Pick<ServerCase, "name" | "fault">,
  measure: () => Promise<Measured>,
  bounds: Bounds,
): Promise<CaseResult> {
  try {
    const measured = await measure();
    return { name, fault, ...measured, missed: missedBounds(measured, bounds) };
  } catch (error) {
    const outcome = `not measured: ${errorMessage(error)}`;
    return { name, fault, ...NOTHING, outcome, missed: ["measurement"] };
  }
}

const NOTHING = { hostBytes: 0, treeBytes: 0, keptBytes: 0, waitMs: 0, quietMs: 0, waited: "", breaches: [] };

function selectCases<Case extends { name: string; fault: string }>(
  cases: readonly Case[],
  only: readonly string[] | undefined,
): readonly Case[] {
  return only === undefined
    ? cases
    : cases.filter(({ name, fault }) => only.includes(name) || only.includes(fault));
}

if (import.meta.main) await hostileCommand().parseAsync(Deno.args, { from: "user" });

function mapsAsObjects(_: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}
