import { assertEquals, assertRejects } from "@std/assert";
import { PolicyError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";

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
