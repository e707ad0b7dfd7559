import type { RunFile } from "./run_folder.ts";
import type { RunSummary } from "./run_summary.ts";

/** A run in the list: the summary, or why there is no summary. */
export interface ListedRun {
  readonly file: RunFile;
  readonly summary?: RunSummary;
  /** Shown instead of a summary. */
  readonly note?: string;
}

/** Orders of runs, by their names in addresses. */
const RUN_SORTS = ["changed", "name", "episodes", "reward", "errors", "tokens", "size"] as const;

/** Name of an order of runs. */
export type RunSort = typeof RUN_SORTS[number];

/** Which runs are listed, and in which order. */
export interface RunQuery {
  /** Part of the name, the policy or the env: upper and lower case are the same. */
  readonly find: string;
  readonly sort: RunSort;
  readonly descending: boolean;
}

/** Characters of a text that is searched for. */
const MAX_TEXT = 200;

/** Reads a query from the parameters of an address. The last changed run is first by default. */
export function parseRunQuery(parameters: URLSearchParams): RunQuery {
  const sort = RUN_SORTS.find((name) => name === parameters.get("sort")) ?? "changed";
  const order = parameters.get("order");
  return {
    find: parameters.get("find")?.slice(0, MAX_TEXT) ?? "",
    sort,
    descending: order === null ? sort !== "name" : order === "desc",
  };
}

/** Returns the parameters of a query, with `?`. */
export function toRunSearch({ find, sort, descending }: RunQuery): string {
  const parameters = new URLSearchParams({ sort, order: descending ? "desc" : "asc" });
  if (find !== "") parameters.set("find", find);
  return `?${parameters}`;
}

/** Returns the runs of a query in the query's order. Runs without a value are last. */
export function selectRuns(runs: readonly ListedRun[], { find, sort, descending }: RunQuery): ListedRun[] {
  const needle = find.toLowerCase();
  const found = runs.filter(({ file, summary }) =>
    [file.name, ...summary?.names.policy ?? [], ...summary?.names.env ?? []].some((text) =>
      text.toLowerCase().includes(needle)
    )
  );
  const sign = descending ? -1 : 1;
  if (sort === "name") {
    return found.sort((one, other) => sign * one.file.name.localeCompare(other.file.name, "en"));
  }
  return found.sort((one, other) => {
    const [first, second] = [valueOf(one, sort), valueOf(other, sort)];
    return Number.isNaN(first) || Number.isNaN(second)
      ? Number(Number.isNaN(first)) - Number(Number.isNaN(second))
      : sign * (first - second);
  });
}

function valueOf({ file, summary }: ListedRun, sort: Exclude<RunSort, "name">): number {
  switch (sort) {
    case "changed":
      return file.changedAt.getTime();
    case "size":
      return file.size;
    case "episodes":
      return summary?.episodes ?? NaN;
    case "reward":
      return summary?.reward?.mean ?? NaN;
    case "errors":
      return summary?.failed ?? NaN;
    case "tokens":
      return summary?.tokens ?? NaN;
  }
}
