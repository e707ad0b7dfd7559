import { assertEquals, assertRejects } from "@std/assert";
import { PolicyError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";

Deno.test("scriptedPolicy() plays the task's replies one after the other and then fails", async () => {
  const task = { id: "t", query: "q", replies: ["a", "b"] };
  let history = History.fromChats([{ role: "user", content: "q" }]);
  for (const reply of task.replies) {
    assertEquals(await scriptedPolicy().reply(history, { task }), reply);
    history = history.append({ role: "assistant", content: reply }).append({ role: "tool", content: "r" });
  }
  await assertRejects(() => scriptedPolicy().reply(history, { task }), PolicyError, "turn 3: it has 2");
});
