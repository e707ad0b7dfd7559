import type { Draw } from "../draw.ts";
import type { Column, Theme } from "./themes.ts";

/** A value of a row. */
export type Value = string | number;

/** A row, by column. */
export type Row = Readonly<Record<string, Value>>;

/** The rows of each table. */
export type Database = ReadonlyMap<string, readonly Row[]>;

/** A statement, with the rows that are inserted with the statement. */
export type Statement = readonly [sql: string, rows: readonly (readonly Value[])[]];

/** Generates a database. Two rows of a dimension have different values in the first column. */
export function randomDatabase(
  draw: Draw,
  theme: Theme,
  { facts, others }: { facts: number; others: number },
): Database {
  const tables = new Map<string, Row[]>();
  for (const { table, columns: [key, ...columns] } of theme.dimensions) {
    const names = draw.sample(key?.type === "text" ? key.values : [], others);
    tables.set(
      table,
      names.map((name, at) => ({ id: at + 1, [key?.name ?? ""]: name, ...randomValues(draw, columns) })),
    );
  }
  const rows = Array.from({ length: facts }, (_, at) => ({
    id: at + 1,
    ...Object.fromEntries(theme.dimensions.map(({ table }) => {
      return [referenceTo(table), draw.int(1, tables.get(table)?.length ?? 1)];
    })),
    ...randomValues(draw, theme.columns),
  }));
  return new Map([...tables, [theme.facts, rows]]);
}

/** Returns the name of the column that refers to a table: `customer_id` for `customers`. */
export function referenceTo(table: string): string {
  return `${table.replace(/s$/, "")}_id`;
}

function randomValues(draw: Draw, columns: readonly Column[]): Row {
  return Object.fromEntries(columns.map((column) => {
    return [
      column.name,
      column.type === "text" ? draw.pick(column.values) : draw.int(column.min, column.max),
    ];
  }));
}

/** Returns the statements that make a database. */
export function statementsOf(database: Database): Statement[] {
  return [...database].flatMap(([table, rows]): Statement[] => {
    const columns = Object.entries(rows[0] ?? {});
    const types = columns.map(([name, value]) => `${name} ${typeof value === "number" ? "INTEGER" : "TEXT"}`);
    const marks = columns.map(() => "?").join(", ");
    return [
      [`CREATE TABLE ${table} (${types.join(", ")})`, []],
      [`INSERT INTO ${table} VALUES (${marks})`, rows.map((row) => Object.values(row))],
    ];
  });
}

/** Returns the tables as text for the model. */
export function describeDatabase(database: Database): string {
  return [...database].map(([table, rows]) => {
    const [first = {}] = rows;
    const lines = rows.map((row) => Object.values(row).join(" | "));
    return `Table ${table} (${Object.keys(first).join(" | ")})\n${lines.join("\n")}`;
  }).join("\n\n");
}
