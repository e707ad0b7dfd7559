import { COLUMN_ENTRIES } from "./index/episode_columns.ts";
import type { EpisodeTable } from "./index/episode_table.ts";
import { readFileRange } from "./index/run_index.ts";
import type { OpenRun } from "./run_store.ts";

/** Bytes that are read at once. */
const PART_BYTES = 1024 * 1024;
/** Rows of CSV that are made at once. */
const CSV_ROWS = 1_000;

const encoder = new TextEncoder();

/** An export. Exports are streamed, as an export may be larger than the memory. */
export interface Export {
  readonly body: ReadableStream<Uint8Array>;
  /** Size in bytes, if known. */
  readonly bytes?: number;
}

/** Exports the lines of rows as they are in the file. */
export function exportJsonLines({ table, file }: OpenRun, rows: Uint32Array): Export {
  const bytes = rows.reduce((sum, row) => sum + (table.columns.length[row] ?? 0) + 1, 0);
  return { body: ReadableStream.from(readLines(file.path, table, rows)), bytes };
}

async function* readLines(path: string, table: EpisodeTable, rows: Uint32Array): AsyncGenerator<Uint8Array> {
  using file = await Deno.open(path);
  const newline = encoder.encode("\n");
  for (const row of rows) {
    const start = table.columns.offset[row] ?? 0;
    const end = start + (table.columns.length[row] ?? 0);
    for (let offset = start; offset < end; offset += PART_BYTES) {
      yield await readFileRange(file, { offset, length: Math.min(PART_BYTES, end - offset) });
    }
    yield newline;
  }
}

const CSV_COLUMNS = COLUMN_ENTRIES.flatMap(([name, { csv }]) => csv === undefined ? [] : [{ name, csv }]);

/** Exports the facts of rows, with the parts of their rewards, as CSV (RFC 4180). */
export function exportCsv({ table }: OpenRun, rows: Uint32Array): Export {
  return { body: ReadableStream.from(csvParts(table, rows)) };
}

function* csvParts(table: EpisodeTable, rows: Uint32Array): Generator<Uint8Array> {
  const parts = Array.from(table.parts.keys(), (name) => csvText(`part:${name}`));
  yield encoder.encode(`${["episode", ...CSV_COLUMNS.map(({ csv }) => csv), ...parts].join(",")}\r\n`);
  for (let from = 0; from < rows.length; from += CSV_ROWS) {
    const lines = Array.from(rows.subarray(from, from + CSV_ROWS), (row) => csvLine(table, row));
    yield encoder.encode(lines.join(""));
  }
}

function csvLine(table: EpisodeTable, row: number): string {
  const cells = [
    `${row + 1}`,
    ...CSV_COLUMNS.map(({ name }) => {
      const value = table.valueOf(name, row);
      return typeof value === "number" ? csvNumber(value) : csvText(value);
    }),
    ...Array.from(table.parts.values(), (part) => csvNumber(part[row])),
  ];
  return `${cells.join(",")}\r\n`;
}

/** Returns a number, or nothing for `NaN`. */
function csvNumber(value = NaN): string {
  return Number.isNaN(value) ? "" : `${value}`;
}

/** Quotes a text. A spreadsheet would compute a text that begins as a formula, so a quote mark precedes such a text. */
function csvText(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
