/** A value of Thrift's compact protocol: a field's number, kind and value. */
type Field = readonly [id: number, kind: keyof typeof KINDS, value: unknown];

const KINDS = { i32: 5, i64: 6, text: 8, list: 9, struct: 12, true: 1, false: 2 } as const;

function varint(value: bigint): number[] {
  const bytes = [];
  for (let rest = value;; rest >>= 7n) {
    if (rest < 128n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 127n) | 128);
  }
}

function zigzag(value: number): number[] {
  const wide = BigInt(value);
  return varint(wide < 0n ? -2n * wide - 1n : 2n * wide);
}

function valueBytes(kind: keyof typeof KINDS, value: unknown): number[] {
  switch (kind) {
    case "i32":
    case "i64":
      return zigzag(value as number);
    case "text": {
      const bytes = new TextEncoder().encode(value as string);
      return [...varint(BigInt(bytes.length)), ...bytes];
    }
    case "struct":
      return struct(value as readonly Field[]);
    case "list": {
      const [of, items] = value as readonly [keyof typeof KINDS, readonly unknown[]];
      const size = items.length < 15
        ? [items.length << 4 | KINDS[of]]
        : [15 << 4 | KINDS[of], ...varint(BigInt(items.length))];
      return [...size, ...items.flatMap((item) => valueBytes(of, item))];
    }
    default:
      return [];
  }
}

/** Returns a struct in Thrift's compact protocol. */
export function struct(fields: readonly Field[]): number[] {
  let last = 0;
  const bytes = fields.flatMap(([id, kind, value]) => {
    const head = id - last > 15 ? [KINDS[kind], ...zigzag(id)] : [(id - last) << 4 | KINDS[kind]];
    last = id;
    return [...head, ...valueBytes(kind, value)];
  });
  return [...bytes, 0];
}

/** Numbers of types, encodings and kinds of pages in Parquet. */
export const TYPES = { BOOLEAN: 0, INT32: 1, INT64: 2, BYTE_ARRAY: 6, FIXED_LEN_BYTE_ARRAY: 7 } as const;
export const ENCODINGS = {
  PLAIN: 0,
  PLAIN_DICTIONARY: 2,
  RLE: 3,
  DELTA_BYTE_ARRAY: 7,
  RLE_DICTIONARY: 8,
  BYTE_STREAM_SPLIT: 9,
} as const;
const PAGES = { v1: 0, dictionary: 2, v2: 3 } as const;

/** A page of a column: its head says what its body has. */
export interface PageParts {
  readonly kind: keyof typeof PAGES;
  readonly values: number;
  readonly encoding?: keyof typeof ENCODINGS;
  readonly body: readonly number[];
  /** @default the length of the body */
  readonly bytes?: number;
  /** Bytes of the levels before the values of a page of version 2. */
  readonly levels?: { readonly repetition: number; readonly definition: number };
}

/** Returns a page with its head. */
export function pageOf({ kind, values, encoding = "PLAIN", body, bytes, levels }: PageParts): number[] {
  const plain = ENCODINGS.RLE;
  const heads: Readonly<Record<PageParts["kind"], Field>> = {
    v1: [5, "struct", [[1, "i32", values], [2, "i32", ENCODINGS[encoding]], [3, "i32", plain], [
      4,
      "i32",
      plain,
    ]]],
    dictionary: [7, "struct", [[1, "i32", values], [2, "i32", ENCODINGS[encoding]]]],
    v2: [8, "struct", [
      [1, "i32", values],
      [2, "i32", 0],
      [3, "i32", values],
      [4, "i32", ENCODINGS[encoding]],
      [5, "i32", levels?.definition ?? 0],
      [6, "i32", levels?.repetition ?? 0],
      [7, "false", undefined],
    ]],
  };
  const head = struct([
    [1, "i32", PAGES[kind]],
    [2, "i32", bytes ?? body.length],
    [3, "i32", body.length],
    heads[kind],
  ]);
  return [...head, ...body];
}

/** A column of texts or numbers, with its pages. */
export interface ColumnParts {
  readonly name: string;
  readonly type: keyof typeof TYPES;
  /** @default "required" */
  readonly repetition?: "required" | "optional" | "repeated";
  readonly pages: readonly number[];
  readonly hasDictionary?: boolean;
  /** Where its index has a page, counted from the first one. @default it has no index */
  readonly indexAt?: number;
  /**
   * Struct of which the column is the only field, with the number of its logical type in Parquet.
   *
   * @default the column is in no struct
   */
  readonly within?: { readonly name: string; readonly logicalType: number };
}

/** Returns a Parquet file of one row group. */
export function parquetOf(rows: number, columns: readonly ColumnParts[]): Uint8Array<ArrayBuffer> {
  const magic = [...new TextEncoder().encode("PAR1")];
  const data = [...magic];
  const chunks = columns.map(({ name, type, pages, hasDictionary, indexAt, within }) => {
    const [start, bytes] = [data.length, pages.length];
    const index = indexAt === undefined ? [] : indexOf(start + indexAt, bytes - indexAt);
    data.push(...pages, ...index);
    const described: Field[] = [
      [1, "i32", TYPES[type]],
      [2, "list", ["i32", [ENCODINGS.PLAIN]]],
      [3, "list", ["text", within ? [within.name, name] : [name]]],
      [4, "i32", 0],
      [5, "i64", rows],
      [6, "i64", bytes],
      [7, "i64", bytes],
      [9, "i64", start],
      ...hasDictionary ? [[11, "i64", start] as const] : [],
    ];
    const located: Field[] = [[2, "i64", start], [3, "struct", described]];
    if (index.length > 0) located.push([4, "i64", start + bytes], [5, "i32", index.length]);
    return located;
  });
  const repetitions = { required: 0, optional: 1, repeated: 2 };
  const elements = columns.flatMap((
    { name, type, repetition = "required", within },
  ): (readonly Field[])[] => [
    ...within
      ? [
        [[3, "i32", 0], [4, "text", within.name], [5, "i32", 1], [10, "struct", [[
          within.logicalType,
          "struct",
          [],
        ]]]] as const,
      ]
      : [],
    [
      [1, "i32", TYPES[type]],
      ...type === "FIXED_LEN_BYTE_ARRAY" ? [[2, "i32", 1 << 20] as const] : [],
      [3, "i32", repetitions[repetition]],
      [4, "text", name],
      ...type === "BYTE_ARRAY" ? [[6, "i32", 0] as const] : [],
    ],
  ]);
  const root: readonly Field[] = [[4, "text", "schema"], [5, "i32", columns.length]];
  const footer = struct([
    [1, "i32", 1],
    [2, "list", ["struct", [root, ...elements]]],
    [3, "i64", rows],
    [4, "list", ["struct", [[[1, "list", ["struct", chunks]], [2, "i64", data.length], [3, "i64", rows]]]]],
  ]);
  const length = new Uint8Array(new Uint32Array([footer.length]).buffer);
  return new Uint8Array([...data, ...footer, ...length, ...magic]);
}

/** Returns the index of a column of one page. */
function indexOf(offset: number, bytes: number): number[] {
  const location: readonly Field[] = [[1, "i64", offset], [2, "i32", bytes], [3, "i64", 0]];
  return struct([[1, "list", ["struct", [location]]]]);
}

/** Returns a run of one number, with the number of its bytes before it. */
export function runOf(count: number, ...number: readonly number[]): number[] {
  const run = [...varint(BigInt(count) << 1n), ...number];
  return [...new Uint8Array(new Uint32Array([run.length]).buffer), ...run];
}
