import { assertEquals, assertRejects } from "@std/assert";
import { readDataset } from "../../src/datasets/read_dataset.ts";
import { readRows } from "../../src/datasets/read_rows.ts";
import { pageOf, parquetOf } from "./parquet_file.ts";
import { withFiles } from "./temp_files.ts";
import { intervalText, timestampText, timeText } from "../../src/datasets/parquet_times.ts";

// `parquet/small_files.py` writes the files.
const FILES = new URL("./files/parquet/", import.meta.url);

function rowsOf(name: string): Promise<unknown[]> {
  return Array.fromAsync(readRows(new URL(`${name}.parquet`, FILES)), ({ value }) => value());
}

/** Rows of a file; `undefined` stands for a column that is not compared. */
const EXPECTED: Readonly<Record<string, readonly object[]>> = {
  nulls: [
    { query: "a", name: null, tools: null, none: [], meta: null, map: null, empty: null },
    {
      query: "b",
      name: "n",
      tools: ["t", null],
      none: null,
      meta: { a: null, b: [] },
      map: { ["__proto__"]: null, k: 1 },
      empty: null,
    },
  ],
  numbers: [
    {
      query: "a",
      answer: "12345678901234567890.12",
      d38: "9".repeat(38),
      d36_2: -0.05,
      list: ["1234567890123456789.5"],
      u64: "18446744073709551615",
      u32: 4294967295,
      i64: "9007199254740993",
      f16: 0.5,
      f64: "Infinity",
    },
    {
      query: "b",
      answer: 0.3,
      d38: `-${"9".repeat(38)}`,
      d36_2: null,
      list: [],
      u64: 1,
      u32: 1,
      i64: -9007199254740991,
      f16: "NaN",
      f64: -0.25,
    },
  ],
  times: [
    {
      query: "a",
      s: "1970-01-01T00:00:00.000Z",
      ms: "2023-11-14T22:13:20.007Z",
      us: "2023-11-14T22:13:20.123456Z",
      ns: "2023-11-14T22:13:20.123456789Z",
      last_ns: "2262-04-11T23:47:16.854775807Z",
      day: "2024-02-29T00:00:00.000Z",
      time: "12:30:00",
    },
    {
      query: "b",
      s: "1969-12-31T23:59:59.000Z",
      ms: "1969-12-31T23:59:59.999Z",
      us: "1969-12-31T23:59:59.999999Z",
      ns: "2023-11-14T22:13:20.123Z",
      last_ns: null,
      day: "0001-01-01T00:00:00.000Z",
      time: "23:59:59.25",
    },
  ],
  bytes: [
    {
      query: "a",
      image: { bytes: { base64: "iVBORw0KGgr/" }, path: "a.png" },
      images: [{ bytes: { base64: "/9g=" }, path: null }],
      plain: "text ä",
      hash: { base64: "YWJjZA==" },
      mark: "\ufeffbom",
    },
    {
      query: "b",
      image: { bytes: null, path: null },
      images: [],
      plain: { base64: "5A==" },
      hash: { base64: "AAECAw==" },
      mark: "\0",
    },
  ],
  duckdb: [
    {
      query: "a",
      step: "P1M2DT3.5S",
      ts: "infinity",
      day: "-infinity",
      tz: "-infinity",
      id: "12345678-1234-5678-1234-567812345678",
      json: { n: ["9007199254740993", null] },
    },
    {
      query: "b",
      step: "PT0S",
      ts: "2024-01-02T03:04:05.678901Z",
      day: "+5877641-06-23T00:00:00.000Z",
      tz: null,
      id: null,
      json: null,
    },
  ],
  lz4_null_column: [{ query: "a", answer: 1, note: null }, { query: "b", answer: 2, note: null }],
  lz4_large_null_column: [{ query: "q1", answer: "1", n: null }, { query: "q2", answer: "2", n: null }],
  lz4_null_page: Array.from(
    { length: 40 },
    (_, index) => ({ query: `q${index}`, note: index < 30 ? null : "n" }),
  ),
  lz4_empty_lists: [{ query: "a", tags: [] }, { query: "b", tags: null }],
  lz4_no_rows: [],
};

for (const [name, expected] of Object.entries(EXPECTED)) {
  Deno.test(`readRows() reads ${name}.parquet without a loss, as JSON data`, async () => {
    const rows = await rowsOf(name);
    assertEquals(JSON.stringify(rows), JSON.stringify(expected));
    assertEquals(JSON.parse(JSON.stringify(rows)), rows);
  });
}

Deno.test("readDataset() gives a decimal of Parquet to graders with all digits, and null for no list", async () => {
  const [exact, short] = await Array.fromAsync(readDataset(new URL("numbers.parquet", FILES)));
  assertEquals([exact?.answer, short?.answer], ["12345678901234567890.12", "0.3"]);
  const [first] = await Array.fromAsync(readDataset(new URL("nulls.parquet", FILES)));
  assertEquals(first?.fields, { name: null, tools: null, none: [], meta: null, map: null, empty: null });
});

Deno.test("readDataset() refuses bytes that are no text as a query", async () => {
  const rows = readDataset(new URL("bytes.parquet", FILES), { dataKey: "plain" });
  assertEquals((await rows.next()).value?.query, "text ä");
  await assertRejects(() => rows.next(), SyntaxError, "bytes.parquet:2: plain: must be a text");
});

Deno.test("readRows() throws only for the rows whose text is not UTF-8 or not JSON", async () => {
  const bad: readonly (readonly [string, number, string])[] = [
    ["not_utf8", 2, "a column of strings must be UTF-8"],
    ["not_json", 1, "a column of JSON must have JSON"],
  ];
  for (const [name, number, text] of bad) {
    const rows = await Array.fromAsync(readRows(new URL(`${name}.parquet`, FILES)));
    for (const [index, { value }] of rows.entries()) {
      const read = () => Promise.try(value);
      if (index + 1 !== number) await read();
      else await assertRejects(read, SyntaxError, `${name}.parquet:${number} as ${text}`);
    }
  }
});

Deno.test("readRows() throws for a column that is not in the schema, and leaves no read behind", async () => {
  const bytes = await Deno.readFile(new URL("nulls.parquet", FILES));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  // The last occurrence of the name is the path of the last column: the library has begun to read the others by then.
  bytes.set(new TextEncoder().encode("EMPTY"), text.lastIndexOf("empty"));
  await withFiles({ "other.parquet": bytes }, async (folder) => {
    for (let count = 0; count < 20; count++) {
      await assertRejects(
        () => Array.fromAsync(readRows(`${folder}/other.parquet`)),
        SyntaxError,
        "the columns must be in the file and its schema: found [EMPTY]",
      );
    }
  });
});

Deno.test("readRows() refuses a field __proto__, which would be a prototype", async () => {
  await assertRejects(() => rowsOf("proto"), SyntaxError, "no column or field may be called '__proto__'");
});

Deno.test("readRows() refuses a column of the type VARIANT by its name, and reads other structs", async () => {
  const text = new TextEncoder().encode("4");
  const pages = pageOf({ kind: "v1", values: 1, body: [text.length, 0, 0, 0, ...text] });
  const fileOf = (logicalType: number) =>
    parquetOf(1, [
      { name: "query", type: "BYTE_ARRAY", pages },
      { name: "metadata", type: "BYTE_ARRAY", pages, within: { name: "extra", logicalType } },
    ]);
  await withFiles({ "variant.parquet": fileOf(16), "unknown.parquet": fileOf(11) }, async (folder) => {
    await assertRejects(
      () => Array.fromAsync(readRows(`${folder}/variant.parquet`)),
      SyntaxError,
      "columns of the type VARIANT are not read, write them as JSON: found 'extra'",
    );
    const [row] = await Array.fromAsync(readRows(`${folder}/unknown.parquet`));
    assertEquals(row?.value(), { query: "4", extra: { metadata: "4" } });
  });
});

Deno.test("timestampText() writes years beyond those of Date, and infinities of each unit but nanoseconds", () => {
  const most = 2n ** 63n - 1n;
  assertEquals(timestampText(most, "MILLIS"), "infinity");
  assertEquals(timestampText(-most, "MICROS"), "-infinity");
  assertEquals(timestampText(most - 1n, "MICROS"), "+294247-01-10T04:00:54.775806Z");
  assertEquals(timestampText(-most - 1n, "MICROS"), "-290308-12-21T19:59:05.224192Z");
  assertEquals(timestampText(-most - 1n, "NANOS"), "1677-09-21T00:12:43.145224192Z");
  assertEquals(timestampText(0n, "NANOS"), "1970-01-01T00:00:00.000Z");
  assertEquals(timestampText(1_000n, "NANOS"), "1970-01-01T00:00:00.000001Z");
  assertEquals(timestampText(1n, "NANOS"), "1970-01-01T00:00:00.000000001Z");
});

Deno.test("timeText() and intervalText() write fractions without zeros at their end", () => {
  assertEquals(timeText(86_399_999_999_999n, "NANOS"), "23:59:59.999999999");
  assertEquals(timeText(1n, "MILLIS"), "00:00:00.001");
  assertEquals(timeText(3_600_000_000n, "MICROS"), "01:00:00");
  const interval = (...parts: number[]) => intervalText(new Uint8Array(new Uint32Array(parts).buffer));
  assertEquals(interval(0, 0, 0), "PT0S");
  assertEquals(interval(25, 0, 1), "P25MT0.001S");
  assertEquals(interval(0, 4294967295, 4294967295), "P4294967295DT4294967.295S");
});
