import { assertEquals, assertThrows } from "@std/assert";
import { toTask } from "../../src/datasets/row_shapes.ts";
import { withoutAnswer } from "../../src/task.ts";

const at = { location: "a.jsonl:1", id: "a:1" };

Deno.test("toEpisodeTask() reads a row of GSM8K and separates the number from the solution", () => {
  const row = { question: "q", answer: "1+1=<<1+1=2>>2\n#### 2", source: "s" };
  const task = { id: "a:1", query: "q", answer: "2", reference: "1+1=<<1+1=2>>2", fields: { source: "s" } };
  assertEquals(toTask(row, at), task);
});

Deno.test("toEpisodeTask() reads a row of IFEval and puts the instructions into the fields", () => {
  const instructions = { instruction_id_list: ["punctuation:no_comma"], kwargs: [{}] };
  const task = { id: "1000", query: "q", fields: { key: 1000, ...instructions } };
  assertEquals(toTask({ key: 1000, prompt: "q", ...instructions }, at), task);
});

Deno.test("toEpisodeTask() reads a row of HumanEval and hides its solution from policies", () => {
  const tests = { entry_point: "f", canonical_solution: "return 1", test: "def check(f): pass" };
  const fields = { prompt: "def f():", ...tests };
  const task = toTask({ task_id: "HumanEval/0", ...fields }, at);
  assertEquals(task, { id: "HumanEval/0", query: "def f():", fields });
  assertEquals(withoutAnswer(task), { id: "HumanEval/0", query: "def f():" });
});

Deno.test("toEpisodeTask() reads a row of MBPP and hides its solution from policies", () => {
  const fields = { code: "def f(): return 1", test_list: ["assert f() == 1"], test_setup_code: "" };
  const task = toTask({ task_id: 11, text: "Write f.", ...fields }, at);
  assertEquals(task, { id: "11", query: "Write f.", fields });
  assertEquals(withoutAnswer(task), { id: "11", query: "Write f." });
});

Deno.test("toEpisodeTask() reads a row of MATH, with the solution as the answer when there is no field 'answer'", () => {
  const row = { problem: "q", solution: "so \\boxed{4}", level: "Level 1" };
  const level = { level: "Level 1" };
  assertEquals(toTask(row, at), { id: "a:1", query: "q", answer: "so \\boxed{4}", fields: level });
  const fields = { solution: "so \\boxed{4}", ...level };
  assertEquals(toTask({ ...row, answer: 4 }, at), { id: "a:1", query: "q", answer: "4", fields });
});

Deno.test("toEpisodeTask() names the invalid field of a row of a known format", () => {
  const fault = () => toTask({ key: 1, prompt: "", instruction_id_list: [], kwargs: [] }, at);
  assertThrows(fault, SyntaxError, "Cannot read task at a.jsonl:1: prompt: ");
  for (const value of [null, 1, "text", [1]]) {
    assertThrows(() => toTask(value, at), SyntaxError, "a.jsonl:1");
  }
});
