import { sha256 } from "../../hash.ts";
import type { DomainRecords } from "./domain_session.ts";

type Rows = ReadonlyMap<string | null, string>;

/** Data of a domain at the start, in the text form that tau-bench hashes. */
export class DomainData {
  readonly #tables: ReadonlyMap<string, Rows>;
  /** Cached text of each table at the start. */
  readonly #texts = new Map<string, string>();

  constructor(everything: DomainRecords) {
    const tables = new Map<string, Map<string | null, string>>();
    for (const [table, key, text] of everything.records) addRow(tables, table, [key, text]);
    this.#tables = tables;
  }

  /** Returns the hash of the data with these changes: of Python's text of nested tuples, sorted by key. */
  async hash({ tables, records }: DomainRecords): Promise<string> {
    const changed = new Map<string, Map<string | null, string>>();
    for (const [table, key, text] of records) {
      if (!changed.has(table)) changed.set(table, new Map(this.#tables.get(table)));
      addRow(changed, table, [key, text]);
    }
    const texts = tables.map(([table, repr, hasRows]) => {
      const rows = changed.get(table);
      return rows === undefined ? this.#textAtStart(table, repr, hasRows) : tableText(rows, repr, hasRows);
    });
    return await sha256(tupleText(texts));
  }

  #textAtStart(table: string, repr: string, hasRows: boolean): string {
    const cached = this.#texts.get(table);
    if (cached !== undefined) return cached;
    const text = tableText(this.#tables.get(table) ?? new Map(), repr, hasRows);
    this.#texts.set(table, text);
    return text;
  }
}

/** Returns a text that is equal for equal changes, and only for those. */
export function textOfChanges({ tables, records }: DomainRecords): string {
  const sorted = records.map((record) => JSON.stringify(record)).sort();
  return JSON.stringify([tables, sorted]);
}

function addRow(
  tables: Map<string, Map<string | null, string>>,
  table: string,
  [key, text]: [string | null, string | null],
): void {
  const rows = tables.get(table) ?? new Map<string | null, string>();
  if (text === null) rows.delete(key);
  else rows.set(key, text);
  tables.set(table, rows);
}

function tableText(rows: Rows, repr: string, hasRows: boolean): string {
  return hasRows ? `(${repr}, ${tupleText(sortedRows(rows))})` : rows.get(null) ?? "";
}

function sortedRows(rows: Rows): string[] {
  const keyed = [...rows].map(([key, text]) => ({ key: key ?? "", text }));
  return keyed.sort((one, other) => compareCodePoints(one.key, other.key)).map(({ text }) => text);
}

/** Compares texts as Python does: by code point, not by UTF-16 unit. */
function compareCodePoints(one: string, other: string): number {
  if (/[\ud800-\udfff]/.test(one + other)) {
    const [left, right] = [one, other].map((text) => Array.from(text, (point) => point.codePointAt(0) ?? 0));
    const at = left?.findIndex((point, index) => point !== right?.[index]) ?? -1;
    return at < 0 ? one.length - other.length : (left?.[at] ?? 0) - (right?.[at] ?? -1);
  }
  return one < other ? -1 : one > other ? 1 : 0;
}

function tupleText(items: readonly string[]): string {
  return items.length === 1 ? `(${items[0]},)` : `(${items.join(", ")})`;
}
