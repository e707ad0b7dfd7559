import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type TaskColumns, toFileTask } from "../../src/datasets/columns.ts";
import { readTasks } from "../../src/datasets/read_tasks.ts";
import {} from "../../src/datasets/row.ts";
import { DatasetError } from "../../src/errors.ts";
import { gzip, toJsonLines, withFiles } from "./temp_files.ts";

function read(row: Record<string, unknown>, columns: TaskColumns = {}) {
  return toFileTask(row, { location: "a.jsonl:1", columns });
}

const CHAT = [{ role: "user", content: "q" }];

Deno.test("toFileTask() reads rows of TRL, verl and inspect, and rows with messages or plain answers", () => {
  assertEquals(read({ prompt: "q", answer: "4" }), { query: "q", answer: "4" });
  assertEquals(read({ prompt: CHAT, solution: "so \\boxed{4}" }), { query: CHAT, answer: "so \\boxed{4}" });
  const verl = {
    data_source: "openai/gsm8k",
    prompt: CHAT,
    ability: "math",
    reward_model: { ground_truth: "4", style: "rule" },
    extra_info: { index: 7, split: "train" },
  };
  const { prompt: _, ...fields } = verl;
  assertEquals(read(verl), { query: CHAT, answer: "4", fields });
  assertEquals(read({ input: "q", target: ["4"], id: 3 }), { id: "3", query: "q", answer: "4" });
  assertEquals(read({ messages: CHAT }), { query: CHAT });
  assertEquals(read({ question: "q", answer: 4 }), { query: "q", answer: "4" });
  assertEquals(read({ question: "q", answer: "Paris", level: 2, replies: ["r"] }), {
    query: "q",
    answer: "Paris",
    replies: ["r"],
    fields: { level: 2 },
  });
});

Deno.test("toFileTask() leaves the last reply of a conversation to the policy", () => {
  const messages = [...CHAT, { role: "assistant", content: "the reply" }];
  assertEquals(read({ messages }), { query: CHAT, reference: "the reply" });
});

Deno.test("toFileTask() finds columns in capital letters, and keeps extra ones in fields", () => {
  assertEquals(read({ Question: "q", Answer: "4", Level: "1" }), {
    query: "q",
    answer: "4",
    fields: { Level: "1" },
  });
  assertEquals(read({ " Question ": "q", Answer: "6*7=42\n#### 42" }), {
    query: "q",
    answer: "42",
    reference: "6*7=42",
  });
  assertEquals(read({ query: "q", answer: "4", tests: ["a"], fields: { hint: 1 } }), {
    query: "q",
    answer: "4",
    fields: { hint: 1, tests: ["a"] },
  });
});

Deno.test("toFileTask() reads the columns that options name, also inside objects", () => {
  const row = { uid: 9, ask: { text: "q" }, gold: { value: [4] }, sys: "Be brief.", other: 1, "a.b": 2 };
  const columns = {
    query: "ask.text",
    answer: "gold.value",
    id: "uid",
    system: "sys",
    keep: ["other", "a.b"],
  };
  assertEquals(read(row, columns), {
    id: "9",
    query: [{ role: "system", content: "Be brief." }, { role: "user", content: "q" }],
    answer: "4",
    fields: { other: 1, "a.b": 2 },
  });
  assertEquals(read({ Question: "q", Answer: "4" }, { query: "Question", keep: [] }), {
    query: "q",
    answer: "4",
  });
  const math = { problem: "q", solution: "It is 4.", level: "1" };
  assertEquals(read(math, { answer: "solution" }), {
    query: "q",
    answer: "It is 4.",
    fields: { level: "1" },
  });
  const gsm8k = { question: "q", answer: "2+2\n#### 4", uid: "x", source: "s" };
  assertEquals(read(gsm8k, { id: "uid", keep: ["source"] }), {
    id: "x",
    query: "q",
    answer: "4",
    reference: "2+2",
    fields: { source: "s" },
  });
});

Deno.test("toFileTask() names the columns of a row and the option, if a named column is missing", () => {
  const row = { ask: "q", meta: { gold: 1 } };
  const cases: readonly (readonly [TaskColumns, string])[] = [
    [{ query: "asks" }, "as it needs the query in 'asks': found [ask, meta.gold]; give --query-field NAME"],
    [
      { query: "ask", answer: "meta.silver" },
      "the answer in 'meta.silver': found [ask, meta.gold]; give --answer",
    ],
    [{ query: "ask", id: "uid" }, "needs the id in 'uid': found [ask, meta.gold]; give --id-field NAME"],
    [{ query: "ask", system: "s" }, "the system in 's': found [ask, meta.gold]; give --system-field NAME"],
    [
      { query: "ask", keep: ["x"] },
      "as it needs data in 'x': found [ask, meta.gold]; give --keep-fields NAME",
    ],
  ];
  for (const [columns, says] of cases) assertThrows(() => read(row, columns), SyntaxError, says);
  const twice = { query: [{ role: "system", content: "a" }, ...CHAT], sys: "b" };
  assertThrows(
    () => read(twice, { system: "sys" }),
    SyntaxError,
    "is one of two: its messages begin with another",
  );
});

Deno.test("readTasks() reads TSV, and CSV with semicolons or tabs, also within quotes", async () => {
  const files = {
    "a.tsv": "Question\tAnswer\nWhat, now?\t4\n",
    "b.csv": 'Question;"Answer, or ""so"""\n"a;b";4\n',
    "c.csv": "question\tanswer\nq\t4\n",
    "d.csv": 'query,"x;y"\n"a\nb",4\n',
    "e.csv": "query\nonly;one\n",
    "f.tsv.gz": await gzip("query\tanswer\na,b\t4\n"),
  };
  await withFiles(files, async (folder) => {
    const tasks = await Array.fromAsync(
      readTasks(folder),
      ({ query, answer, fields }) => [query, answer, fields],
    );
    assertEquals(tasks, [
      ["What, now?", "4", undefined],
      ["a;b", undefined, { 'Answer, or "so"': "4" }],
      ["q", "4", undefined],
      ["a\nb", undefined, { "x;y": "4" }],
      ["only;one", undefined, undefined],
      ["a,b", "4", undefined],
    ]);
  });
});

Deno.test("readTasks() ends a file whose first rows all describe no task, and places later ones", async () => {
  const wrong = { text: "q", label: 1 };
  const files = {
    "short.jsonl": toJsonLines(wrong),
    "long.jsonl": toJsonLines(...Array.from({ length: 100 }, () => wrong)),
    "late.jsonl": toJsonLines(wrong, { query: "a" }, ...Array.from({ length: 20 }, () => wrong)),
    "broken.jsonl": "{oops\n{oops\n",
    "object.jsonl": toJsonLines({ query: { text: "q" } }),
  };
  await withFiles(files, async (folder) => {
    const needs = "as it needs a column with the query: found [text, label]; give --query-field";
    const messages = {
      short: needs,
      long: needs,
      broken: "as it must be JSON",
      object: 'must be a text or a list of messages, not empty: found {"text":"q"}',
    };
    for (const [name, message] of Object.entries(messages)) {
      const faults: unknown[] = [];
      const tasks = readTasks(`${folder}/${name}.jsonl`, { onFault: (_, error) => void faults.push(error) });
      const says = `${name}.jsonl:1${message.startsWith("as") ? " " : ": query: "}${message}`;
      await assertRejects(() => Array.fromAsync(tasks), DatasetError, says);
      assertEquals(faults, []);
    }
    const faults: unknown[] = [];
    const tasks = readTasks(`${folder}/late.jsonl`, { onFault: (_, error) => void faults.push(error) });
    assertEquals([(await Array.fromAsync(tasks)).length, faults.length], [22, 21]);
  });
});

Deno.test("toFileTask() refuses a column that is a misspelt field of a task, unless an option keeps it", () => {
  for (const column of ["anwser", "answe", "answer2", "amswer", "answers"]) {
    const row = { query: "q", [column]: "4" };
    assertThrows(() => read(row), SyntaxError, `unknown field [${column}]: 'answer' is probably meant`);
    assertEquals(read(row, { keep: [column] }).fields, { [column]: "4" });
    assertEquals(read({ ...row, answer: "5" }).fields, { [column]: "4" });
  }
  for (const query of ["question", "prompt", "ask"]) {
    const row = { [query]: "q", anwser: "4" };
    const columns = query === "ask" ? { query } : {};
    const says =
      "--answer-field anwser takes it as the answer, and --keep-fields anwser keeps it for graders";
    assertThrows(() => read(row, columns), SyntaxError, says);
    assertEquals(read(row, { ...columns, answer: "anwser" }).answer, "4");
    assertEquals(read({ ...row, target: "5" }, columns).fields, { anwser: "4" });
  }
  for (const column of ["tests", "level", "answer_a", "idx", "files"]) {
    assertEquals(read({ query: "q", [column]: 1 }).fields, { [column]: 1 });
  }
});

Deno.test("toFileTask() reports the columns of a row that has no known format", () => {
  const foundIn = (row: Record<string, unknown>, columns: TaskColumns = {}) => {
    const found: unknown[] = [];
    toFileTask(row, { location: "a.jsonl:1", columns, onFound: (one) => void found.push(one) });
    return found;
  };
  assertEquals(foundIn({ query: "q", answer: "4" }), []);
  assertEquals(foundIn({ problem: "q", solution: "\\boxed{4}" }), []);
  assertEquals(foundIn({ input: "q", target: "4" }), [{ query: "input", answer: "target", others: [] }]);
  const verl = { prompt: "q", reward_model: { ground_truth: "4" } };
  const others = ["reward_model.ground_truth"];
  assertEquals(foundIn(verl), [{ query: "prompt", answer: "reward_model.ground_truth", others }]);
  assertEquals(foundIn({ prompt: "q", id: 1, gold: "4" }), [{ query: "prompt", others: ["gold"] }]);
  const columns = { query: "a.b", answer: "c" };
  assertEquals(foundIn({ a: { b: "q" }, c: 1 }, columns), [{ query: "a.b", answer: "c", others: ["a.b"] }]);
});

Deno.test("toFileTask() names the paths of values inside objects and lists, as options take them", () => {
  const row = {
    doc: { ask: { text: "q" }, tags: ["a", "b"] },
    gold: [{ value: "4" }, { value: "5" }],
    one: ["x"],
    chat: CHAT,
  };
  const found = "found [doc.ask.text, doc.tags, gold.0.value, one.0, chat]; give --query-field NAME";
  assertThrows(() => read(row), SyntaxError, found);
  assertEquals(read(row, { query: "doc.ask.text", answer: "gold.0.value" }).answer, "4");
  const answers: [unknown, string][] = [[["4", "5"], "answer.0"], [{ a: { b: "4" } }, "answer.a.b"]];
  for (const [answer, path] of answers) {
    assertThrows(() => read({ question: "q", answer }), SyntaxError, `for example a path such as ${path}`);
    assertEquals(read({ question: "q", answer }, { answer: path }).answer, "4");
  }
});
