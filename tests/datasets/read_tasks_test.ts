import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { readTasks } from "../../src/datasets/read_tasks.ts";
import type { DatasetError } from "../../src/errors.ts";
import type { Task } from "../../src/task.ts";
import { gzip, toJsonLines, withFiles } from "./temp_files.ts";

async function read(content: string | Uint8Array, limit?: number) {
  const path = await Deno.makeTempFile({ prefix: "tasks", suffix: ".jsonl" });
  try {
    await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    return { path, tasks: await Array.fromAsync(readTasks(path, { limit })) };
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("readTasks() reads JSON lines with CRLF, empty lines and no newline at the end", async () => {
  const { tasks } = await read(
    '\uFEFF{"id":7,"query":"q","answer":3,"replies":["r"]}\r\n\r\n{"id":"b","query":"p","reference":"<<1=1>>"}',
  );
  assertEquals(tasks, [
    { id: "7", query: "q", answer: "3", replies: ["r"] },
    { id: "b", query: "p", reference: "<<1=1>>" },
  ]);
});

Deno.test("readTasks() separates the answer of a GSM8K row from its solution", async () => {
  const row = { question: "q", answer: "It is 1+1=<<1+1=2>>2\n#### 2,125" };
  const { tasks: [task], path } = await read(JSON.stringify(row));
  const name = path.replace(/^.*\//, "").replace(".jsonl", "");
  assertEquals(task, { id: `${name}:1`, query: "q", answer: "2,125", reference: "It is 1+1=<<1+1=2>>2" });
});

Deno.test("readTasks() stops at its limit without reading further", async () => {
  const { tasks } = await read('{"query":"a"}\n{"query":"b"}\nbroken', 2);
  assertEquals(tasks.map(({ query }) => query), ["a", "b"]);
});

Deno.test("readTasks() reads a row that is longer than a chunk of the file", async () => {
  const query = "ä".repeat(100_000);
  const { tasks } = await read(JSON.stringify({ query }) + "\n");
  assertEquals(tasks[0]?.query === query, true);
});

Deno.test("readTasks() reads fields for graders, conversations, and null for absent fields", async () => {
  const chat = [{ role: "user", content: "hi" }];
  const { tasks, path } = await read(
    `${JSON.stringify({ query: chat, answer: null, fields: { tests: ["assert f()"] } })}\n`,
  );
  const name = path.replace(/^.*\//, "").replace(".jsonl", "");
  assertEquals(tasks, [{ id: `${name}:1`, query: chat, fields: { tests: ["assert f()"] } }]);
});

Deno.test("readTasks() reads CSV, Parquet, gzipped files and folders with rows of known formats", async () => {
  const row = { task_id: "HumanEval/0", prompt: "def f():", entry_point: "f", test: "def check(f): pass" };
  const files = {
    "a/1.jsonl.gz": await gzip(toJsonLines(row)),
    "a/2.csv": "id,query,answer\nb,2+2?,4\n",
  };
  await withFiles(files, async (folder) => {
    const tasks = await Array.fromAsync(readTasks(`${folder}/a`));
    const { task_id: id, ...fields } = row;
    assertEquals(tasks, [{ id, query: "def f():", fields }, { id: "b", query: "2+2?", answer: "4" }]);
  });
  const parquet = decodeURIComponent(new URL("./files/rows_zstd.parquet", import.meta.url).pathname);
  const [task] = await Array.fromAsync(readTasks(parquet, { limit: 1 }));
  assertEquals([task?.id, "big" in Object(task?.fields)], ["rows_zstd:1", true]);
});

const invalidRows = [
  {
    what: "a line that is not JSON",
    content: '{"query":"a"}\n{oops',
    expected: ".jsonl:2 as it must be JSON",
  },
  { what: "a row that is not an object", content: "[1]", expected: ".jsonl:1: Invalid input" },
  {
    what: "a row without a query",
    content: '\n{"answer":"1"}',
    expected: ".jsonl:2 as it needs a column with the query: found [answer]; give --query-field NAME",
  },
  {
    what: "a misspelt field",
    content: '{"query":"a","anwser":"1"}',
    expected:
      "unknown field [anwser]: 'answer' is probably meant; --answer-field anwser takes it as the answer, and",
  },
  {
    what: "a row with other fields",
    content: '{"text":"a","meta":{"n":1}}',
    expected: "needs a column with the query: found [text, meta.n]; give --query-field NAME",
  },
  {
    what: "a GSM8K row without a number",
    content: '{"question":"a","answer":"2\\n#### x"}',
    expected: "#### number",
  },
  {
    what: "a MATH row without a box",
    content: '{"problem":"a","solution":"It is 2."}',
    expected: "in \\boxed{…}, as in MATH: give --answer-field NAME, the column with the answer",
  },
  {
    what: "a row with two queries",
    content: '{"question":"a","prompt":"b"}',
    expected: "the query may be 'question' or 'prompt': give --query-field NAME",
  },
  {
    what: "a row with two answers",
    content: '{"question":"a","answer":"b","target":"c"}',
    expected: "the answer may be 'answer' or 'target': give --answer-field NAME",
  },
  {
    what: "a row with choices beside its query",
    content: '{"input":"a","choices":["b"],"target":"A"}',
    expected:
      "the query may be 'input' without its 'choices': give --query-field input, or a column with both",
  },
  {
    what: "a row whose answer is an object",
    content: '{"question":"a","answer":{"value":"b"}}',
    expected:
      `the answer in 'answer' must be a text or a number: found {"value":"b"}; give --answer-field NAME`,
  },
  { what: "a file that is not UTF-8", content: new Uint8Array([123, 255, 10]), expected: "must be UTF-8" },
  { what: "a file cut off within a character", content: new Uint8Array([0xc3]), expected: "must be UTF-8" },
];

for (const { what, content, expected } of invalidRows) {
  Deno.test(`readTasks() throws for ${what}, with its location`, async () => {
    await assertRejects(() => read(content), SyntaxError, expected);
  });
}

Deno.test("readTasks() calls 'onFault' for an invalid row and continues", async () => {
  const bytes = new TextEncoder().encode('{"query":"a"}\n{oops\n5\n{"query":"~"}\n{"query":"b"}\n');
  bytes[bytes.indexOf("~".charCodeAt(0))] = 0xff;
  await withFiles({ "x.jsonl": bytes }, async (folder) => {
    const faults: string[] = [];
    const onFault = ({ id }: Task, error: DatasetError) => void faults.push(`${id} ${error.message}`);
    const tasks = await Array.fromAsync(readTasks(`${folder}/x.jsonl`, { limit: 4, onFault }));
    assertEquals(tasks.map(({ id, query }) => [id, query]), [["x:1", "a"], ["x:2", ""], ["x:3", ""], [
      "x:4",
      "",
    ]]);
    assertEquals(faults.length, 3);
    assertStringIncludes(faults[0] ?? "", "x:2 Cannot read task at ");
    assertStringIncludes(faults[1] ?? "", "x:3 Cannot read task at ");
    assertStringIncludes(faults[2] ?? "", "a line must be UTF-8: found an invalid byte");
  });
});

Deno.test("readTasks() throws for a limit that is not a whole number of at least 1", async () => {
  for (const limit of [0, -1, 1.5, NaN]) await assertRejects(() => read("", limit), RangeError, "'limit'");
});
