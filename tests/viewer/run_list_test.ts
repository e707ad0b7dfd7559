import { assertEquals } from "@std/assert";
import { type ListedRun, parseRunQuery, selectRuns, toRunSearch } from "../../src/viewer/run_list.ts";
import type { RunSummary } from "../../src/viewer/run_summary.ts";

const NO_NAMES = { policy: [], env: [], statuses: [], boundary: [], hacks: [] };

function listedRun(name: string, size: number, summary?: Partial<RunSummary>): ListedRun {
  const file = { name, path: `/${name}`, size, changedAt: new Date(size) };
  const empty = { episodes: 0, reward: undefined, unscored: 0, failed: 0, cut: 0, damaged: 0, tokens: 0 };
  return { file, ...summary && { summary: { ...empty, names: NO_NAMES, ...summary } } };
}

function mean(value: number): RunSummary["reward"] {
  return { mean: value, low: value, high: value, count: 1, method: "bootstrap" };
}

const RUNS = [
  listedRun("b.jsonl", 3, { episodes: 9, reward: mean(0.5), names: { ...NO_NAMES, policy: ["Qwen"] } }),
  listedRun("a.jsonl", 2),
  listedRun("c.jsonl", 1, { episodes: 10, reward: mean(0.1), names: { ...NO_NAMES, env: ["tau-bench"] } }),
];

function selected(search: string): string[] {
  return selectRuns(RUNS, parseRunQuery(new URLSearchParams(search))).map(({ file }) => file.name[0] ?? "");
}

Deno.test("selectRuns() sorts runs, those without a value last", () => {
  assertEquals(selected(""), ["b", "a", "c"]); // the last change first
  assertEquals(selected("sort=name"), ["a", "b", "c"]);
  assertEquals(selected("sort=name&order=desc"), ["c", "b", "a"]);
  assertEquals(selected("sort=episodes"), ["c", "b", "a"]);
  assertEquals(selected("sort=reward&order=asc"), ["c", "b", "a"]);
  assertEquals(selected("sort=reward&order=desc"), ["b", "c", "a"]);
  assertEquals(selected("sort=size&order=asc"), ["c", "a", "b"]);
  assertEquals(selected("sort=unknown"), ["b", "a", "c"]);
});

Deno.test("selectRuns() finds runs by their name, policy or env", () => {
  assertEquals(selected("find=qwen"), ["b"]);
  assertEquals(selected("find=TAU"), ["c"]);
  assertEquals(selected("find=a.json"), ["a"]);
  assertEquals(selected("find=none"), []);
});

Deno.test("toRunSearch() is read back as the same query", () => {
  const query = { find: "a b&c", sort: "errors", descending: false } as const;
  assertEquals(parseRunQuery(new URLSearchParams(toRunSearch(query))), query);
});
