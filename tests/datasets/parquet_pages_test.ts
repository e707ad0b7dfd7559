import { assertEquals, assertRejects } from "@std/assert";
import { readRows } from "../../src/datasets/read_rows.ts";
import { type ColumnParts, pageOf, type PageParts, parquetOf, runOf } from "./parquet_file.ts";
import { withFiles } from "./temp_files.ts";

const MANY = 2_000_000_000;
const text = (value: string) => [value.length, 0, 0, 0, ...new TextEncoder().encode(value)];
const QUERY: ColumnParts = {
  name: "query",
  type: "BYTE_ARRAY",
  pages: pageOf({ kind: "v1", values: 1, body: text("q") }),
};

function column(page: PageParts, rest: Partial<ColumnParts> = {}): ColumnParts {
  return { name: "a", type: "INT32", pages: pageOf(page), ...rest };
}

function withoutLength(run: readonly number[]): number[] {
  return run.slice(4);
}

const OPTIONAL = { repetition: "optional" } as const;
const DICTIONARY = pageOf({ kind: "dictionary", values: 1, body: [1, 0, 0, 0] });
const delta = (count: number, ...values: readonly number[]) => [128, 1, 4, count, ...values];

/** Columns whose few bytes stand for gigabytes, with the reason why they are refused. */
const BOMBS: Readonly<Record<string, readonly [ColumnParts, reason: RegExp]>> = {
  "values without bytes, version 1": [
    column({ kind: "v1", values: MANY, encoding: "RLE_DICTIONARY", body: [0] }),
    /from 0 to 19999999 values, with those before in its row group: found 2000000000/,
  ],
  "values without bytes, version 2": [
    column({ kind: "v2", values: MANY, encoding: "DELTA_BYTE_ARRAY", body: [] }),
    /from 0 to 19999999 values/,
  ],
  "entries of a dictionary": [
    column({ kind: "dictionary", values: MANY, body: [] }, { hasDictionary: true }),
    /from 0 to 19999999 values/,
  ],
  "fewer values than none": [
    column({ kind: "v1", values: -1, body: [] }),
    /from 0 to 19999999 values.*found -1/,
  ],
  "bytes of a page": [
    column({ kind: "v1", values: 1, body: [1, 0, 0, 0], bytes: MANY }),
    /from 0 to 268435456 bytes: found 2000000000/,
  ],
  "a run of definition levels": [
    column({ kind: "v1", values: 1, body: [...runOf(1_000_000_000, 1), 1, 0, 0, 0] }, OPTIONAL),
    /a run must have at most 1 numbers: it has 1000000000/,
  ],
  "a run of repetition levels": [
    column({ kind: "v1", values: 1, body: [...runOf(1_000_000_000, 0), ...runOf(1, 1), 1, 0, 0, 0] }, {
      repetition: "repeated",
    }),
    /a run must have at most 1 numbers/,
  ],
  "a run of levels of version 2": [
    column({
      kind: "v2",
      values: 1,
      body: [...withoutLength(runOf(1_000_000_000, 1)), 1, 0, 0, 0],
      levels: { repetition: 0, definition: withoutLength(runOf(1_000_000_000, 1)).length },
    }, OPTIONAL),
    /a run must have at most 1 numbers/,
  ],
  "a run of indexes of a dictionary": [
    {
      name: "a",
      type: "INT32",
      hasDictionary: true,
      pages: [
        ...DICTIONARY,
        ...pageOf({
          kind: "v1",
          values: 1,
          encoding: "RLE_DICTIONARY",
          body: [1, ...withoutLength(runOf(1_000_000_000, 0))],
        }),
      ],
    },
    /a run must have at most 1 numbers/,
  ],
  "a run of indexes without width of version 2": [
    {
      name: "a",
      type: "INT32",
      hasDictionary: true,
      pages: [
        ...DICTIONARY,
        ...pageOf({
          kind: "v2",
          values: 1,
          encoding: "RLE_DICTIONARY",
          body: [0, ...withoutLength(runOf(1_000_000_000))],
        }),
      ],
    },
    /a run must have at most 1 numbers/,
  ],
  "a run of booleans": [
    column({ kind: "v1", values: 1, encoding: "RLE", body: runOf(1_000_000_000, 1) }, { type: "BOOLEAN" }),
    /a run must have at most 1 numbers/,
  ],
  "a run of numbers that version 2 reads as booleans": [
    column({ kind: "v2", values: 1, encoding: "RLE", body: runOf(1_000_000_000, 1) }),
    /a run must have at most 1 numbers/,
  ],
  "texts that share long beginnings": [
    column({
      kind: "v1",
      values: 2,
      encoding: "DELTA_BYTE_ARRAY",
      // The lengths of the beginnings, 0 and 1,000,000,000, then those of the rest, 0 and 0.
      body: [...delta(2, 0, 128, 168, 214, 185, 7, 0, 0, 0, 0), ...delta(2, 0, 0, 0, 0, 0, 0)],
    }, { type: "BYTE_ARRAY" }),
    /bytes of texts: found 1000000000/,
  ],
  "numbers in streams of bytes": [
    column({ kind: "v1", values: 4_096, encoding: "BYTE_STREAM_SPLIT", body: [1, 2, 3] }, {
      type: "FIXED_LEN_BYTE_ARRAY",
    }),
    /from 0 to 3 bytes of values: found 4294967296/,
  ],
};

for (const [what, [bomb, reason]] of Object.entries(BOMBS)) {
  Deno.test(`readRows() refuses Parquet whose page states too much: ${what}`, () =>
    withFiles({ "a.parquet": parquetOf(1, [QUERY, bomb]) }, async (folder) => {
      const error = await assertRejects(
        () => rowsOf(`${folder}/a.parquet`),
        SyntaxError,
        "as it must be Parquet",
      );
      assertEquals(reason.test(error.message), true, error.message);
    }));
}

Deno.test("readRows() counts the values of all columns of a row group together", async () => {
  const page = (values: number) => pageOf({ kind: "v1", values, encoding: "RLE_DICTIONARY", body: [0] });
  const wide = Array.from({ length: 25 }, (_, at) => ({
    name: `c${at}`,
    type: "INT32" as const,
    hasDictionary: true,
    pages: [...DICTIONARY, ...page(1_000_000)],
  }));
  await withFiles({ "a.parquet": parquetOf(1, [QUERY, ...wide]) }, async (folder) => {
    await assertRejects(
      () => rowsOf(`${folder}/a.parquet`),
      SyntaxError,
      "with those before in its row group",
    );
  });
});

Deno.test("readRows() refuses an index that has no page where a column has one", async () => {
  const query = (indexAt: number): ColumnParts => ({ ...QUERY, indexAt });
  await withFiles(
    { "a.parquet": parquetOf(1, [query(0)]), "b.parquet": parquetOf(1, [query(3)]) },
    async (folder) => {
      assertEquals(await rowsOf(`${folder}/a.parquet`), [{ query: "q" }]);
      await assertRejects(
        () => rowsOf(`${folder}/b.parquet`),
        SyntaxError,
        "must have the positions of its pages",
      );
    },
  );
});

Deno.test("readRows() reads the same kinds of pages that state no more than they have", async () => {
  const indexes = (width: number) => [width, ...withoutLength(runOf(1, ...(width === 0 ? [] : [0])))];
  const dictionary = (kind: "v1" | "v2", width: number): ColumnParts => ({
    name: "a",
    type: "INT32",
    hasDictionary: true,
    pages: [...DICTIONARY, ...pageOf({ kind, values: 1, encoding: "RLE_DICTIONARY", body: indexes(width) })],
  });
  const level = withoutLength(runOf(1, 1));
  const columns: readonly [ColumnParts, unknown][] = [
    [dictionary("v1", 1), 1],
    [dictionary("v1", 0), 1],
    [dictionary("v2", 1), 1],
    [column({ kind: "v1", values: 1, body: [...runOf(1, 1), 7, 0, 0, 0] }, OPTIONAL), 7],
    [column({ kind: "v1", values: 1, body: runOf(1, 0) }, OPTIONAL), null],
    [
      column({
        kind: "v2",
        values: 1,
        body: [...level, 7, 0, 0, 0],
        levels: { repetition: 0, definition: level.length },
      }, OPTIONAL),
      7,
    ],
    [column({ kind: "v1", values: 1, encoding: "RLE", body: runOf(1, 1) }, { type: "BOOLEAN" }), true],
  ];
  for (const [at, [part, value]] of columns.entries()) {
    await withFiles({ "a.parquet": parquetOf(1, [QUERY, part]) }, async (folder) => {
      assertEquals(await rowsOf(`${folder}/a.parquet`), [{ query: "q", a: value }], `column ${at}`);
    });
  }
});

function rowsOf(path: string): Promise<unknown[]> {
  return Array.fromAsync(readRows(path), ({ value }) => value());
}
