import {
  COLUMN_ENTRIES,
  type ColumnStoredAs,
  EPISODE_COLUMNS,
  EPISODE_ENDS,
  type EpisodeColumnName,
  type EpisodeEnd,
  type EpisodeFacts,
  MAX_PARTS,
} from "./episode_columns.ts";
import { NameTable } from "./name_table.ts";

/** Arrays of numbers by the form of a column. */
const ARRAYS = {
  f64: Float64Array,
  u32: Uint32Array,
  name: Uint32Array,
  set: Uint32Array,
  short: Uint8Array,
  end: Uint8Array,
} as const;

/** Columns with the position of a row, which are stored before the others. */
const POSITION = { offset: { store: "f64" }, length: { store: "f64" } } as const;
const STORED = { ...POSITION, ...EPISODE_COLUMNS };

/** Name of a stored column. */
export type ColumnName = keyof typeof STORED;

/** Names of all stored columns. */
export const COLUMN_NAMES = Object.keys(STORED) as readonly ColumnName[];

/** Text that differs when the columns do. */
export const LAYOUT: string = COLUMN_NAMES.map((name) => `${name}:${STORED[name].store}`).join(" ");

/** Numbers of all columns, by name. */
export type Columns = {
  readonly [Name in ColumnName]: InstanceType<typeof ARRAYS[typeof STORED[Name]["store"]]>;
};

/** Values of a column. */
export type Column = Columns[ColumnName];

/** Column of short names. */
export type ShortColumn = ColumnStoredAs<"short" | "set">;

/** Names in the columns of short names, by the number or bit that is stored. */
export type ShortNames = Readonly<Record<ShortColumn, string[]>>;

/** Columns of short names. */
export const SHORT_COLUMNS = COLUMN_ENTRIES.filter(([, { store }]) => store === "short" || store === "set")
  .map(([name]) => name) as readonly ShortColumn[];

/** Position of a row in the file, in bytes. */
export interface RowPosition {
  readonly offset: number;
  readonly length: number;
}

const FIRST_CAPACITY = 1024;
/** Distinct names of a column of bytes. Further ones share the last number. */
const MAX_SHORT_NAMES = 255;
/** Distinct names of a set, a bit each. Further names share the last bit. */
const MAX_SET_NAMES = 32;
const OTHER = "other";

/** Parts of a table that is read from a file. */
export interface StoredTable {
  readonly columns: Columns;
  readonly parts: ReadonlyMap<string, Float32Array>;
  readonly count: number;
  readonly names: NameTable;
  readonly shortNames: ShortNames;
}

/** The facts of all episodes of a run, as columns of numbers: some 80 bytes for an episode. */
export class EpisodeTable {
  /** Tasks, groups and ids. Number 0 is the empty text. */
  readonly names: NameTable;
  readonly shortNames: ShortNames;
  #columns: Columns;
  readonly #parts: Map<string, Float32Array>;
  #count: number;

  constructor(stored?: StoredTable) {
    this.#parts = new Map(stored?.parts);
    this.#columns = stored?.columns ?? makeColumns(FIRST_CAPACITY);
    this.#count = stored?.count ?? 0;
    this.names = stored?.names ?? new NameTable();
    this.shortNames = stored?.shortNames ?? emptyShortNames();
    if (this.names.size === 0) this.names.add("");
  }

  /** Number of lines that are not empty. */
  get count(): number {
    return this.#count;
  }

  /** Columns, whose first {@linkcode count} numbers are valid until the next append. */
  get columns(): Columns {
    return this.#columns;
  }

  /** Parts of the rewards by name, 4 bytes for each episode: `NaN` for an episode without the part. */
  get parts(): ReadonlyMap<string, Float32Array> {
    return this.#parts;
  }

  /** Adds a row; `facts` is undefined if the line is no episode. */
  append({ offset, length }: RowPosition, facts: EpisodeFacts | undefined): void {
    if (this.#count === this.#columns.offset.length) this.#grow();
    const at = this.#count++;
    this.#columns.offset[at] = offset;
    this.#columns.length[at] = length;
    for (const entry of COLUMN_ENTRIES) this.#columns[entry[0]][at] = this.#numberOf(entry, facts);
    this.#setParts(at, facts?.parts);
  }

  /** Returns the number that a column stores for a row. */
  #numberOf([name, column]: typeof COLUMN_ENTRIES[number], facts: EpisodeFacts | undefined): number {
    switch (column.store) {
      case "name":
        return this.names.add(facts?.[name as ColumnStoredAs<"name">] ?? "");
      case "short": {
        const short = name as ColumnStoredAs<"short">;
        return shortNumber(this.shortNames[short], facts?.[short] ?? "", MAX_SHORT_NAMES);
      }
      case "set": {
        const set = name as ColumnStoredAs<"set">;
        let bits = 0;
        for (const one of facts?.[set] ?? []) {
          bits |= 1 << shortNumber(this.shortNames[set], one, MAX_SET_NAMES);
        }
        return bits;
      }
      case "end":
        return EPISODE_ENDS.indexOf(facts?.end ?? "damaged");
      default:
        return facts?.[name as ColumnStoredAs<"f64" | "u32">] ?? column.missing ?? 0;
    }
  }

  #setParts(at: number, parts: ReadonlyMap<string, number> = new Map()): void {
    for (const column of this.#parts.values()) column[at] = NaN;
    for (const [name, value] of parts) {
      let column = this.#parts.get(name);
      if (column === undefined) {
        if (this.#parts.size === MAX_PARTS) continue;
        column = new Float32Array(this.#columns.offset.length).fill(NaN);
        this.#parts.set(name, column);
      }
      column[at] = value;
    }
  }

  /** Removes the last row, for a line that may not have been complete. */
  removeLast(): void {
    this.#count--;
  }

  /** Returns how the episode of a row ended. */
  endOf(row: number): EpisodeEnd {
    return EPISODE_ENDS[this.#columns.end[row] ?? 0] ?? "damaged";
  }

  /** Returns the name in a column of names; the empty text for none. */
  nameOf(column: ColumnStoredAs<"name" | "short">, row: number): string {
    const number = this.#columns[column][row] ?? 0;
    const short = (this.shortNames as Partial<Record<string, string[]>>)[column];
    return short === undefined ? this.names.nameOf(number) : short[number] ?? "";
  }

  /** Returns the names in a column of sets. */
  setOf(column: ColumnStoredAs<"set">, row: number): string[] {
    const bits = this.#columns[column][row] ?? 0;
    return this.shortNames[column].filter((_, bit) => (bits >>> bit) & 1);
  }

  /** Returns the value of a row: a number, or a text, in which the names of a set are separated by blanks. */
  valueOf(name: EpisodeColumnName, row: number): number | string {
    switch (EPISODE_COLUMNS[name].store) {
      case "name":
      case "short":
        return this.nameOf(name as ColumnStoredAs<"name" | "short">, row);
      case "set":
        return this.setOf(name as ColumnStoredAs<"set">, row).join(" ");
      case "end":
        return this.endOf(row);
      default:
        return this.#columns[name][row] ?? NaN;
    }
  }

  /** Returns a function that is true for the rows with a name in a column. */
  matcherOf(column: ColumnStoredAs<"name" | "short" | "set">, name: string): (row: number) => boolean {
    const numbers = this.#columns[column];
    const { store } = EPISODE_COLUMNS[column];
    if (store === "name") {
      const number = this.names.find(name);
      return (row) => numbers[row] === number;
    }
    const number = this.shortNames[column as ShortColumn].indexOf(name);
    if (store === "short") return (row) => numbers[row] === number;
    return (row) => number !== -1 && (((numbers[row] ?? 0) >>> number) & 1) === 1;
  }

  #grow(): void {
    const grown = makeColumns(Math.max(FIRST_CAPACITY, this.#count * 2));
    for (const name of COLUMN_NAMES) grown[name].set(this.#columns[name]);
    this.#columns = grown;
    for (const [name, column] of this.#parts) {
      const larger = new Float32Array(grown.offset.length).fill(NaN);
      larger.set(column);
      this.#parts.set(name, larger);
    }
  }
}

/** Returns the numbers of all rows of a table. */
export function allRows(count: number): Uint32Array {
  const rows = new Uint32Array(count);
  for (let row = 0; row < count; row++) rows[row] = row;
  return rows;
}

/** Makes a column over a part of a buffer. */
export function columnOf(name: ColumnName, buffer: ArrayBuffer, offset: number, count: number): Column {
  return new ARRAYS[STORED[name].store](buffer, offset, count);
}

function makeColumns(capacity: number): Columns {
  const entries = COLUMN_NAMES.map((name) => [name, new ARRAYS[STORED[name].store](capacity)]);
  return Object.fromEntries(entries) as Columns;
}

function emptyShortNames(): ShortNames {
  const entries = SHORT_COLUMNS.map((name) => [name, EPISODE_COLUMNS[name].store === "short" ? [""] : []]);
  return Object.fromEntries(entries) as ShortNames;
}

function shortNumber(names: string[], name: string, max: number): number {
  const known = names.indexOf(name);
  if (known !== -1) return known;
  if (names.length >= max) return max - 1;
  return names.push(names.length === max - 1 ? OTHER : name) - 1;
}
