import { Command } from "commander";
import {
  dataDifferences,
  type PlayedRun,
  readRunRecord,
  settingDifferences,
  settingText,
} from "../../rollout/run_record.ts";
import { escapeJsonControls, escapeLine } from "../../terminal_text.ts";
import { compareRuns, type RunComparison } from "../../viewer/compare_runs.ts";
import { openIndex } from "../../viewer/index/run_index.ts";
import { formatChange, formatMs, formatNumber } from "../../viewer/pages/format.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { rethrowAsUsageError } from "../cli_errors.ts";
import { requireReadable } from "../input.ts";
import { currentIo } from "../io.ts";
import { parseWholeNumber } from "../options.ts";
import { writeText } from "../output.ts";
import { flagsOf } from "../sandbox_options.ts";

interface CompareFlags {
  limit: number;
  json?: true;
}

const NOTES = `
Settings and data are those of FILE.run.json, which rollout and grade write beside their files. Tasks are matched by
their id, and their rewards are means over their episodes. The interval is one of 95 percent over the tasks.

Examples:
  paddock compare runs/a.jsonl runs/b.jsonl
  paddock compare runs/a.jsonl runs/a.graded.jsonl --limit 50

Exit codes: 0 ok, 2 wrong usage or an unreadable file, 130 interrupted.`;

/** Returns the command `compare`, which prints how two runs and their rewards differ. */
export function compareCommand(): Command {
  return new Command("compare")
    .description("Compare two files of episodes: settings, figures and rewards of tasks")
    .argument("<first>", "JSON lines written by rollout --out")
    .argument("<second>", "JSON lines of another run of the same tasks")
    .option("--limit <n>", "tasks that are listed, the largest changes first", parseWholeNumber(0), 10)
    .option("--json", "print one line of JSON")
    .addHelpText("after", NOTES)
    .action(async (first: string, second: string, _: object, command: Command) => {
      await runCommand((signal) => runCompare([first, second], flagsOf(command), signal));
    });
}

async function runCompare(
  paths: readonly [string, string],
  { limit, json }: CompareFlags,
  signal: AbortSignal,
): Promise<number> {
  const [first, second] = [await readRun(paths[0], signal), await readRun(paths[1], signal)];
  const comparison = compareRuns(first.table, second.table);
  const settings = differencesOf(first.run, second.run);
  const text = json
    ? `${escapeJsonControls(JSON.stringify({ settings: settings ?? null, ...toPlain(comparison, limit) }))}\n`
    : formatComparison({ settings, comparison, limit });
  await writeText(currentIo().stdout, text);
  return EXIT.ok;
}

async function readRun(path: string, signal: AbortSignal) {
  await requireReadable(path);
  const { table } = await openIndex(path, { signal });
  return { table, run: (await rethrowAsUsageError(() => readRunRecord(path)))?.runs.at(-1) };
}

/** A setting of a run, or the run's data, as text. */
interface Difference {
  readonly name: string;
  readonly first: string;
  readonly second: string;
}

/** Returns the differences between two runs; `undefined` if either run has no record. */
function differencesOf(
  first: PlayedRun | undefined,
  second: PlayedRun | undefined,
): Difference[] | undefined {
  if (first === undefined || second === undefined) return undefined;
  const settings = settingDifferences(first.settings, second.settings).map((one) => ({
    name: one.name,
    first: settingText(one.first),
    second: settingText(one.second),
  }));
  const versions = { name: "paddock", first: first.paddock, second: second.paddock };
  return [
    ...settings,
    ...dataDifferences(first, second),
    ...versions.first === versions.second ? [] : [versions],
  ];
}

/** Returns a comparison in JSON's form: a missing figure is null. */
function toPlain({ tasks, figures, ...rest }: RunComparison, limit: number): object {
  return {
    ...rest,
    figures,
    tasks: tasks.slice(0, limit).map(({ task, first, second }) => ({ task, first, second })),
  };
}

interface Shown {
  readonly settings: readonly Difference[] | undefined;
  readonly comparison: RunComparison;
  readonly limit: number;
}

function formatComparison({ settings, comparison, limit }: Shown): string {
  const { tasks, better, worse, same, onlyFirst, onlySecond, difference, test } = comparison;
  const parts = [
    formatSettings(settings),
    table(
      ["figure", "first", "second"],
      comparison.figures.map((figure) => {
        const format = figure.unit === "ms" ? formatDuration : formatNumber;
        return [figure.name.toLowerCase(), format(figure.first), format(figure.second)];
      }),
    ),
  ];
  const interval = difference === undefined
    ? ""
    : `; mean change ${formatChange(difference.mean)} (${formatChange(difference.low)} to ${
      formatChange(difference.high)
    })`;
  parts.push(
    `${tasks.length} tasks are scored in both: ${better} better, ${worse} worse, ${same} the same${interval}\n` +
      (onlyFirst + onlySecond === 0
        ? ""
        : `left out: ${onlyFirst} of the first file only, ${onlySecond} of the second file only\n`) +
      (test === undefined
        ? ""
        : `episodes solved in one file only: ${test.onlyFirst} and ${test.onlySecond}, p = ${
          formatNumber(test.p)
        }\n`),
  );
  const changed = tasks.filter(({ first, second }) => first !== second).slice(0, limit);
  if (changed.length > 0) {
    const rows = changed.map(({ task, first, second }) => [
      escapeLine(task || "(no id)"),
      formatNumber(first),
      formatNumber(second),
      formatChange(second - first),
    ]);
    parts.push(table(["task", "first", "second", "change"], rows));
  }
  return parts.join("\n");
}

function formatDuration(ms: number): string {
  return Number.isNaN(ms) ? formatNumber(ms) : formatMs(ms);
}

function formatSettings(settings: readonly Difference[] | undefined): string {
  if (settings === undefined) return "The settings of a file without FILE.run.json are not known.\n";
  if (settings.length === 0) return "Both runs have the same settings and data.\n";
  const rows = settings.map(({ name, first, second }) => [name, first, second].map(escapeLine));
  return table(["setting", "first", "second"], rows);
}

/** Characters of a cell. */
const MAX_CELL = 60;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) =>
    row.map((cell) => cell.length > MAX_CELL ? `${cell.slice(0, MAX_CELL - 1)}…` : cell)
  );
  const widths = head.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  return cells.map((row) => `${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()}\n`)
    .join("");
}
