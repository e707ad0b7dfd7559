import type { Trajectory } from "../rollout/trajectory.ts";
import { escapeLine } from "./printable.ts";

/** A run of more episodes has no table of them: the file has. */
const MAX_ROWS = 24;
const MAX_NAME = 24;
const COLUMNS: readonly { readonly name: string; readonly isWord?: true }[] = [
  { name: "task", isWord: true },
  { name: "turns" },
  { name: "reward" },
  { name: "ms" },
  { name: "tools", isWord: true },
];

/** The episodes of a short run, a line each. */
export class EpisodeTable {
  readonly #rows: string[][] = [];
  #episodes = 0;

  add(trajectory: Trajectory): void {
    if (++this.#episodes <= MAX_ROWS) this.#rows.push(rowOf(trajectory));
  }

  /** The table, with an empty line behind it; nothing for a run that is not short. */
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

/** Words are flush left, and numbers right. */
function aligned(cell: string, column: number, width: number): string {
  return COLUMNS[column]?.isWord ? cell.padEnd(width) : cell.padStart(width);
}

function rowOf({ task, sample, turns, reward, times, error, toolResults }: Trajectory): string[] {
  const name = sample > 1 ? `${task.id} #${sample}` : task.id;
  const tools = toolResults.map(({ status }) => status).join(", ");
  return [
    escapeLine(name).slice(0, MAX_NAME),
    `${turns}`,
    reward === null ? "-" : `${Math.round(reward * 1e4) / 1e4}`,
    times.totalMs.toFixed(0),
    error === undefined ? tools : `failed: ${error.boundary}`,
  ];
}
