import {
  COLUMN_ENTRIES,
  type ColumnFilter,
  type ColumnStoredAs,
  type ViewParameter,
} from "./index/episode_columns.ts";
import type { ColumnName } from "./index/episode_table.ts";

/** Name of an order in addresses. */
export type SortName = "file" | ViewParameter<"sort">;

/** Orders of episodes by their names in addresses: their column, and their name in the menu. */
export const SORT_ORDERS = new Map<string, { readonly column: ColumnName; readonly label: string }>([
  ["file", { column: "offset", label: "order in the file" }],
  ...COLUMN_ENTRIES.flatMap(([column, { sort }]) =>
    sort ? [[sort.parameter, { column, label: sort.label }] as const] : []
  ),
]);

/** A choice of episodes by a name in a column. */
export interface NameFilter extends ColumnFilter {
  readonly column: ColumnStoredAs<NameFilter["store"]>;
  readonly store: "name" | "short" | "set";
  readonly parameter: ViewParameter<"filter">;
}

/** Choices of episodes by names. */
export const NAME_FILTERS = COLUMN_ENTRIES.flatMap(([column, { store, filter }]) =>
  filter ? [{ column, store, ...filter }] : []
) as readonly NameFilter[];

/** Choice by the reward. */
export const REWARD_CHOICES = ["right", "wrong", "partial", "zero", "unscored"] as const;

/** Choice by the end. `truncated` has the episodes of `cut` as well. */
export const END_CHOICES = ["terminated", "truncated", "cut", "stopped", "failed"] as const;

/** Which episodes are shown, and in which order. The filters of {@linkcode NAME_FILTERS} select by a name. */
export interface EpisodeQuery extends Readonly<Partial<Record<ViewParameter<"filter">, string | undefined>>> {
  readonly reward?: typeof REWARD_CHOICES[number] | undefined;
  readonly minReward?: number | undefined;
  readonly maxReward?: number | undefined;
  readonly end?: typeof END_CHOICES[number] | undefined;
  /** Boundary of the failure; `any` for every failure, `none` for none. */
  readonly error?: string | undefined;
  /** Part of the row's text. */
  readonly text?: string | undefined;
  readonly sort: SortName;
  readonly descending: boolean;
  /** Number of the page, from 1. */
  readonly page: number;
  /** True to list the question and the last reply of each episode. */
  readonly texts: boolean;
}

/** Characters of a text that is searched for. */
const MAX_TEXT = 1_000;
/** Rows of a page. */
const PAGE_ROWS = 50;

/** Reads a query from the parameters of an address. Invalid values are left out. */
export function parseQuery(parameters: URLSearchParams): EpisodeQuery {
  const textOf = (name: string) => parameters.get(name)?.slice(0, MAX_TEXT) || undefined;
  const numberOf = (name: string) => {
    const text = textOf(name);
    const number = Number(text);
    return text === undefined || !Number.isFinite(number) ? undefined : number;
  };
  const sort = textOf("sort") ?? "";
  return {
    reward: REWARD_CHOICES.find((choice) => choice === textOf("reward")),
    minReward: numberOf("min"),
    maxReward: numberOf("max"),
    end: END_CHOICES.find((choice) => choice === textOf("end")),
    error: textOf("error"),
    ...Object.fromEntries(NAME_FILTERS.map(({ parameter }) => [parameter, textOf(parameter)])),
    text: textOf("text"),
    sort: SORT_ORDERS.has(sort) ? sort as SortName : "file",
    descending: parameters.get("order") === "desc",
    page: Math.max(1, Math.floor(numberOf("page") ?? 1)),
    texts: parameters.has("texts"),
  };
}

/** Returns the parameters of a query, with `?`; the empty text if all have their defaults. */
export function toSearch(query: EpisodeQuery, changes: Partial<EpisodeQuery> = {}): string {
  const { minReward, maxReward, sort, descending, page, texts, ...filters } = { ...query, ...changes };
  const entries: Record<string, string | number | undefined> = {
    ...filters,
    min: minReward,
    max: maxReward,
    sort: sort === "file" ? undefined : sort,
    order: descending ? "desc" : undefined,
    page: page === 1 ? undefined : page,
    texts: texts ? 1 : undefined,
  };
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(entries)) {
    if (value !== undefined) parameters.set(name, `${value}`);
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}

/** Returns what selects episodes, without what orders and shows them. */
export function filtersOf(
  { sort: _sort, descending: _descending, page: _page, texts: _texts, ...filters }: EpisodeQuery,
): Omit<EpisodeQuery, "sort" | "descending" | "page" | "texts"> {
  return filters;
}

/** True if the query leaves out any episode. */
export function isFiltered(query: EpisodeQuery): boolean {
  return Object.values(filtersOf(query)).some((value) => value !== undefined);
}

/** Returns the rows of a query's page, the page's number, and the number of pages. */
export function pageOfRows<Rows extends Uint32Array | readonly unknown[]>(
  rows: Rows,
  wanted: number,
): { shown: Rows; page: number; pages: number } {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const page = Math.min(wanted, pages);
  return { shown: rows.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS) as Rows, page, pages };
}
