import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { DataLoadingPrimer } from "../../src/datasets/data_loading_primer.ts";
import { DatasetError } from "../../src/errors.ts";
import { readFileChunks } from "../../src/datasets/files.ts";
import { readDataset, type ReadDatasetOptions } from "../../src/datasets/read_dataset.ts";
import { readRows, type RowSource } from "../../src/datasets/read_rows.ts";
import { History } from "../../src/history.ts";
import { gzip, toJsonLines, withFiles } from "./temp_files.ts";

const DATA = new URL("../data/", import.meta.url);

async function queries(source: RowSource, options: ReadDatasetOptions = {}) {
  return (await Array.fromAsync(readDataset(source, options))).map(({ query }) => query);
}

Deno.test("readDataset() puts the other fields of a row into the task's fields", async () => {
  const rows = [{ query: "q", answer: 3, level: "5", tags: ["a"], reference: "r" }, { text: "t", id: 7 }];
  assertEquals(await Array.fromAsync(readDataset(rows)), [
    { id: "item:1", query: "q", answer: "3", fields: { level: "5", tags: ["a"], reference: "r" } },
    { id: "7", query: "t" },
  ]);
});

Deno.test("readDataset() reads rows in Paddock's format, with null for absent fields", async () => {
  const task = { id: "a", query: "q", answer: "1", replies: ["r"], reference: "s", fields: { x: 1 } };
  assertEquals(await Array.fromAsync(readDataset([task])), [task]);
  assertEquals(await Array.fromAsync(readDataset([{ query: "q", id: null, answer: null }])), [
    { id: "item:1", query: "q" },
  ]);
});

Deno.test("readDataset() reads the query from the field 'dataKey'", async () => {
  const rows = [{ question: "q", answer: "Paris" }];
  const [task] = await Array.fromAsync(readDataset(rows, { dataKey: "question" }));
  assertEquals(task, { id: "item:1", query: "q", answer: "Paris" });
  await assertRejects(
    () => queries(rows),
    SyntaxError,
    "item 1 of the data loader as it must have a field 'query': found [question, answer]",
  );
});

Deno.test("readDataset() accepts messages or a History as a query", async () => {
  const chat = [{ role: "user", content: "hi" }, { role: "assistant", content: "ho" }];
  const [list, history] = await queries([{ query: chat }, { query: History.fromChats(chat) }]);
  assertEquals(list, chat);
  assertEquals(JSON.stringify(history), JSON.stringify(chat));
  const expected = "query: Cannot take message 0";
  await assertRejects(() => queries([{ query: [{ content: "no role" }] }]), SyntaxError, expected);
});

Deno.test("readDataset() reads rows, batches of rows and columns from any iterable", async () => {
  const batches = [[{ query: "a" }, { text: "b" }], { query: ["c", "d"], answer: [1, 2] }, { query: "e" }];
  const all = ["a", "b", "c", "d", "e"];
  assertEquals(await queries(batches), all);
  assertEquals(await queries(() => batches), all);
  async function* slowly() {
    yield* await Promise.resolve(batches);
  }
  assertEquals(await queries(slowly()), all);
});

Deno.test("readDataset() reads an object with lists of different length as one row", async () => {
  const chat = [{ role: "user", content: "hi" }];
  const [task] = await Array.fromAsync(readDataset([{ query: chat, tags: ["a"] }]));
  assertEquals(task, { id: "item:1", query: chat, fields: { tags: ["a"] } });
});

Deno.test("readDataset() applies 'collate' to each batch", async () => {
  const rows = [{ q: "a" }, { q: "b" }, { q: "c" }];
  const seen: number[] = [];
  const tasks = await Array.fromAsync(readDataset(rows, {
    batchSizeDl: 2,
    collate: (batch) => {
      seen.push(batch.length);
      return batch.flatMap(({ q }) => q === "b" ? [] : [{ query: `${q}?` }]);
    },
  }));
  assertEquals(seen, [2, 1]);
  assertEquals(tasks, [{ id: "item:1.1", query: "a?" }, { id: "item:3", query: "c?" }]);
});

Deno.test("readDataset() reads gzipped JSON lines and CSV, with quotes, newlines and a byte order mark", async () => {
  const csv = '\uFEFFquery,answer,level\r\n"a ""b"", \nc",1,x\r\nd,,y\r\n';
  const files = {
    "a.jsonl.gz": await gzip(toJsonLines({ query: "a" })),
    "b.csv": csv,
    "c.csv.gz": await gzip(csv),
  };
  await withFiles(files, async (folder) => {
    assertEquals(await Array.fromAsync(readDataset(`${folder}/a.jsonl.gz`)), [{ id: "a:1", query: "a" }]);
    const tasks = (name: string) => [
      { id: `${name}:2`, query: 'a "b", \nc', answer: "1", fields: { level: "x" } },
      { id: `${name}:3`, query: "d", answer: "", fields: { level: "y" } },
    ];
    assertEquals(await Array.fromAsync(readDataset(`${folder}/b.csv`)), tasks("b"));
    assertEquals(await Array.fromAsync(readDataset(new URL(`file://${folder}/c.csv.gz`))), tasks("c"));
  });
});

Deno.test("readDataset() reads CSV with CR line ends at any chunk border, and keeps a quoted CR", async () => {
  for (const padding of [0, 65_510, 65_511, 65_512, 65_513, 65_514]) {
    const csv = `query,answer\r${"x".repeat(padding)}q,"a\r""\rb"\r\r\nw,2\rlast,\r`;
    await withFiles({ "a.csv": csv }, async (folder) => {
      const tasks = await Array.fromAsync(readDataset(`${folder}/a.csv`));
      assertEquals(tasks.map(({ query, answer }) => [String(query).replace(/x+/, ""), answer]), [
        ["q", 'a\r"\rb'],
        ["w", "2"],
        ["last", ""],
      ]);
    });
  }
});

Deno.test("readDataset() throws only for the CSV row with a wrong number of fields", async () => {
  await withFiles({ "a.csv": "query,answer\na,1\nb\nc,3,4\nd,4\n" }, async (folder) => {
    await using primer = new DataLoadingPrimer({ dataloader: readRows(`${folder}/a.csv`) });
    const queries = Array.from({ length: 4 }, () => primer.take(0).then(({ query }) => query, String));
    const [a, b, c, d] = await Promise.all(queries);
    assertEquals([a, d], ["a", "d"]);
    assertMatch(String(b), /a\.csv:3 as it must be CSV with 2 fields: found 1/);
    assertMatch(String(c), /a\.csv:4 as it must be CSV with 2 fields: found 3/);
  });
});

Deno.test("readDataset() reads a .json file as one list of rows, or as JSON lines", async () => {
  const rows = [{ query: "a", answer: 1 }, { query: "b" }];
  const files = {
    "a.json": `\uFEFF${" ".repeat(70_000)}\n${JSON.stringify(rows, null, 2)}\n`,
    "b.json.gz": await gzip(JSON.stringify(rows)),
    "c.json": toJsonLines(...rows),
    "d.json": "",
    "e.json": "[]",
    "f.json": '[{"query":"a"}, 5, {"query":"b"}]',
  };
  await withFiles(files, async (folder) => {
    assertEquals(await Array.fromAsync(readDataset(`${folder}/a.json`)), [
      { id: "a:1", query: "a", answer: "1" },
      { id: "a:2", query: "b" },
    ]);
    for (const name of ["b.json.gz", "c.json"]) assertEquals(await queries(`${folder}/${name}`), ["a", "b"]);
    for (const name of ["d.json", "e.json"]) assertEquals(await queries(`${folder}/${name}`), []);
    await using primer = new DataLoadingPrimer({ dataloader: readRows(`${folder}/f.json`) });
    assertEquals((await primer.take(0)).query, "a");
    await assertRejects(() => primer.take(0), SyntaxError, "f.json:2: Invalid input");
    assertEquals((await primer.take(0)).query, "b");
  });
});

for (const codec of ["none", "snappy", "zstd", "gzip", "brotli", "lz4"]) {
  Deno.test(`readDataset() reads Parquet (${codec}), with nulls, nested fields and 64-bit numbers`, async () => {
    const path = new URL(`./files/rows_${codec}.parquet`, import.meta.url); // written by pyarrow 25
    const tasks = await Array.fromAsync(readDataset(path));
    assertEquals(tasks.map(({ query, answer }) => [query, answer]), [
      ["q0 ä", "0"],
      ["q1 ä", "1"],
      ["q2 ä", undefined],
      ["q3 ä", "3"],
      ["q4 ä", "4"],
      ["q5 ä", "5"],
    ]);
    assertEquals(tasks[5], {
      id: `rows_${codec}:6`,
      query: "q5 ä",
      answer: "5",
      fields: {
        big: "1152921504606846981",
        tags: ["a", "b"],
        meta: { level: 5, name: "n5" },
        when: "2024-01-06T00:00:00.000Z",
        score: 2.5,
        flag: false,
      },
    });
    assertEquals(JSON.parse(JSON.stringify(tasks[5])), tasks[5]);
  });
}

Deno.test("readDataset() reads the files of a folder in order, only 'train' if there is such a split", async () => {
  const files = {
    "d/main/train-00001-of-00002.jsonl": toJsonLines({ query: "b" }),
    "d/main/train-00000-of-00002.jsonl": toJsonLines({ query: "a" }),
    "d/main/test/part.jsonl": toJsonLines({ query: "c" }),
    "d/main/README.md": "no rows",
    "d/main/dataset_infos.json": "no rows either",
    "e/.cache/0.jsonl": "nor here",
    "d/training.csv": "query\nd\n",
    "e/2.csv": "query\nf\n",
    "e/1.jsonl": toJsonLines({ query: "e" }),
  };
  await withFiles(files, async (folder) => {
    assertEquals(await queries(`${folder}/d`), ["a", "b"]);
    assertEquals(await queries(`${folder}/d`, { name: "main", split: "test" }), ["c"]);
    assertEquals(await queries(`${folder}/d`, { split: "training" }), ["d"]);
    assertEquals(await queries(`${folder}/e`), ["e", "f"]);
    const missing = () => queries(`${folder}/d`, { split: "dev" });
    await assertRejects(missing, DatasetError, "must have a split 'dev': its files are [");
    await assertRejects(() => queries(`${folder}/x`), Deno.errors.NotFound);
    await Deno.mkdir(`${folder}/empty`);
    await assertRejects(() => queries(`${folder}/empty`), DatasetError, "must contain a JSON lines");
  });
});

const BROKEN = new Uint8Array([
  ...new TextEncoder().encode("PAR1 this is no Parquet"),
  9,
  0,
  0,
  0,
  80,
  65,
  82,
  49,
]);
const faults = [
  {
    what: "a row that is not an object",
    name: "a.jsonl",
    content: "{}\n[1]".slice(3),
    expected: /a\.jsonl:1: .*object/,
  },
  {
    what: "a line that is not JSON",
    name: "a.jsonl",
    content: '{"query":"a"}\n{',
    expected: /a\.jsonl:2 as it must be JSON/,
  },
  {
    what: "a JSON list that is cut off",
    name: "a.json",
    content: '[{"query":"a"},',
    expected: /a\.json as it must be a JSON list/,
  },
  {
    what: "a row without a query",
    name: "a.csv",
    content: "a,b\n1,2\n",
    expected: /a\.csv:2 as it must have a field 'query'/,
  },
  {
    what: "an empty query",
    name: "a.csv",
    content: 'query,b\n"",2\n',
    expected: /a\.csv:2: query: must be a text/,
  },
  {
    what: "a CSV row with one field too many",
    name: "a.csv",
    content: "query\n1,2\n",
    expected: /a\.csv:2 as it must be CSV/,
  },
  {
    what: "a CSV row with one field too few",
    name: "a.csv",
    content: "query,answer\nq\n",
    expected: /a\.csv:2 as it must be CSV with 2 fields: found 1/,
  },
  {
    what: "a CSV file with a duplicate field name",
    name: "a.csv",
    content: "query,a,a\nq,1,2\n",
    expected: /a\.csv:1 as field names must be unique: found 'a' twice/,
  },
  {
    what: "an answer that is a list, in Paddock's format",
    name: "a.jsonl",
    content: '{"query":"q","answer":["x"]}',
    expected: /a\.jsonl:1: answer: must be a text or a number/,
  },
  {
    what: "an answer that is an object, in another format",
    name: "a.jsonl",
    content: '{"query":"q","answer":{"x":1},"z":1}',
    expected: /a\.jsonl:1: answer: must be a text or a number/,
  },
  {
    what: "an unclosed quote",
    name: "a.csv",
    content: 'query\n"a\n',
    expected: /a\.csv:2 as it must be CSV/,
  },
  {
    what: "a CSV file that is not UTF-8",
    name: "a.csv",
    content: new Uint8Array([255]),
    expected: /must be UTF-8/,
  },
  {
    what: "a damaged Parquet file",
    name: "a.parquet",
    content: BROKEN,
    expected: /a\.parquet as it must be Parquet/,
  },
  {
    what: "an empty Parquet file",
    name: "a.parquet",
    content: "",
    expected: /a\.parquet as it must be Parquet/,
  },
  {
    what: "a .gz file that is not gzip",
    name: "a.jsonl.gz",
    content: "plain",
    expected: /a\.jsonl\.gz as it must be gzip/,
  },
];

for (const { what, name, content, expected } of faults) {
  Deno.test(`readDataset() throws for ${what}, with its location`, async () => {
    await withFiles({ [name]: content }, async (folder) => {
      const error = await assertRejects(() => queries(`${folder}/${name}`), SyntaxError);
      assertMatch(error.message, expected);
    });
  });
}

Deno.test("readDataset() throws for a .gz file that expands to far more than its size", async () => {
  await withFiles({ "a.jsonl.gz": await gzip(" ".repeat(65 * 1024 * 1024)) }, async (folder) => {
    await assertRejects(
      () => queries(`${folder}/a.jsonl.gz`),
      SyntaxError,
      "a.jsonl.gz as it must expand to at most 67108864 bytes: it has more",
    );
  });
});

Deno.test("readDataset() throws for a file with too many empty lines", async () => {
  await withFiles({ "a.jsonl": "\n".repeat(100_001) }, async (folder) => {
    await assertRejects(
      () => queries(`${folder}/a.jsonl`),
      SyntaxError,
      "a.jsonl:100001 as a file must have",
    );
  });
});

Deno.test("readFileChunks() decompresses in pieces of a few MiB", async () => {
  await withFiles({ "a.txt.gz": await gzip("a".repeat(60 * 1024 * 1024)) }, async (folder) => {
    let largest = 0;
    for await (const { length } of readFileChunks(`${folder}/a.txt.gz`)) largest = Math.max(largest, length);
    assert(largest < 8 * 1024 * 1024, `a piece has ${largest} bytes`);
  });
});

Deno.test("readDataset() throws for a CSV record that is too long, such as one with an unclosed quote", async () => {
  const lines = `${"a,".repeat(1024)}\n`.repeat(17 * 1024);
  await withFiles({ "a.csv": `query,b\nx,"${lines}` }, async (folder) => {
    await assertRejects(
      () => queries(`${folder}/a.csv`),
      SyntaxError,
      "a.csv:2 as a record must have at most 33554432 characters: a quote is not closed",
    );
  });
});

Deno.test("readDataset() throws for Parquet that is cut off or has a damaged page", async () => {
  const bytes = await Deno.readFile(new URL("./files/rows_zstd.parquet", import.meta.url));
  const torn = bytes.slice();
  torn.fill(0xff, 4, 1000);
  await withFiles({ "cut.parquet": bytes.subarray(0, 3000), "torn.parquet": torn }, async (folder) => {
    for (const name of ["cut.parquet", "torn.parquet"]) {
      await assertRejects(() => queries(`${folder}/${name}`), SyntaxError, `${name} as it must be Parquet`);
    }
  });
});

Deno.test("readDataset() reads JSON lines with any line ends, and throws only for a line that is too long or not UTF-8", async () => {
  const query = "ä".repeat(10 * 1024 * 1024);
  const files = { "a.jsonl": toJsonLines({ query }, { query: "b" }), "c.jsonl": "" };
  await withFiles(files, async (folder) => {
    assertEquals((await queries(`${folder}/a.jsonl`)).map((text) => String(text).length), [query.length, 1]);
    {
      using file = await Deno.open(`${folder}/c.jsonl`, { write: true });
      await file.truncate(32 * 1024 * 1024 + 1);
      await file.seek(0, Deno.SeekMode.End);
      await file.write(new Uint8Array([10, 255, 10, ...new TextEncoder().encode('{"query":"b"}')]));
    }
    await using primer = new DataLoadingPrimer({ dataloader: readRows(`${folder}/c.jsonl`) });
    await assertRejects(
      () => primer.take(0),
      SyntaxError,
      "c.jsonl:1 as a line must have at most 33554432 bytes",
    );
    await assertRejects(() => primer.take(0), SyntaxError, "c.jsonl:2 as a line must be UTF-8");
    assertEquals((await primer.take(0)).query, "b");
  });
});

Deno.test("readDataset() closes its file when the iteration stops early", async () => {
  const many = Array.from({ length: 5_000 }, (_, n) => ({ query: `${n}`, pad: "x".repeat(100) }));
  const csv = "query\n" + many.map(({ query, pad }) => `${query}${pad}\n`).join("");
  const files = {
    "a.jsonl": toJsonLines(...many),
    "b.jsonl.gz": await gzip(toJsonLines(...many)),
    "c.csv": csv,
  };
  await withFiles({ ...files, "d.csv.gz": await gzip(csv) }, async (folder) => {
    for (const name of ["a.jsonl", "b.jsonl.gz", "c.csv", "d.csv.gz"]) {
      const tasks = readDataset(`${folder}/${name}`);
      assertEquals((await tasks.next()).done, false);
      await tasks.return(undefined);
    }
  });
});

Deno.test("readDataset() shuffles by its seed, and yields each row once", async () => {
  const rows = Array.from({ length: 30_000 }, (_, n) => ({ query: `${n}` }));
  const shuffled = await queries(rows, { shuffle: true, seed: 1 });
  assertNotEquals(shuffled.slice(0, 20), rows.slice(0, 20).map(({ query }) => query));
  assertEquals(new Set(shuffled).size, rows.length);
  assertEquals(await queries(rows, { shuffle: true, seed: 1 }), shuffled);
  assertNotEquals(await queries(rows, { shuffle: true, seed: 2 }), shuffled);
});

Deno.test("readDataset() reads at most 10,000 rows ahead when it shuffles, and one row otherwise", async () => {
  let read = 0;
  function* rows() {
    for (let n = 0; n < 1_000_000; n++) {
      read++;
      yield { query: `${n}` };
    }
  }
  for (const { shuffle, ahead } of [{ shuffle: true, ahead: 10_001 }, { shuffle: false, ahead: 1 }]) {
    read = 0;
    let count = 0;
    for await (const _ of readDataset(rows, { shuffle, seed: 1 })) {
      if (read - ++count > ahead) throw new Error(`${read} rows were read for ${count} tasks`);
      if (count === 50_000) break;
    }
  }
});

Deno.test("readDataset() reads a large Parquet file by row groups", async () => {
  const path = new URL("./files/rows_none.parquet", import.meta.url);
  const ids: string[] = [];
  for await (const { id } of readDataset(path)) {
    ids.push(id);
    if (ids.length === 5) break;
  }
  assertEquals(ids, [1, 2, 3, 4, 5].map((row) => `rows_none:${row}`));
});

Deno.test("readDataset() reads all rows of IFEval, HumanEval and GSM8K", async () => {
  const counts = {
    "ifeval/input_data.jsonl": 541,
    "humaneval/HumanEval.jsonl.gz": 164,
    "gsm8k/test.jsonl": 1319,
  };
  for (const [path, count] of Object.entries(counts)) {
    const tasks = await Array.fromAsync(readDataset(new URL(path, DATA)));
    assertEquals(new Set(tasks.map(({ id }) => id)).size, count, path);
  }
});
