import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { type Action, replyAction } from "../../src/envs/action.ts";
import type { Env } from "../../src/envs/env.ts";
import { type StepOutcome, VectorEnv, type VectorEnvOptions } from "../../src/envs/vector_env.ts";
import type { BatchTasks } from "../../src/envs/batch.ts";
import { SandboxError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { messageText } from "../../src/message.ts";
import { EndOnFinalReply } from "../../src/transforms/end_episode.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { groupOf } from "../../src/task.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { FakePool, ok } from "../fake_pool.ts";

function chats(batchSize?: VectorEnvOptions["batchSize"], ...transforms: Transform[]): VectorEnv {
  return new VectorEnv({ makeEnv: () => new TransformedEnv(new ChatEnv(), transforms), batchSize });
}

/** Counts in each interpreter how many blocks it has run. */
function countingPool(): FakePool {
  return new FakePool((_code, globals) => {
    globals.set("n", (globals.get("n") ?? 0) + 1);
    return ok(`${globals.get("n")}`);
  });
}

function pythonBatch(size: number, pool: FakePool): VectorEnv {
  const makeEnv = () => new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool })]);
  return new VectorEnv({ makeEnv, batchSize: size });
}

function said(outcomes: readonly (StepOutcome | null)[]): (string | undefined)[] {
  return outcomes.map((outcome) => {
    const last = outcome?.step?.history.prompt.last;
    return last === undefined ? outcome?.error?.message : messageText(last).split("\n").at(-1);
  });
}

const CODE = replyAction("```python\nx\n```");

Deno.test("VectorEnv accepts a number or a list as 'batchSize', defaults to 1, and rejects an empty list", () => {
  assertEquals([chats().batchSize, chats(null).batchSize, chats(3).batchSize], [[1], [1], [3]]);
  const { batchSize, size } = chats([2, 3]);
  assertEquals({ batchSize, size }, { batchSize: [2, 3], size: 6 });
  assertThrows(() => chats([]), RangeError, "VectorEnv must have at least one dimension");
  for (const wrong of [0, -1, 1.5, [2, 0]]) assertThrows(() => chats(wrong), RangeError, "'batchSize'");
});

Deno.test("VectorEnv accepts several axes and lists their elements in order", async () => {
  await using env = chats([2, 3]);
  const tasks = Array.from({ length: 6 }, (_, n) => `q${n}`);
  const outcomes = await env.reset(tasks);
  assertEquals(outcomes.map(({ observation }) => observation?.history.prompt.last?.content), tasks);
});

Deno.test("VectorEnv keeps the order of elements with different contents", async () => {
  const lastIsDone = Promise.withResolvers<void>();
  const late: Transform = {
    step: async (step, { task }) => {
      if (task.id === "t") lastIsDone.resolve();
      else await lastIsDone.promise;
      return step;
    },
  };
  await using env = chats(3, late);
  const chat = History.fromChats([{ role: "user", content: "a" }, { role: "assistant", content: "b" }]);
  await env.reset(["q", chat, { id: "t", query: [{ role: "user", content: "x" }] }]);
  const outcomes = await env.step(["1", "22", "333"].map(replyAction));
  assertEquals(outcomes.map((outcome) => outcome?.step?.history.prompt.toChats().map(messageText)), [
    ["q", "1"],
    ["a", "b", "22"],
    ["x", "333"],
  ]);
});

Deno.test("VectorEnv.reset() starts every element with one query, task, conversation or History", async () => {
  await using env = chats(2);
  const chat = [{ role: "user", content: "c" }];
  for (const tasks of ["q", { id: "t", query: "q" }, chat, History.fromChats(chat)]) {
    const outcomes = await env.reset(tasks);
    assertEquals(outcomes.map(({ observation }) => observation?.history.prompt.length), [1, 1]);
    assert(outcomes.every(({ error }) => error === undefined));
  }
});

Deno.test("VectorEnv.reset() makes one group of the elements that share a query, and none of a list", async () => {
  await using env = new VectorEnv({ makeEnv: () => new ChatEnv(), batchSize: 2 });
  const groupsOf = async (tasks: BatchTasks) =>
    (await env.reset(tasks)).map(({ observation }) => observation && groupOf(observation.task));
  assertEquals(await groupsOf("q"), ["query", "query"]);
  assertEquals(await groupsOf({ id: "a", query: "q" }), ["a", "a"]);
  assertEquals(await groupsOf(["q", "q"]), ["query:0", "query:1"]);
  assertEquals(await groupsOf(["x", "y"].map((id) => ({ id, query: "q", group: "g" }))), ["g", "g"]);
});

Deno.test("VectorEnv.reset() rejects null, missing tasks and a wrong number of tasks", async () => {
  await using env = chats(3);
  // deno-lint-ignore no-explicit-any -- what a caller without types may do
  const reset = (tasks: any) => env.reset(tasks);
  await assertRejects(() => reset(null), TypeError, "expects tasks as input: current value is null");
  await assertRejects(() => reset(["a", "b"]), RangeError, "got [2] and [3]");
  await assertRejects(() => env.reset("q", { mask: [true] }), RangeError, "Expected mask");
  await assertRejects(() => env.step([CODE]), RangeError, "Expected actions");
  const outcomes = await reset(["a", null, { answer: "1" }]);
  assertEquals(outcomes[0]?.error, undefined);
  assertStringIncludes(outcomes[1]?.error?.message ?? "", "expects a task with a 'query', got null");
  assertStringIncludes(outcomes[2]?.error?.message ?? "", "got keys [answer]");
  await using square = chats([2, 2]);
  await assertRejects(() => square.reset(["a"]), RangeError, "got [1] and [4], for a batch of shape [2, 2]");
});

Deno.test("VectorEnv.reset() applies its mask to all transforms: other interpreters keep their state", async () => {
  const pool = countingPool();
  await using env = pythonBatch(3, pool);
  await env.reset("q");
  assertEquals(said(await env.step([CODE, CODE, CODE])), ["1", "1", "1"]);
  assertEquals(said(await env.step([CODE, CODE, CODE])), ["2", "2", "2"]);
  const outcomes = await env.reset("again", { mask: [false, true, false] });
  assertEquals(outcomes.map(({ observation }) => observation?.history.prompt.length), [5, 1, 5]);
  assertEquals(said(await env.step([CODE, CODE, CODE])), ["3", "1", "3"]);
  assertEquals(pool.alive, 3);
});

Deno.test("VectorEnv.step() steps only the elements of its mask", async () => {
  await using env = pythonBatch(3, countingPool());
  await env.reset("q");
  assertEquals(said(await env.step([CODE, CODE, CODE], { mask: [true, false, true] })), [
    "1",
    undefined,
    "1",
  ]);
  assertEquals(said(await env.step([CODE, CODE, null])), ["2", "1", undefined]);
});

Deno.test("VectorEnv keeps other elements running when one fails", async () => {
  const failing: Transform = {
    reset: (observation) => {
      if (observation.task.query === "fails at reset") throw new SandboxError("no session");
      return observation;
    },
    step: (step) => {
      if (step.history.prompt.last?.content === "fails") throw new SandboxError("pipe broken");
      return step;
    },
  };
  await using env = chats(4, failing);
  const reset = await env.reset(["a", "fails at reset", "c", "d"]);
  const failure = { boundary: "sandbox", name: "SandboxError", message: "no session" };
  assertEquals(reset.map(({ error }) => error), [undefined, failure, undefined, undefined]);
  assertEquals(said(await env.step(["1", "2", "fails", "4"].map(replyAction))), [
    "1",
    "Cannot step element 1 as it has no running episode: reset it first",
    "pipe broken",
    "4",
  ]);
  assertEquals(env.observations.map((observation) => observation !== null), [true, false, false, true]);
  assertEquals((await env.reset("e", { mask: [false, true, true, false] })).map(({ error }) => error), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  assertEquals(said(await env.step(["1", "2", "3", "4"].map(replyAction))), ["1", "2", "3", "4"]);
});

Deno.test("VectorEnv records a failure to make an env, and tries again at the next reset", async () => {
  let tries = 0;
  const makeEnv = (index: number) => {
    if (index === 1 && tries++ === 0) throw new Error("no room");
    return new ChatEnv();
  };
  await using env = new VectorEnv({ makeEnv, batchSize: 2 });
  assertEquals((await env.reset("q")).map(({ error }) => error?.message), [undefined, "no room"]);
  assertEquals((await env.reset("q")).map(({ error }) => error?.message), [undefined, undefined]);
});

Deno.test("VectorEnv.stepAndMaybeReset() resets only the elements that ended or failed", async () => {
  const failing: Transform = {
    action: (action) => {
      if (action.history?.response?.last?.content === "fails") throw new Error("broken");
      return action;
    },
  };
  const makeEnv = () =>
    new TransformedEnv(new ChatEnv(), [
      failing,
      { step: (step) => ({ ...step, terminated: step.history.prompt.last?.content === "ends" }) },
      new StepCounter({ maxSteps: 9 }),
    ]);
  await using env = new VectorEnv({ makeEnv, batchSize: 3 });
  await env.reset("first");
  const { steps, next } = await env.stepAndMaybeReset(["goes on", "ends", "fails"].map(replyAction), {
    tasks: ["second a", "second b", "second c"],
  });
  assertEquals(steps.map((outcome) => outcome?.step?.terminated), [false, true, undefined]);
  assertEquals(next.map(({ observation }) => observation?.history.prompt.toChats().map(messageText)), [
    ["first", "goes on"],
    ["second b"],
    ["second c"],
  ]);
});

Deno.test("VectorEnv gives each episode of each element its own seed", async () => {
  const seen: (number | undefined)[] = [];
  const noting: Transform = { reset: (observation, { seed }) => (seen.push(seed), observation) };
  const seeds = async (env: VectorEnv, seed?: number) => {
    seen.length = 0;
    await env.reset("q", { seed });
    return [...seen];
  };
  await using env = chats(3, noting);
  assertEquals(await seeds(env), [undefined, undefined, undefined]);
  const first = [...await seeds(env, 7), ...await seeds(env)];
  assertEquals(new Set(first).size, 6);
  assert(first.every((seed) => Number.isSafeInteger(seed)));
  await using other = chats(3, noting);
  assertEquals([...await seeds(other, 7), ...await seeds(other)], first);
});

Deno.test("VectorEnv runs its elements in parallel", async () => {
  const all = Promise.withResolvers<void>();
  let waiting = 0;
  const together: Transform = {
    step: async (step) => {
      if (++waiting === 8) all.resolve();
      await all.promise;
      return step;
    },
  };
  await using env = chats(8, together);
  await env.reset("q");
  assertEquals((await env.step(Array.from({ length: 8 }, () => replyAction("a")))).length, 8);
});

Deno.test("VectorEnv rejects when it is aborted, after all elements have stopped", async () => {
  const abort = new AbortController();
  let running = 0;
  const stuck: Transform = {
    step: async (step, { signal, task }) => {
      if (task.id === "query:0") return step;
      if (++running === 2) queueMicrotask(() => abort.abort(new TypeError("stop")));
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      running--;
      throw signal?.reason;
    },
  };
  await using env = chats(3, stuck);
  await env.reset("q");
  const step = env.step(Array.from({ length: 3 }, () => replyAction("a")), { signal: abort.signal });
  await assertRejects(() => step, TypeError, "stop");
  assertEquals(running, 0);
  await assertRejects(() => env.reset("q", { signal: abort.signal }), TypeError, "stop");
});

Deno.test("VectorEnv disposes every env, even if one cannot be disposed", async () => {
  const disposed: number[] = [];
  const makeEnv = (index: number): Env => ({
    reset: (task) => new ChatEnv().reset(task),
    step: () => Promise.reject(new Error("never")),
    [Symbol.asyncDispose]: () => {
      disposed.push(index);
      return index === 1 ? Promise.reject(new Error("stuck")) : Promise.resolve();
    },
  });
  const env = new VectorEnv({ makeEnv, batchSize: 3 });
  await env.reset("q");
  await assertRejects(async () => await env[Symbol.asyncDispose](), Error, "stuck");
  await assertRejects(async () => await env[Symbol.asyncDispose](), Error, "stuck");
  assertEquals(disposed.toSorted(), [0, 1, 2]);
  await assertRejects(() => env.reset("q"), Error, "disposed");
  await assertRejects(() => env.step([]), Error, "disposed");
});

Deno.test("VectorEnv with EndOnFinalReply plays a batch to its end", async () => {
  await using env = chats(2, new EndOnFinalReply());
  await env.reset(["a", "b"]);
  const actions: (Action | null)[] = env.observations.map((observation) =>
    observation && replyAction("done")
  );
  const outcomes = await env.step(actions);
  assertEquals(outcomes.map((outcome) => outcome?.step?.terminated), [true, true]);
  assertEquals(env.observations, [null, null]);
});
