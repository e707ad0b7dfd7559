import { median } from "./measure.ts";
import { figure, formatTable, isAtLeast, type Row } from "./row.ts";

/** What `--json` writes. */
export interface Report {
  readonly deno: string;
  readonly system: string;
  readonly cores: number;
  readonly python: unknown;
  readonly rows: readonly Row[];
}

/** How a row differs from an earlier one. `unclear` has another value, but no quartiles that show its noise. */
type Change = "worse" | "better" | "same" | "unclear";

/** A row of two reports. */
export interface ComparedRow {
  readonly what: string;
  readonly before: Row;
  readonly after: Row;
  /** The new value divided by the old one. */
  readonly ratio: number;
  readonly change: Change;
}

/**
 * Compares the rows that two reports share. A row has changed if the quartiles of its runs do not overlap, so that most
 * runs of one report are slower than most of the other.
 */
export function compareReports(before: Report, after: Report): ComparedRow[] {
  const earlier = new Map(before.rows.map((row) => [row.what, row]));
  return after.rows.flatMap((row) => {
    const old = earlier.get(row.what);
    if (old === undefined || old.unit !== row.unit) return [];
    return {
      what: row.what,
      before: old,
      after: row,
      ratio: row.value / old.value,
      change: changeOf(old, row),
    };
  });
}

function changeOf(before: Row, after: Row): Change {
  if (before.value === after.value) return "same";
  const [old, now] = [quartilesOf(before), quartilesOf(after)];
  if (old === undefined || now === undefined) return "unclear";
  if (now.low <= old.high && old.low <= now.high) return "same";
  return (now.low > old.high) === isAtLeast(after.unit) ? "better" : "worse";
}

function quartilesOf({ low, high }: Row): { low: number; high: number } | undefined {
  return low === undefined || high === undefined ? undefined : { low, high };
}

/** Formats the rows of a comparison, and a summary of them. */
export function formatComparison(rows: readonly ComparedRow[]): string {
  const lines = rows.map(({ what, before, after, ratio, change }) => [
    what,
    figure(before),
    figure(after),
    Number.isFinite(ratio) ? `${ratio.toFixed(2)} ×` : "",
    change === "same" ? "" : change,
  ]);
  const count = (change: Change) => rows.filter((row) => row.change === change).length;
  const ratios = rows.filter(({ after }) => after.unit === "ms" || after.unit === "µs")
    .map(({ ratio }) => ratio).filter(Number.isFinite);
  const summary = `${count("worse")} worse, ${count("better")} better, ${count("same")} the same, ` +
    `${count("unclear")} without quartiles` +
    (ratios.length > 0 ? `; times: ${median(ratios).toFixed(2)} × at the median` : "");
  return `${formatTable([["what", "before", "after", "ratio", ""], ...lines])}\n\n${summary}`;
}

/**
 * Reads a report.
 *
 * @throws {TypeError} if the file is not a report.
 */
export async function readReport(path: string): Promise<Report> {
  const report = JSON.parse(await Deno.readTextFile(path));
  if (Array.isArray(report?.rows)) return report;
  throw new TypeError(`Cannot compare with '${path}' as it must be a file that --json has written`);
}
