import { assertEquals } from "@std/assert";
import { INDEX_SUFFIX } from "../../../src/viewer/index/index_file.ts";
import { openIndex } from "../../../src/viewer/index/run_index.ts";
import { TempFolder } from "../../temp_folder.ts";
import { rowOf, runOf } from "../saved_rows.ts";

/** A file above the size from which an index is saved. */
const LARGE = runOf(4_000, (at) => ({ info: { text: `${at} `.repeat(200) } }));

Deno.test("openIndex() lists the facts of each episode", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": [
      rowOf({ id: "one", reward: 0.5, turns: 3 }),
      "",
      rowOf({
        id: "two",
        reward: null,
        terminated: false,
        error: { boundary: "policy", name: "PolicyError", message: "down" },
        toolResults: [{ turn: 1, tool: "python", status: "timeout" }],
      }),
      "no JSON",
      "",
    ].join("\n"),
  });
  const { table } = await openIndex(folder.file("a.jsonl").hostPath);
  assertEquals(table.count, 3);
  assertEquals([0, 1, 2].map((row) => table.nameOf("task", row)), ["one", "two", ""]);
  assertEquals([0, 1, 2].map((row) => table.endOf(row)), ["terminated", "failed", "damaged"]);
  assertEquals([table.columns.reward[0], table.columns.reward[1], table.columns.turns[0]], [0.5, NaN, 3]);
  assertEquals([table.nameOf("boundary", 0), table.nameOf("boundary", 1)], ["", "policy"]);
  assertEquals([table.setOf("statuses", 0), table.setOf("statuses", 1)], [[], ["timeout"]]);
});

Deno.test("openIndex() lists rows for a trainer", async () => {
  const row = {
    task_id: "one",
    group: "both",
    sample: 2,
    messages: [],
    tokens: [1, 2, 3],
    reward: 0,
    status: "truncated",
    errors: [],
    turns: [{}, {}],
    tool_calls: [{ status: "ok" }],
    timings: { total_ms: 12 },
  };
  await using folder = await TempFolder.of({ "a.jsonl": `${JSON.stringify(row)}\n` });
  const { table } = await openIndex(folder.file("a.jsonl").hostPath);
  const { sample, tokens, turns, durationMs } = table.columns;
  assertEquals([table.nameOf("task", 0), table.nameOf("group", 0), table.endOf(0)], [
    "one",
    "both",
    "truncated",
  ]);
  assertEquals([sample[0], tokens[0], turns[0], durationMs[0]], [2, 3, 2, 12]);
});

Deno.test("openIndex() reads a file with a saved index only once", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": LARGE });
  const path = folder.file("a.jsonl").hostPath;
  const first = await openIndex(path);
  const { mtime } = await Deno.stat(path);
  // Other content of the same size and time is not seen, as the file is not read.
  await Deno.writeTextFile(path, " ".repeat(LARGE.length));
  await Deno.utime(path, mtime ?? 0, mtime ?? 0);
  const second = await openIndex(path);
  assertEquals(second.table.count, 4_000);
  assertEquals(second.state, first.state);
  for (const row of [0, 1_234, 3_999]) {
    assertEquals(second.table.nameOf("task", row), first.table.nameOf("task", row));
    assertEquals(second.table.columns.offset[row], first.table.columns.offset[row]);
    assertEquals(second.table.columns.reward[row], first.table.columns.reward[row]);
  }
});

Deno.test("openIndex() saves no index of a small file", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(10) });
  await openIndex(folder.file("a.jsonl").hostPath);
  const names = await Array.fromAsync(Deno.readDir(folder.path), ({ name }) => name);
  assertEquals(names, ["a.jsonl"]);
});

Deno.test("openIndex() builds a damaged index again", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": LARGE });
  const path = folder.file("a.jsonl").hostPath;
  await openIndex(path);
  const bytes = await Deno.readFile(path + INDEX_SUFFIX);
  for (const damaged of [bytes.subarray(0, 100), bytes.subarray(0, bytes.length / 2), new Uint8Array(64)]) {
    await Deno.writeFile(path + INDEX_SUFFIX, damaged);
    assertEquals((await openIndex(path)).table.count, 4_000);
  }
});

Deno.test("openIndex() reads only what was appended to a file", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(3) });
  const path = folder.file("a.jsonl").hostPath;
  const previous = await openIndex(path);
  await Deno.writeTextFile(path, `${rowOf({ id: "new" })}\n`, { append: true });
  const grown = await openIndex(path, { previous });
  assertEquals(grown.table, previous.table);
  assertEquals(grown.table.count, 4);
  assertEquals(grown.table.nameOf("task", 3), "new");
});

Deno.test("openIndex() leaves out a line that is still being written, and then adds it", async () => {
  const line = rowOf({ id: "late" });
  await using folder = await TempFolder.of({ "a.jsonl": runOf(2) + line.slice(0, 50) });
  const path = folder.file("a.jsonl").hostPath;
  let index = await openIndex(path);
  assertEquals(index.table.count, 2);
  await Deno.writeTextFile(path, line.slice(50), { append: true });
  index = await openIndex(path, { previous: index });
  assertEquals(index.table.count, 3); // complete, without its newline
  await Deno.writeTextFile(path, `\n${rowOf({ id: "last" })}\n`, { append: true });
  index = await openIndex(path, { previous: index });
  assertEquals([2, 3].map((row) => index.table.nameOf("task", row)), ["late", "last"]);
  assertEquals(index.table.count, 4);
});

Deno.test("openIndex() reads a file again whose beginning has changed", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(4) });
  const path = folder.file("a.jsonl").hostPath;
  const previous = await openIndex(path);
  await Deno.writeTextFile(path, Array.from({ length: 9 }, () => `${rowOf({ id: "other" })}\n`).join(""));
  const { table } = await openIndex(path, { previous });
  assertEquals(table.count, 9);
  assertEquals(table.nameOf("task", 0), "other");
});

Deno.test("openIndex() lists a line that is too large to be parsed as damaged, and the lines after it", async () => {
  const large = `{"task":{"id":"large"},"messages":[],"text":"${"x".repeat(65 * 1024 * 1024)}"}`;
  await using folder = await TempFolder.of({ "a.jsonl": `${runOf(1)}${large}\n${runOf(1)}` });
  const { table } = await openIndex(folder.file("a.jsonl").hostPath);
  assertEquals([0, 1, 2].map((row) => table.endOf(row)), ["terminated", "damaged", "terminated"]);
  assertEquals(table.columns.length[1], large.length);
});

Deno.test("openIndex() saves the parts of rewards, and names whose half surrogates would join", async () => {
  const text = "x".repeat(2_000);
  const rows = Array.from({ length: 3_000 }, (_, at) =>
    rowOf({
      id: at === 0 ? "a\\ud83d" : at === 1 ? "\\ude00b" : `task-${at}`,
      rewardParts: at % 2 ? { even: 0, late: at } : { even: 1 },
      info: { text },
    }).replaceAll("\\\\u", "\\u"));
  await using folder = await TempFolder.of({ "a.jsonl": `${rows.join("\n")}\n` });
  const path = folder.file("a.jsonl").hostPath;
  const built = (await openIndex(path)).table;
  const saved = (await openIndex(path)).table;
  for (const table of [built, saved]) {
    assertEquals([...table.parts.keys()], ["even", "late"]);
    assertEquals([0, 1, 2, 2_999].map((row) => table.parts.get("even")?.[row]), [1, 0, 1, 0]);
    assertEquals([0, 1, 2_999].map((row) => table.parts.get("late")?.[row]), [NaN, 1, 2_999]);
    assertEquals(table.nameOf("task", 2_999), "task-2999");
  }
  assertEquals([0, 1].map((row) => saved.nameOf("task", row)), ["a\ufffd", "\ufffdb"]);
});

Deno.test("openIndex() adds rows to an index that was saved without any", async () => {
  const line = rowOf({ id: "large", info: { text: "x".repeat(5 * 1024 * 1024) } });
  await using folder = await TempFolder.of({ "a.jsonl": line.slice(0, -9) });
  const path = folder.file("a.jsonl").hostPath;
  assertEquals((await openIndex(path)).table.count, 0);
  await Deno.writeTextFile(path, `${line.slice(-9)}\n${rowOf({ id: "second" })}\n`, { append: true });
  const { table } = await openIndex(path);
  assertEquals([0, 1].map((row) => table.nameOf("task", row)), ["large", "second"]);
});

Deno.test("openIndex() lists a group that the env has chosen, and rows for a trainer that were cut off", async () => {
  const row = {
    task_id: "one",
    messages: [],
    tokens: [],
    status: "truncated",
    cut: "context",
    errors: [],
    turns: [],
  };
  const rows = `${rowOf({ id: "asked", group: "blotto", truncated: true, cut: "length" })}\n${
    JSON.stringify(row)
  }\n`;
  await using folder = await TempFolder.of({ "a.jsonl": rows });
  const { table } = await openIndex(folder.file("a.jsonl").hostPath);
  assertEquals([table.nameOf("task", 0), table.nameOf("group", 0)], ["asked", "blotto"]);
  assertEquals([table.endOf(0), table.endOf(1)], ["cut", "cut"]);
});
