/** A measured value and its bound. */
export interface Row {
  readonly what: string;
  readonly value: number;
  /** Quartiles of the runs, if `value` is their median. */
  readonly low?: number;
  readonly high?: number;
  readonly unit: "ms" | "µs" | "kB" | "MB" | "×" | "%" | "/s" | "calls" | "sessions" | "errors";
  /** Maximum, or minimum for rates, ratios, calls and sessions. A row without a bound is for comparison. */
  readonly bound?: number;
}

/** True if the row reaches its bound; `undefined` for a row without one. */
export function reaches({ value, unit, bound }: Row): boolean | undefined {
  if (bound === undefined) return undefined;
  return isAtLeast(unit) ? value >= bound : value <= bound;
}

/** True for a unit of which more is better. */
export function isAtLeast(unit: Row["unit"]): boolean {
  return ["×", "/s", "calls", "sessions"].includes(unit);
}

/** Formats rows as a table. */
export function formatRows(rows: readonly Row[]): string {
  const cells = rows.map((row) => [row.what, figure(row), spread(row), boundText(row), verdict(row)]);
  return formatTable([["what", "measured", "quartiles", "bound", ""], ...cells]);
}

/** Formats lines of cells as a table; all columns but the first are aligned to the right. */
export function formatTable([head = [], ...cells]: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...cells].map((line) => [...(line[column] ?? "")].length))
  );
  return [head, ...cells]
    .map((line) =>
      line.map((cell, column) => pad(cell, widths[column] ?? 0, column > 0)).join("  ").trimEnd()
    )
    .join("\n");
}

/** Returns the value of a row with its unit. */
export function figure({ value, unit }: Row): string {
  return `${rounded(value)} ${unit}`;
}

function spread({ low, high }: Row): string {
  return low === undefined || high === undefined ? "" : `${rounded(low)}–${rounded(high)}`;
}

function rounded(value: number): string {
  return value.toFixed(value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2);
}

function boundText(row: Row): string {
  if (row.bound === undefined) return "";
  return `${isAtLeast(row.unit) ? "≥" : "≤"} ${Math.round(row.bound * 100) / 100} ${row.unit}`;
}

function verdict(row: Row): string {
  const reached = reaches(row);
  return reached === undefined ? "" : reached ? "ok" : "MISSED";
}

function pad(text: string, width: number, right: boolean): string {
  const space = " ".repeat(Math.max(0, width - [...text].length));
  return right ? space + text : text + space;
}
