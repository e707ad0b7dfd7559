import type { PageQuery } from "./contract.ts";

/** Key by which a list is sorted. */
export interface PageKey {
  readonly createdAt: Date;
  readonly id: string;
}

/** A part of a list. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Headers of the response, with the token of the next page if there is a next page. */
  readonly headers: Record<string, string>;
}

/** Returns the page of a list, oldest first, that a query names. A token stays valid when the token's item is removed. */
export function pageOf<T>(
  oldestFirst: readonly T[],
  query: PageQuery,
  keyOf: (item: T) => PageKey,
): ListPage<T> {
  const { order, nextToken, limit } = query;
  const all = order === "asc" ? oldestFirst : oldestFirst.toReversed();
  const start = nextToken === undefined ? 0 : startOf(all.map(keyOf), { nextToken, order });
  const items = all.slice(start, start + limit);
  const last = items.at(-1);
  if (last === undefined || all.length <= start + limit) return { items, headers: {} };
  const { createdAt, id } = keyOf(last);
  return { items, headers: { "x-next-token": `${createdAt.getTime()}.${id}` } };
}

/** Returns the index at which the page of a token starts. */
function startOf(
  all: readonly PageKey[],
  { nextToken, order }: { nextToken: string; order: "asc" | "desc" },
): number {
  const [time = "", id = ""] = nextToken.split(".");
  const at = all.findIndex((key) => key.id === id);
  if (at >= 0) return at + 1;
  const isLater = ({ createdAt }: PageKey) =>
    order === "asc" ? createdAt.getTime() > Number(time) : createdAt.getTime() < Number(time);
  const next = all.findIndex(isLater);
  return next >= 0 ? next : all.length;
}
