import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  ChatEnv,
  EndOnFinalReply,
  GradeEpisode,
  numberMatch,
  rollout,
  rolloutAll,
  rubric,
  scriptedPolicy,
  streamRollouts,
  type TaskInput,
  tool,
  ToolTransform,
  TransformedEnv,
} from "../../mod.ts";
import { History } from "../../src/history.ts";
import { toTask } from "../../src/task.ts";

const task: TaskInput = { id: "sum", query: "40 + 2?", answer: 42, replies: ["It is 42."] };
const makeEnv = () =>
  new TransformedEnv(new ChatEnv(), [new EndOnFinalReply(), new GradeEpisode({ grader: numberMatch() })]);

Deno.test("toTask() keeps numbers as their text, and refuses those that are not exact", () => {
  assertEquals(toTask({ id: "1", query: "?", answer: 42 }).answer, "42");
  assertEquals(toTask({ id: "1", query: "?", answer: -0.5 }).answer, "-0.5");
  assertEquals(toTask({ id: "1", query: "?", answer: 2n ** 70n }).answer, "1180591620717411303424");
  const same = { id: "1", query: "?", answer: "42" };
  assertEquals(toTask(same) === same, true);
  for (const answer of [NaN, Infinity, 2 ** 53]) {
    assertThrows(() => toTask({ id: "1", query: "?", answer }), TypeError, "task '1'");
  }
});

Deno.test("rollout(), rolloutAll() and streamRollouts() take a task whose answer is a number", async () => {
  await using env = makeEnv();
  assertEquals((await rollout(env, scriptedPolicy(), task)).reward, 1);
  const all = await Array.fromAsync(rolloutAll([task], { makeEnv, policy: scriptedPolicy() }));
  assertEquals(all.map(({ reward, task }) => [reward, task.answer]), [[1, "42"]]);
  const streamed = await Array.fromAsync(streamRollouts(makeEnv, scriptedPolicy(), [task]));
  assertEquals(streamed.map(({ kind }) => kind), ["episode", "group"]);
  await assertRejects(() => rollout(env, scriptedPolicy(), { ...task, answer: NaN }), TypeError);
});

Deno.test("tool() takes a JSON Schema, by which arguments are checked", async () => {
  const double = tool({
    name: "double",
    description: "Doubles a number.",
    parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    run: ({ n }) => 2 * Number(n),
  });
  await using env = new TransformedEnv(new ChatEnv(), [new ToolTransform({ tools: [double] })]);
  const replies = ['<tool>double\n{"n": 21}</tool>', '<tool>double\n{"n": "x"}</tool>', "done"];
  const { messages } = await rollout(env, scriptedPolicy(), { id: "1", query: "?", replies });
  const text = JSON.stringify(messages);
  assertEquals([text.includes("42"), text.includes("not valid")], [true, true]);
});

Deno.test("the grader of rubric() returns a score with parts", async () => {
  const history = History.fromChats([{ role: "assistant", content: "42" }]);
  const { score } = await rubric([{ grader: numberMatch(), weight: 1 }]).grade({
    task: { id: "1", query: "?", answer: "42" },
    history,
  });
  assertEquals(score, 1);
});
