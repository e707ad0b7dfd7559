import type { Draw } from "../draw.ts";
import { type Database, referenceTo, type Row, type Value } from "./database.ts";
import type { Column, Theme } from "./themes.ts";

/** A column with the table. */
interface Source {
  readonly table: string;
  readonly column: Column;
}

interface Filter {
  readonly source: Source;
  readonly operator: "=" | "<>" | ">" | "<";
  readonly value: Value;
}

/** A query of facts, which can be rendered as text and as SQL, and computed on the host. */
export interface Query {
  readonly theme: Theme;
  /** Columns of the output, or of the groups. */
  readonly columns: readonly Source[];
  readonly filters: readonly Filter[];
  /** The aggregate of a query with groups. */
  readonly aggregate?: { readonly kind: "COUNT" | "SUM" | "MAX" | "MIN"; readonly source?: Source };
  /** Least value of the aggregate. */
  readonly least?: number;
  readonly limit?: number;
}

const ALIAS = "result";

/** Returns a random query. Difficulty adds tables, filters, groups, and limits. */
export function randomQuery(draw: Draw, theme: Theme, difficulty: number): Query {
  const facts = theme.columns.map((column): Source => ({ table: theme.facts, column }));
  const others = draw.shuffle(theme.dimensions).slice(0, difficulty < 3 ? 0 : difficulty < 6 ? 1 : 2)
    .flatMap(({ table, columns }) => columns.map((column): Source => ({ table, column })));
  const sources = [...facts, ...others];
  const count = Math.min(3, 1 + Math.floor(difficulty / 4));
  const filters = draw.sample(sources, count).map((source) => randomFilter(draw, source));
  if (difficulty >= 2 && draw.chance(0.3 + 0.06 * difficulty)) {
    return { ...groups(draw, { sources, others }), theme, filters, ...randomEnd(draw, difficulty) };
  }
  const unfiltered = sources.filter((source) => !filters.some((filter) => filter.source === source));
  const columns = [...draw.sample(others.length === 0 ? unfiltered : others, 1), ...draw.sample(facts, 2)];
  const limit = difficulty >= 4 && draw.chance(0.4) ? { limit: draw.int(2, 5) } : {};
  return { theme, columns: [...new Set(columns)], filters, ...limit };
}

function groups(
  draw: Draw,
  { sources, others }: { sources: readonly Source[]; others: readonly Source[] },
): Pick<Query, "columns" | "aggregate"> {
  const texts = (list: readonly Source[]) => list.filter(({ column }) => column.type === "text");
  const columns = draw.sample(texts(others.length === 0 ? sources : others), 1);
  const kind = draw.pick(["COUNT", "SUM", "MAX", "MIN"] as const);
  const numbers = sources.filter(({ column }) => column.type === "integer");
  return { columns, aggregate: kind === "COUNT" ? { kind } : { kind, source: draw.pick(numbers) } };
}

function randomEnd(draw: Draw, difficulty: number): Pick<Query, "least" | "limit"> {
  return {
    ...(difficulty >= 5 && draw.chance(0.5) && { least: draw.int(2, 4) }),
    ...(difficulty >= 7 && draw.chance(0.4) && { limit: draw.int(1, 3) }),
  };
}

function randomFilter(draw: Draw, source: Source): Filter {
  const { column } = source;
  if (column.type === "text") {
    return { source, operator: draw.pick(["=", "<>"]), value: draw.pick(column.values) };
  }
  const [low, high] = [column.min, column.max];
  const value = low + Math.round((high - low) * draw.int(25, 75) / 100);
  return { source, operator: draw.pick([">", "<"]), value };
}

/** Returns the query in English. */
export function describeQuery({ theme, columns, filters, aggregate, least, limit }: Query): string {
  const names = columns.map(nameOf);
  const conditions = filters.map(({ source, operator, value }) =>
    `${nameOf(source)} ${WORDS[operator]} ${quote(value)}`
  );
  const where = conditions.length === 0 ? "" : ` for which ${conditions.join(" and ")}`;
  const cut = limit === undefined ? "" : ` Return only the first ${limit === 1 ? "row" : `${limit} rows`}.`;
  if (aggregate === undefined) {
    return `For all ${theme.facts}${where}, return the columns ${names.join(", ")}. ` +
      `Sort by all returned columns in this order, ascending. Keep repeated rows.${cut}`;
  }
  const what = aggregate.source === undefined
    ? `the number of ${theme.facts}`
    : `the ${KINDS[aggregate.kind]} of ${nameOf(aggregate.source)}`;
  const kept = least === undefined ? "" : ` Keep only groups for which this value is ${least} or more.`;
  return `Take the ${theme.facts}${where}. Group them by ${names.join(", ")}, and return ${
    names.join(", ")
  } and ` +
    `${what} of each group.${kept} Sort by that value, descending, then by ${
      names.join(", ")
    }, ascending.${cut}`;
}

const WORDS = { "=": "is", "<>": "is not", ">": "is greater than", "<": "is less than" } as const;
const KINDS = { COUNT: "number", SUM: "sum", MAX: "greatest value", MIN: "least value" } as const;

function nameOf({ table, column }: Source): string {
  return `${table}.${column.name}`;
}

function quote(value: Value): string {
  return typeof value === "number" ? String(value) : `'${value}'`;
}

/** Returns the query in SQL. */
export function toSql({ theme, columns, filters, aggregate, least, limit }: Query): string {
  const used = new Set([...columns, ...filters.map(({ source }) => source)].map(({ table }) => table));
  if (aggregate?.source !== undefined) used.add(aggregate.source.table);
  const joins = theme.dimensions.filter(({ table }) => used.has(table)).map(({ table }) =>
    ` JOIN ${table} ON ${table}.id = ${theme.facts}.${referenceTo(table)}`
  );
  const conditions = filters.map(({ source, operator, value }) =>
    `${nameOf(source)} ${operator} ${quote(value)}`
  );
  const names = columns.map(nameOf);
  const from = `FROM ${theme.facts}${joins.join("")}${
    conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`
  }`;
  const end = limit === undefined ? "" : ` LIMIT ${limit}`;
  if (aggregate === undefined) {
    return `SELECT ${names.join(", ")} ${from} ORDER BY ${names.join(", ")}${end}`;
  }
  const value = aggregate.source === undefined
    ? "COUNT(*)"
    : `${aggregate.kind}(${nameOf(aggregate.source)})`;
  const having = least === undefined ? "" : ` HAVING ${value} >= ${least}`;
  return `SELECT ${names.join(", ")}, ${value} AS ${ALIAS} ${from} GROUP BY ${names.join(", ")}${having} ` +
    `ORDER BY ${ALIAS} DESC, ${names.join(", ")}${end}`;
}

/** Computes the rows of a query on the host. */
export function computeRows(query: Query, database: Database): Value[][] {
  const { theme, columns, filters, aggregate, limit } = query;
  const facts = (database.get(theme.facts) ?? []).map((fact) => joined(fact, theme, database));
  const kept = facts.filter((row) => filters.every((filter) => isMet(filter, row)));
  const lists = kept.map((row) => columns.map((source) => row[nameOf(source)] ?? ""));
  const rows = aggregate === undefined
    ? lists.toSorted(compareRows)
    : groupRows(query, kept).toSorted((one, other) =>
      Number(other.at(-1)) - Number(one.at(-1)) || compareRows(one, other)
    );
  return rows.slice(0, limit);
}

function joined(fact: Row, theme: Theme, database: Database): Row {
  const named = (table: string, row: Row) =>
    Object.entries(row).map(([name, value]) => [`${table}.${name}`, value] as const);
  const others = theme.dimensions.flatMap(({ table }) => {
    const row = database.get(table)?.find(({ id }) => id === fact[referenceTo(table)]);
    return named(table, row ?? {});
  });
  return Object.fromEntries([...named(theme.facts, fact), ...others]);
}

function isMet({ source, operator, value }: Filter, row: Row): boolean {
  const found = row[nameOf(source)] ?? "";
  switch (operator) {
    case "=":
      return found === value;
    case "<>":
      return found !== value;
    case ">":
      return found > value;
    case "<":
      return found < value;
  }
}

function groupRows({ columns, aggregate, least = -Infinity }: Query, rows: readonly Row[]): Value[][] {
  const groups = Map.groupBy(rows, (row) => JSON.stringify(columns.map((source) => row[nameOf(source)])));
  return [...groups].flatMap(([key, members]): Value[][] => {
    const source = aggregate?.source;
    const values = source === undefined ? [] : members.map((row) => Number(row[nameOf(source)]));
    const value = {
      COUNT: members.length,
      SUM: values.reduce((sum, each) => sum + each, 0),
      MAX: Math.max(...values),
      MIN: Math.min(...values),
    }[aggregate?.kind ?? "COUNT"];
    return value >= least ? [[...JSON.parse(key), value]] : [];
  });
}

function compareRows(one: readonly Value[], other: readonly Value[]): number {
  for (const [at, value] of one.entries()) {
    const right = other[at] ?? "";
    if (value !== right) return value < right ? -1 : 1;
  }
  return 0;
}
