import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

const task = { id: "t", query: "q" };

function noting(name: string, log: string[]): Transform {
  return {
    task: (task) => (log.push(`task ${name}`), task),
    reset: (observation, { turn }) => (log.push(`reset ${name} ${turn}`), observation),
    action: (action, { turn }) => (log.push(`action ${name} ${turn}`), action),
    step: (step) => (log.push(`step ${name}`), step),
    [Symbol.asyncDispose]: () => Promise.resolve(void log.push(`dispose ${name}`)),
  };
}

const answering: Transform = {
  step: (step) => ({
    ...step,
    history: { prompt: step.history.prompt.append({ role: "tool", content: "r" }) },
  }),
};

Deno.test("TransformedEnv runs task and action hooks last-appended first, the others first-appended first", async () => {
  const log: string[] = [];
  {
    await using env = new TransformedEnv(new ChatEnv(), [noting("a", log)]).append(noting("b", log));
    await env.reset(task);
    await env.step(replyAction("x"));
  }
  assertEquals(log, [
    "task b",
    "task a",
    "reset a 0",
    "reset b 0",
    "action b 1",
    "action a 1",
    "step a",
    "step b",
    "dispose b",
    "dispose a",
  ]);
});

Deno.test("TransformedEnv.reset() uses the task that a transform chose", async () => {
  const other: Transform = { task: () => ({ id: "other", query: "another question" }) };
  await using env = new TransformedEnv(new ChatEnv(), [other]);
  const { task: played, history } = await env.reset(task);
  assertEquals([played.id, history.prompt.toChats()[0]?.content], ["other", "another question"]);
});

Deno.test("TransformedEnv.step() continues from the history that the transforms changed", async () => {
  await using env = new TransformedEnv(new TransformedEnv(new ChatEnv(), [answering]), [answering]);
  await env.reset(task);
  await env.step(replyAction("a"));
  const { history } = await env.step(replyAction("b"));
  const roles = history.prompt.toChats().map(({ role }) => role);
  assertEquals(roles, ["user", "assistant", "tool", "tool", "assistant", "tool", "tool"]);
});

Deno.test("TransformedEnv.step() throws before a reset and after the end of an episode", async () => {
  const ending: Transform = { step: (step) => ({ ...step, terminated: true }) };
  await using env = new TransformedEnv(new ChatEnv(), [ending]);
  await assertRejects(() => env.step(replyAction("a")), Error, "reset the env first");
  await env.reset(task);
  await env.step(replyAction("a"));
  await assertRejects(() => env.step(replyAction("a")), Error, "reset the env first");
  await env.reset(task);
  assertEquals((await env.step(replyAction("a"))).history.prompt.length, 2);
});

Deno.test("TransformedEnv.step() can be retried after an invalid action", async () => {
  await using env = new TransformedEnv(new ChatEnv());
  await env.reset(task);
  await assertRejects(() => env.step(JSON.parse('{"history":{}}')), TypeError, "it has none");
  assertEquals((await env.step(replyAction("a"))).history.prompt.length, 2);
});

Deno.test("TransformedEnv disposes everything once, even if one part fails", async () => {
  const log: string[] = [];
  const failing: Transform = { [Symbol.asyncDispose]: () => Promise.reject(new Error("stuck")) };
  const env = new TransformedEnv(new ChatEnv(), [noting("a", log), failing]);
  await assertRejects(async () => await env[Symbol.asyncDispose](), Error, "stuck");
  await assertRejects(async () => await env[Symbol.asyncDispose](), Error, "stuck");
  assertEquals(log, ["dispose a"]);
  await assertRejects(() => env.reset(task), Error, "disposed");
});

Deno.test("TransformedEnv.step() runs forward hooks over a step that an action hook has skipped", async () => {
  const seen: number[] = [];
  const skip: Transform = { action: (action) => ({ ...action, skip: true }) };
  const look: Transform = { step: (step) => (seen.push(step.history.prompt.length), { ...step, reward: 1 }) };
  await using env = new TransformedEnv(new ChatEnv(), [skip, look]);
  await env.reset({ id: "t", query: "q" });
  assertEquals((await env.step(replyAction("a"))).reward, 1);
  assertEquals(seen, [1]);
});

Deno.test("TransformedEnv.step() calls end() of each transform when an episode ends", async () => {
  const log: string[] = [];
  const telling = (name: string): Transform => ({
    step: (step) => (log.push(`step ${name}`), step),
    end: ({ terminated, truncated }) => void log.push(`end ${name} ${terminated} ${truncated}`),
  });
  const cut: Transform = { step: (step, { turn }) => ({ ...step, truncated: turn === 2 }) };
  await using env = new TransformedEnv(new ChatEnv(), [telling("a"), telling("b"), cut]);
  await env.reset(task);
  for (const reply of ["x", "y"]) await env.step(replyAction(reply));
  assertEquals(log, ["step a", "step b", "step a", "step b", "end a false true", "end b false true"]);
});

Deno.test("TransformedEnv.insert() inserts a transform at the index", async () => {
  const add = (text: string): Transform => ({
    reset: (it) => ({
      ...it,
      history: { prompt: it.history.prompt.append({ role: "user", content: text }) },
    }),
  });
  await using env = new TransformedEnv(new ChatEnv(), [add("a"), add("c")]).insert(1, add("b"));
  const { history } = await env.reset({ id: "t", query: "q" });
  assertEquals([...history.prompt].map(({ content }) => content), ["q", "a", "b", "c"]);
  assertThrows(() => env.insert(9, add("d")), RangeError, "from 0 to 3");
});
