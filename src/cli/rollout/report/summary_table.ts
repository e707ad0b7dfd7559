import type { Trajectory } from "../../../rollout/trajectory.ts";
import { escapeLine } from "../../../terminal_text.ts";
import { describeBlocksNotRun } from "../../../tools/code_blocks/blocks_not_run.ts";
import { toLine } from "./summary.ts";

/** A run of more episodes prints no table of them. */
const MAX_ROWS = 24;
const MAX_NAME = 24;
const COLUMNS: readonly { readonly name: string; readonly isWord?: true }[] = [
  { name: "task", isWord: true },
  { name: "turns" },
  { name: "reward" },
  { name: "ms" },
  { name: "tools", isWord: true },
];

/** Table of the episodes of a short run, a line each. */
export class SummaryTable {
  readonly #rows: string[][] = [];
  #episodes = 0;

  add(trajectory: Trajectory): void {
    if (++this.#episodes <= MAX_ROWS) this.#rows.push(rowOf(trajectory));
  }

  /** Returns the table followed by an empty line; an empty text if the run is not short. */
  format(): string {
    if (this.#episodes === 0 || this.#episodes > MAX_ROWS) return "";
    const rows = [COLUMNS.map(({ name }) => name), ...this.#rows];
    const widths = rows.reduce<number[]>(
      (widest, row) => row.map((cell, at) => Math.max(widest[at] ?? 0, cell.length)),
      [],
    );
    const lines = rows.map((row) =>
      row.map((cell, at) => aligned(cell, at, widths[at] ?? 0)).join("  ").trimEnd()
    );
    return `${lines.join("\n")}\n\n`;
  }
}

/** Aligns words to the left and numbers to the right. */
function aligned(cell: string, column: number, width: number): string {
  return COLUMNS[column]?.isWord ? cell.padEnd(width) : cell.padStart(width);
}

function rowOf(trajectory: Trajectory): string[] {
  const { task, sample, id, parent, turns, reward, times, error, cut, toolResults } = trajectory;
  const branch = parent === undefined ? "" : ` ${id?.split(".").at(-1)}@${parent.turn}`;
  const name = (sample > 1 ? `${task.id} #${sample}` : task.id) + branch;
  const notRun = describeBlocksNotRun(trajectory.steps.map(({ blocksNotRun }) => blocksNotRun));
  const tools = [
    ...toolResults.map(({ status }) => status),
    ...(cut === undefined ? [] : [`cut off: ${cut}`]),
    ...(notRun === undefined ? [] : [`not run: ${toLine(notRun)}`]),
  ];
  return [
    escapeLine(name).slice(0, MAX_NAME),
    `${turns}`,
    reward === null ? "-" : `${Math.round(reward * 1e4) / 1e4}`,
    times.totalMs.toFixed(0),
    error === undefined ? tools.join(", ") : `failed: ${error.boundary}`,
  ];
}
