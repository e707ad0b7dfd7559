import { EPISODE_ENDS, type EpisodeEnd } from "./index/episode_columns.ts";
import { allRows, type EpisodeTable } from "./index/episode_table.ts";
import { type EpisodeQuery, isFiltered, NAME_FILTERS, SORT_ORDERS } from "./episode_query.ts";
import type { OpenRun, RunStore } from "./run_store.ts";
import { searchRows } from "./text_search.ts";

/** Returns the numbers of the rows of a query, in the query's order. The result is kept for the next page. */
export async function selectRows(
  store: RunStore,
  run: OpenRun,
  query: EpisodeQuery,
): Promise<Uint32Array> {
  const { page: _page, texts: _texts, ...rest } = query;
  return await store.derive(`rows\n${run.version}\n${JSON.stringify(rest)}`, async () => {
    const { table, file } = run;
    let rows = allRows(table.count);
    if (isFiltered(query)) rows = rows.filter(matcherOf(table, query));
    if (query.text !== undefined) rows = await searchRows(file.path, { table, rows, text: query.text });
    return sortRows(table, rows, query);
  });
}

/** Returns a function that is true for the rows of a query; the function ignores the text. */
function matcherOf(table: EpisodeTable, query: EpisodeQuery): (row: number) => boolean {
  const { columns: { reward, end } } = table;
  const tests: ((row: number) => boolean)[] = [];
  const { reward: choice, minReward, maxReward, end: ending, error } = query;
  const rewardOf = (row: number) => reward[row] ?? NaN;
  if (choice === "right") tests.push((row) => rewardOf(row) >= 1);
  if (choice === "wrong") tests.push((row) => rewardOf(row) < 1);
  if (choice === "partial") tests.push((row) => rewardOf(row) > 0 && rewardOf(row) < 1);
  if (choice === "zero") tests.push((row) => rewardOf(row) <= 0);
  if (choice === "unscored") tests.push((row) => Number.isNaN(rewardOf(row)));
  if (minReward !== undefined) tests.push((row) => rewardOf(row) >= minReward);
  if (maxReward !== undefined) tests.push((row) => rewardOf(row) <= maxReward);
  if (ending !== undefined) {
    const numbers = ENDS_OF[ending].map((name) => EPISODE_ENDS.indexOf(name));
    tests.push((row) => numbers.includes(end[row] ?? 0));
  }
  if (error === "any") tests.push((row) => (end[row] ?? 0) >= FAILED);
  else if (error === "none") tests.push((row) => (end[row] ?? 0) < FAILED);
  else if (error !== undefined) tests.push(table.matcherOf("boundary", error));
  for (const { column, parameter } of NAME_FILTERS) {
    const name = query[parameter];
    if (name !== undefined) tests.push(table.matcherOf(column, name));
  }
  return (row) => tests.every((test) => test(row));
}

/** Ends that a choice selects. */
const ENDS_OF: Readonly<Record<EpisodeQuery["end"] & string, readonly EpisodeEnd[]>> = {
  terminated: ["terminated"],
  truncated: ["truncated", "cut"],
  cut: ["cut"],
  stopped: ["stopped"],
  failed: ["failed"],
};

/** Number of the first end that is a failure. */
const FAILED = EPISODE_ENDS.indexOf("failed");

/**
 * Sorts rows by a column: a stable order in which rows without a value are last. Numbers are compared with the
 * precision of 32 bits.
 */
function sortRows(
  { columns }: EpisodeTable,
  rows: Uint32Array,
  { sort, descending }: EpisodeQuery,
): Uint32Array {
  if (sort === "file") return descending ? rows.reverse() : rows;
  const values = columns[SORT_ORDERS.get(sort)?.column ?? "offset"];
  // Each item is the number of the value, then the number of the row: the runtime sorts 64-bit integers without a
  // callback.
  const keys = new BigUint64Array(rows.length);
  const words = new Uint32Array(keys.buffer);
  const single = new Float32Array(1);
  const bits = new Uint32Array(single.buffer);
  for (const [at, row] of rows.entries()) {
    const value = values[row] ?? NaN;
    single[0] = descending ? -value : value;
    const raw = bits[0] ?? 0;
    const ordered = raw >>> 31 ? ~raw : raw | 0x80000000;
    words[2 * at] = row;
    words[2 * at + 1] = Number.isNaN(value) ? 0xffffffff : ordered;
  }
  keys.sort();
  return rows.map((_, at) => words[2 * at] ?? 0);
}
