import { EPISODE_ENDS } from "./index/episode_columns.ts";
import { allRows, type Column, type EpisodeTable } from "./index/episode_table.ts";
import { collectGroups } from "./groups.ts";
import { type McNemarTest, mcNemarTest, type MeanInterval, meanInterval } from "./statistics.ts";

/** A task that both runs have scored. */
export interface ComparedTask {
  readonly task: string;
  /** Mean rewards of the first and the second run. */
  readonly first: number;
  readonly second: number;
  /** First row of the task in each run. */
  readonly firstRow: number;
  readonly secondRow: number;
}

/** Mean of a figure over all episodes of each run. */
export interface ComparedFigure {
  readonly name: string;
  /** Unit of the figure. */
  readonly unit: "number" | "ms";
  /** `NaN` for a run without the figure. */
  readonly first: number;
  readonly second: number;
}

/** Comparison of two runs over their common tasks. */
export interface RunComparison {
  /** Common scored tasks, the largest change first. */
  readonly tasks: readonly ComparedTask[];
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  /** Tasks that only the first or only the second run has scored. */
  readonly onlyFirst: number;
  readonly onlySecond: number;
  /** Mean of the differences, with a paired interval over the tasks. */
  readonly difference: MeanInterval | undefined;
  /** Means over all episodes, of common tasks or not. */
  readonly figures: readonly ComparedFigure[];
  /** Set if all rewards are 0 or 1: the test over samples of the same task and number. */
  readonly test: McNemarTest | undefined;
}

interface TaskScore {
  readonly mean: number;
  readonly row: number;
}

/** Compares two runs. Tasks are matched by their id. */
export function compareRuns(first: EpisodeTable, second: EpisodeTable): RunComparison {
  const before = scoresOf(first);
  const after = scoresOf(second);
  const tasks: ComparedTask[] = [];
  for (const [task, score] of before) {
    const other = after.get(task);
    if (other === undefined) continue;
    tasks.push({ task, first: score.mean, second: other.mean, firstRow: score.row, secondRow: other.row });
  }
  const change = (task: ComparedTask) => task.second - task.first;
  tasks.sort((one, other) => Math.abs(change(other)) - Math.abs(change(one)) || change(one) - change(other));
  const differences = Float64Array.from(tasks, change);
  return {
    tasks,
    better: differences.filter((value) => value > 0).length,
    worse: differences.filter((value) => value < 0).length,
    same: differences.filter((value) => value === 0).length,
    onlyFirst: before.size - tasks.length,
    onlySecond: after.size - tasks.length,
    difference: meanInterval(differences),
    figures: compareFigures(first, second),
    test: isBinary(first) && isBinary(second) ? testPairs(first, second) : undefined,
  };
}

function compareFigures(first: EpisodeTable, second: EpisodeTable): ComparedFigure[] {
  const figureOf = (name: string, columnOf: ColumnChoice, unit: ComparedFigure["unit"] = "number") => ({
    name,
    unit,
    first: meanOfEpisodes(first, columnOf(first)),
    second: meanOfEpisodes(second, columnOf(second)),
  });
  const parts = new Set([...first.parts.keys(), ...second.parts.keys()]);
  return [
    figureOf("Reward", ({ columns }) => columns.reward),
    ...parts.size < 2
      ? []
      : Array.from(parts, (name) => figureOf(`Part ${name}`, (table) => table.parts.get(name))),
    figureOf("Turns", ({ columns }) => columns.turns),
    figureOf("Tool calls", ({ columns }) => columns.calls),
    figureOf("Tokens", ({ columns }) => Float64Array.from(columns.tokens, (count) => count || NaN)),
    figureOf("Duration", ({ columns }) => columns.durationMs, "ms"),
  ];
}

type ColumnChoice = (table: EpisodeTable) => Column | Float32Array | undefined;

const DAMAGED = EPISODE_ENDS.indexOf("damaged");

/** Returns the mean of a column over all episodes with a value; `NaN` if no episode has a value. */
function meanOfEpisodes({ columns: { end }, count }: EpisodeTable, column: ReturnType<ColumnChoice>): number {
  let sum = 0;
  let known = 0;
  for (let row = 0; row < count; row++) {
    const value = column?.[row] ?? NaN;
    if (Number.isNaN(value) || end[row] === DAMAGED) continue;
    sum += value;
    known++;
  }
  return sum / known;
}

/** Returns the rows of a task in the order of their sample numbers. */
export function samplesOfTask(
  { columns: { task, sample }, names, count }: EpisodeTable,
  id: string,
): number[] {
  const number = names.find(id);
  const rows: number[] = [];
  for (let row = 0; row < count; row++) if (task[row] === number) rows.push(row);
  return rows.sort((one, other) => (sample[one] ?? 0) - (sample[other] ?? 0));
}

function scoresOf(table: EpisodeTable): Map<string, TaskScore> {
  const { names, scored, sums } = collectGroups(table, allRows(table.count), "task");
  const firstRows = new Map<number, number>();
  for (let row = table.count - 1; row >= 0; row--) firstRows.set(table.columns.task[row] ?? 0, row);
  const scores = new Map<string, TaskScore>();
  for (const [at, name] of names.entries()) {
    const count = scored[at] ?? 0;
    if (count === 0) continue;
    scores.set(table.names.nameOf(name), { mean: (sums[at] ?? 0) / count, row: firstRows.get(name) ?? 0 });
  }
  return scores;
}

function isBinary({ columns: { reward }, count }: EpisodeTable): boolean {
  for (let row = 0; row < count; row++) {
    const value = reward[row] ?? NaN;
    if (value !== 0 && value !== 1 && !Number.isNaN(value)) return false;
  }
  return true;
}

/** Tests the pairs of samples with the same task and number. */
function testPairs(first: EpisodeTable, second: EpisodeTable): McNemarTest | undefined {
  const rewards = new Map<string, number>();
  for (const [key, reward] of samplesOf(first)) rewards.set(key, reward);
  let pairs = 0;
  let onlyFirst = 0;
  let onlySecond = 0;
  for (const [key, reward] of samplesOf(second)) {
    const other = rewards.get(key);
    if (other === undefined) continue;
    rewards.delete(key); // a row that is repeated is counted once
    pairs++;
    if (other > reward) onlyFirst++;
    if (other < reward) onlySecond++;
  }
  return pairs === 0 ? undefined : mcNemarTest(onlyFirst, onlySecond);
}

function* samplesOf(
  { columns: { reward, task, sample }, names, count }: EpisodeTable,
): Generator<[string, number]> {
  for (let row = 0; row < count; row++) {
    const value = reward[row] ?? NaN;
    if (!Number.isNaN(value)) yield [`${sample[row]} ${names.nameOf(task[row] ?? 0)}`, value];
  }
}
