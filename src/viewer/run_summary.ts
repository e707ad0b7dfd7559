import { collectGroups, groupMeans, type GroupRewards, type PassRate, passRates } from "./groups.ts";
import { EPISODE_ENDS } from "./index/episode_columns.ts";
import { type Column, type EpisodeTable, SHORT_COLUMNS, type ShortColumn } from "./index/episode_table.ts";
import { type Histogram, histogramOf, type MeanInterval, meanInterval } from "./statistics.ts";

/** A point of a curve: the mean of some episodes. */
export interface CurvePoint {
  /** Number of the first and the last episode, from 1. */
  readonly first: number;
  readonly last: number;
  readonly mean: number;
  readonly count: number;
}

/** A part of the rewards of some episodes. */
export interface PartSummary {
  readonly name: string;
  /** Episodes that have the part. */
  readonly count: number;
  readonly mean: number;
  readonly values: Histogram;
}

/** Figures of some episodes of a run. */
export interface RunSummary {
  readonly episodes: number;
  /** Mean reward of the scored episodes, with an interval over the groups. */
  readonly reward: MeanInterval | undefined;
  readonly unscored: number;
  /** Episodes that failed at a boundary. */
  readonly failed: number;
  /** Episodes that a limit of tokens cut off. */
  readonly cut: number;
  /** Lines that are no episodes. */
  readonly damaged: number;
  readonly tokens: number;
  /** Names in the columns of short names. */
  readonly names: Readonly<Record<ShortColumn, readonly string[]>>;
}

/** Figures and plots of the page of a run. */
export interface RunDetails extends RunSummary {
  readonly groups: GroupRewards;
  readonly passRates: readonly PassRate[];
  /** Parts of the rewards; empty if the reward has at most one part. */
  readonly parts: readonly PartSummary[];
  readonly curve: readonly CurvePoint[];
  /** Mean rewards of the tasks, sorted. */
  readonly taskMeans: Float64Array;
  readonly rewards: Histogram;
  readonly turns: Histogram;
  readonly lengths: Histogram;
  readonly durations: Histogram;
}

const FAILED = EPISODE_ENDS.indexOf("failed");
const DAMAGED = EPISODE_ENDS.indexOf("damaged");
const CUT = EPISODE_ENDS.indexOf("cut");
const CURVE_POINTS = 80;
const BINS = 24;
const REWARD_BINS = 10;

/**
 * Returns the figures of rows. The mean reward is the mean of the groups' means: samples of a task are not independent.
 */
export function summarize(
  table: EpisodeTable,
  rows: Uint32Array,
  groups = collectGroups(table, rows),
): RunSummary {
  const { reward, end, tokens } = table.columns;
  const counts = { unscored: 0, failed: 0, cut: 0, damaged: 0, tokens: 0 };
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? 0;
    if (end[row] === DAMAGED) counts.damaged++;
    else if (Number.isNaN(reward[row])) counts.unscored++;
    if (end[row] === FAILED) counts.failed++;
    if (end[row] === CUT) counts.cut++;
    counts.tokens += tokens[row] ?? 0;
  }
  const names = SHORT_COLUMNS.map((name) => [name, table.shortNames[name].filter((text) => text !== "")]);
  return {
    ...counts,
    episodes: rows.length - counts.damaged,
    reward: meanInterval(groupMeans(groups)),
    names: Object.fromEntries(names) as RunSummary["names"],
  };
}

/** Returns the figures and plots of rows. */
export function describeRows(table: EpisodeTable, rows: Uint32Array): RunDetails {
  const groups = collectGroups(table, rows);
  const { reward, turns, tokens, durationMs } = table.columns;
  const valuesOf = (column: Column | Float32Array) => {
    if (rows.length === table.count) return column.subarray(0, table.count); // all rows, in any order
    const values = new Float64Array(rows.length);
    for (let at = 0; at < rows.length; at++) values[at] = column[rows[at] ?? 0] ?? NaN;
    return values;
  };
  return {
    ...summarize(table, rows, groups),
    groups,
    passRates: passRates(groups),
    parts: table.parts.size < 2 ? [] : [...table.parts].map(([name, column]) => {
      const values = valuesOf(column);
      const { mean, count } = meanOfKnown(values);
      return { name, mean, count, values: histogramOf(values, { bins: REWARD_BINS, whole: false }) };
    }).filter(({ count }) => count > 0),
    curve: rewardCurve(table, rows),
    taskMeans: groupMeans(hasOwnGroups(table, rows) ? collectGroups(table, rows, "task") : groups).sort(),
    rewards: histogramOf(valuesOf(reward), { bins: REWARD_BINS, whole: false }),
    turns: histogramOf(valuesOf(turns), { bins: BINS, whole: true }),
    lengths: histogramOf(valuesOf(tokens), { bins: BINS, whole: true }),
    durations: histogramOf(valuesOf(durationMs), { bins: BINS, whole: false }),
  };
}

/** True if the group of any row is not its task. */
function hasOwnGroups({ columns: { task, group } }: EpisodeTable, rows: Uint32Array): boolean {
  for (let at = 0; at < rows.length; at++) { // a third of the time of `some()` with a million rows
    const row = rows[at] ?? 0;
    if (task[row] !== group[row]) return true;
  }
  return false;
}

/** Returns the mean and the number of the values that are not `NaN`. */
function meanOfKnown(values: ArrayLike<number>): { mean: number; count: number } {
  let sum = 0;
  let count = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? NaN;
    if (Number.isNaN(value)) continue;
    sum += value;
    count++;
  }
  return { mean: sum / count, count };
}

function isAscending(rows: Uint32Array): boolean {
  for (let at = 1; at < rows.length; at++) if ((rows[at] ?? 0) < (rows[at - 1] ?? 0)) return false;
  return true;
}

/** Returns the mean rewards of successive parts of the rows, in the order of the file. */
function rewardCurve({ columns: { reward } }: EpisodeTable, rows: Uint32Array): CurvePoint[] {
  const ordered = isAscending(rows) ? rows : rows.toSorted();
  const points = Math.min(CURVE_POINTS, ordered.length);
  return Array.from({ length: points }, (_, point) => {
    const part = ordered.subarray(
      Math.floor(point / points * ordered.length),
      Math.floor((point + 1) / points * ordered.length),
    );
    let sum = 0;
    let count = 0;
    for (let at = 0; at < part.length; at++) {
      const value = reward[part[at] ?? 0] ?? NaN;
      if (Number.isNaN(value)) continue;
      sum += value;
      count++;
    }
    return { first: (part[0] ?? 0) + 1, last: (part.at(-1) ?? 0) + 1, mean: sum / count, count };
  }).filter(({ count }) => count > 0);
}
