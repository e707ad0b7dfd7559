import { assertEquals, assertRejects } from "@std/assert";
import { PolicyError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { scriptedPolicy, ScriptFile } from "../../src/policy/scripted.ts";

Deno.test("scriptedPolicy() returns the task's replies in order and then rejects", async () => {
  const task = { id: "t", query: "q", replies: ["a", "b"] };
  let history = History.fromChats([{ role: "user", content: "q" }]);
  for (const reply of task.replies) {
    assertEquals(await scriptedPolicy().reply(history, { task }), reply);
    history = history.append({ role: "assistant", content: reply }).append({ role: "tool", content: "r" });
  }
  await assertRejects(() => scriptedPolicy().reply(history, { task }), PolicyError, "turn 3: it has 2");
});

Deno.test("scriptedPolicy() returns the replies of its options, including messages", async () => {
  const message = { role: "assistant", content: "", tool_calls: [{ name: "f", arguments: {} }] };
  const policy = scriptedPolicy({ replies: ({ id }) => id === "t" ? [message] : undefined });
  const history = History.fromChats([{ role: "user", content: "q" }]);
  assertEquals(await policy.reply(history, { task: { id: "t", query: "q" } }), { message });
  const other = { task: { id: "u", query: "q" } };
  await assertRejects(() => policy.reply(history, other), PolicyError, "turn 1: it has 0");
});

Deno.test("scriptedPolicy() returns the reply of a function", async () => {
  const policy = scriptedPolicy({ script: (history, { task }) => `${task.id} ${history.length}` });
  const history = History.fromChats([{ role: "user", content: "q" }]);
  assertEquals(await policy.reply(history, { task: { id: "t", query: "q" } }), "t 1");
});

async function read(content: string): Promise<ScriptFile> {
  const path = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    await Deno.writeTextFile(path, content);
    return await ScriptFile.read(path);
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("ScriptFile.read() reads replies by the ids of their tasks", async () => {
  const file = await read('{"id":"a","replies":["x","y"]}\r\n\n{"id":7,"replies":[]}');
  assertEquals([file.repliesOf("a"), file.repliesOf("7"), file.repliesOf("b")], [["x", "y"], [], undefined]);
});

Deno.test("ScriptFile.assign() assigns lists without id to the tasks in order", async () => {
  const file = await read('["x"]\n["y","z"]\n');
  for (const id of ["first", "second", "third"]) file.assign(id);
  assertEquals(["first", "second", "third"].map((id) => file.repliesOf(id)), [["x"], ["y", "z"], undefined]);
});

Deno.test("ScriptFile.read() reads messages with tool calls", async () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: '{"x":1}' } };
  const file = await read(JSON.stringify({ id: "a", replies: [{ tool_calls: [call] }, "done"] }));
  assertEquals(file.repliesOf("a"), [
    { role: "assistant", content: "", tool_calls: [{ id: "c", name: "f", arguments: { x: 1 } }] },
    "done",
  ]);
});

Deno.test("ScriptFile.read() names the file that it cannot open", async () => {
  await assertRejects(
    () => ScriptFile.read("no/such"),
    Error,
    "Cannot read 'no/such': there is no such file",
  );
});

Deno.test("ScriptFile.read() names the line that contains no replies", async () => {
  const lines = [
    "{oops",
    "3",
    '{"id":"a"}',
    '{"id":"a","replies":[1]}',
    '["x", {"role":"user","content":"y"}]',
  ];
  for (const line of lines) await assertRejects(() => read(`["x"]\n${line}\n`), SyntaxError, ".jsonl:2");
});
