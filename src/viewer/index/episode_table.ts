import { EPISODE_ENDS, type EpisodeEnd, type EpisodeFacts, MAX_PARTS } from "./episode_facts.ts";
import { NameTable } from "./name_table.ts";

const ARRAYS = { f64: Float64Array, u32: Uint32Array, u8: Uint8Array } as const;

/** Columns of the table and the types of their numbers. */
export const COLUMNS = {
  offset: "f64",
  length: "f64",
  reward: "f64",
  durationMs: "f64",
  task: "u32",
  group: "u32",
  sample: "u32",
  turns: "u32",
  tokens: "u32",
  calls: "u32",
  statuses: "u32",
  id: "u32",
  parent: "u32",
  branchTurn: "u32",
  end: "u8",
  boundary: "u8",
  policy: "u8",
  env: "u8",
} as const satisfies Record<string, keyof typeof ARRAYS>;

/** Name of a column. */
export type ColumnName = keyof typeof COLUMNS;

/** Names of all columns. */
export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly ColumnName[];

/** Numbers of all columns, by name. */
export type Columns = { readonly [Name in ColumnName]: InstanceType<typeof ARRAYS[typeof COLUMNS[Name]]> };

/** Values of a column. */
export type Column = Columns[ColumnName];

/** Names in the columns `boundary`, `policy`, `env` and, by bit, `statuses`. */
export interface ShortNames {
  readonly boundaries: string[];
  readonly policies: string[];
  readonly envs: string[];
  readonly statuses: string[];
}

/** Position of a row in its file, in bytes. */
export interface RowPosition {
  readonly offset: number;
  readonly length: number;
}

const FIRST_CAPACITY = 1024;
/** Distinct names of a column of bytes. Further ones share the last number. */
const MAX_SHORT_NAMES = 255;
/** Distinct statuses, one bit each. Further ones share the last bit. */
const MAX_STATUSES = 32;
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
    this.shortNames = stored?.shortNames ?? { boundaries: [""], policies: [""], envs: [""], statuses: [] };
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
    const { names, shortNames: { boundaries, policies, envs, statuses } } = this;
    const values: Record<ColumnName, number> = {
      offset,
      length,
      reward: facts?.reward ?? NaN,
      durationMs: facts?.durationMs ?? 0,
      task: names.add(facts?.task ?? ""),
      group: names.add(facts?.group ?? ""),
      sample: facts?.sample ?? 0,
      turns: facts?.turns ?? 0,
      tokens: facts?.tokens ?? 0,
      calls: facts?.calls ?? 0,
      statuses: 0,
      id: names.add(facts?.id ?? ""),
      parent: names.add(facts?.parent ?? ""),
      branchTurn: facts?.branchTurn ?? 0,
      end: EPISODE_ENDS.indexOf(facts?.end ?? "damaged"),
      boundary: shortNumber(boundaries, facts?.boundary ?? "", MAX_SHORT_NAMES),
      policy: shortNumber(policies, facts?.policy ?? "", MAX_SHORT_NAMES),
      env: shortNumber(envs, facts?.env ?? "", MAX_SHORT_NAMES),
    };
    for (const status of facts?.statuses ?? []) {
      values.statuses |= 1 << shortNumber(statuses, status, MAX_STATUSES);
    }
    for (const name of COLUMN_NAMES) this.#columns[name][at] = values[name];
    this.#setParts(at, facts?.parts);
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

  /** Returns the name in a column of numbers of names. */
  nameOf(column: "task" | "group" | "id" | "parent", row: number): string {
    return this.names.nameOf(this.#columns[column][row] ?? 0);
  }

  /** Returns the boundary at which the episode of a row failed; the empty text for none. */
  boundaryOf(row: number): string {
    return this.shortNames.boundaries[this.#columns.boundary[row] ?? 0] ?? "";
  }

  /** Returns the statuses of the tool calls of a row. */
  statusesOf(row: number): string[] {
    const bits = this.#columns.statuses[row] ?? 0;
    return this.shortNames.statuses.filter((_, bit) => (bits >>> bit) & 1);
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
  return new ARRAYS[COLUMNS[name]](buffer, offset, count);
}

function makeColumns(capacity: number): Columns {
  const entries = COLUMN_NAMES.map((name) => [name, new ARRAYS[COLUMNS[name]](capacity)]);
  return Object.fromEntries(entries) as Columns;
}

function shortNumber(names: string[], name: string, max: number): number {
  const known = names.indexOf(name);
  if (known !== -1) return known;
  if (names.length >= max) return max - 1;
  return names.push(names.length === max - 1 ? OTHER : name) - 1;
}
