import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { messageText } from "../../src/message.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { type InteractionResult, toInteractionResult } from "../../src/rollout/interaction_result.ts";
import { episodesOf, rolloutAll } from "../../src/rollout/rollout_all.ts";
import type { Trajectory } from "../../src/rollout/trajectory.ts";
import type { Task } from "../../src/task.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { FakePool, ok } from "../fake_pool.ts";

const policy: Policy = { reply: (_, { task }) => Promise.resolve(`\`\`\`python\n${task.id}\n\`\`\``) };

function tasks(count: number): Task[] {
  return Array.from({ length: count }, (_, index) => ({ id: `${index}`, query: "q" }));
}

function envs(pool: FakePool) {
  return () =>
    new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool }), new StepCounter({ maxSteps: 1 })]);
}

Deno.test("rolloutAll() plays every task within 'concurrency', and releases all leases", async () => {
  const pool = new FakePool(async (code) => {
    await new Promise((resolve) => setTimeout(resolve, 5 - Number(code) % 5));
    return ok(code);
  });
  const ended: string[] = [];
  const onTrajectory = ({ task }: Trajectory) => void ended.push(task.id);
  const options = { makeEnv: envs(pool), policy, concurrency: 3, ordered: true, onTrajectory };
  const given = await Array.fromAsync(rolloutAll(tasks(20), options));
  assertEquals(given.map(({ task }) => task.id), tasks(20).map(({ id }) => id));
  assertEquals(
    given.map(({ messages }) => messages.slice(-1).map(messageText)[0]?.split("\n")[1]),
    tasks(20).map(({ id }) => id),
  );
  assertEquals(ended.toSorted(), tasks(20).map(({ id }) => id).toSorted());
  assertEquals({ alive: pool.alive, most: pool.most }, { alive: 0, most: 3 });
});

Deno.test("rolloutAll() continues with other episodes when one fails", async () => {
  const pool = new FakePool((code) => code === "1" ? Promise.reject(new Error("broken")) : ok(code));
  const makeEnv = ({ id }: Task) => {
    if (id === "2") throw new Error("no env");
    return envs(pool)();
  };
  const given = await Array.fromAsync(rolloutAll(tasks(4), { makeEnv, policy, ordered: true }));
  assertEquals(given.map(({ error }) => error?.message), [
    undefined,
    "Cannot run code: broken",
    "no env",
    undefined,
  ]);
  assertEquals(pool.alive, 0);
});

Deno.test("rolloutAll() keeps an episode whose env cannot be disposed, and records the failure", async () => {
  const makeEnv = () => {
    const stuck = { [Symbol.asyncDispose]: () => Promise.reject(new Error("stuck")) };
    return new TransformedEnv(new ChatEnv(), [new StepCounter({ maxSteps: 1 }), stuck]);
  };
  const [trajectory] = await Array.fromAsync(rolloutAll(tasks(1), { makeEnv, policy }));
  assertEquals([trajectory?.truncated, trajectory?.error?.message], [true, "stuck"]);
});

Deno.test("rolloutAll() stops everything when it is aborted or its caller stops", async () => {
  for (const abort of [new AbortController(), undefined]) {
    const pool = new FakePool((code, _globals, { signal }) => {
      if (code === "0") return ok();
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    });
    const given = rolloutAll(tasks(9), {
      makeEnv: envs(pool),
      policy,
      concurrency: 4,
      signal: abort?.signal,
    });
    assertEquals((await given.next()).value?.task.id, "0");
    abort?.abort(new TypeError("stop"));
    if (abort === undefined) await given.return(undefined);
    else await assertRejects(() => given.next(), TypeError, "stop");
    assertEquals(pool.alive, 0);
  }
});

Deno.test("rolloutAll() plays a resumed episode from its start if its env responds differently", async () => {
  let said = 0;
  const echo = (text: () => string): Transform => ({
    step(step) {
      return { ...step, history: { prompt: step.history.prompt.append({ role: "user", content: text() }) } };
    },
  });
  const made: boolean[] = [];
  const play = (text: () => string, resumed?: InteractionResult) =>
    Array.fromAsync(rolloutAll(tasks(1), {
      makeEnv: (_task, resumed) => {
        made.push(resumed !== undefined);
        return new TransformedEnv(new ChatEnv(), [echo(text), new StepCounter({ maxSteps: 2 })]);
      },
      policy: { reply: () => Promise.resolve(`reply ${++said}`) },
      tokens: { tokenizer: byteTokenizer(), family: "chatml" },
      resumed: () => resumed,
    }));
  const [first] = await play(() => "one");
  if (first === undefined) throw new Error("there must be an episode");
  const [same] = await play(() => "one", toInteractionResult(first));
  assertEquals([same?.messages, made], [first.messages, [false, true]]);
  const [other] = await play(() => "other", toInteractionResult(first));
  assertEquals([other?.error, other?.truncated], [undefined, true]);
  assertEquals(other?.messages.map(({ content }) => content).slice(1), [
    "reply 3",
    "other",
    "reply 4",
    "other",
  ]);
  assertEquals(made, [false, true, true, false]);
});

Deno.test("rolloutAll() rejects invalid limits before anything starts", async () => {
  const options = { makeEnv: () => new ChatEnv(), policy };
  await assertRejects(
    () => rolloutAll(tasks(1), { ...options, maxTurns: 0 }).next(),
    RangeError,
    "'maxTurns'",
  );
  await assertRejects(() => rolloutAll(tasks(1), { ...options, concurrency: 0 }).next(), RangeError);
});

Deno.test("rolloutAll() plays several episodes of a task, each with its number and its seed", async () => {
  const started: string[] = [];
  const given = await Array.fromAsync(rolloutAll(tasks(2), {
    makeEnv: envs(new FakePool()),
    policy: { ...policy, name: "p" },
    envName: "python",
    timeScale: 2.5,
    samples: 2,
    seed: 1,
    skip: ({ id }, sample) => id === "0" && sample === 1,
    onStart: ({ task, sample }) => void started.push(`${task.id}/${sample}`),
    ordered: true,
  }));
  assertEquals(started, ["0/2", "1/1", "1/2"]);
  assertEquals(given.map(({ task, sample }) => `${task.id}/${sample}`), started);
  assertEquals(new Set(given.map(({ seed }) => seed)).size, 3);
  assertEquals(given.map(({ versions }) => versions.policy), ["p", "p", "p"]);
  assertEquals(given.map(({ versions }) => versions.env), ["python", "python", "python"]);
  assertEquals(given.map(({ timeScale }) => timeScale), [2.5, 2.5, 2.5]);
});

const TASKS = ["a", "b"].map((id) => ({ id, query: "q" }));

Deno.test("episodesOf() yields each task's episodes adjacent, without skipped ones", async () => {
  const skip = ({ id }: { id: string }, sample: number) => id === "b" && sample === 2;
  const episodes = await Array.fromAsync(episodesOf(TASKS, { samples: 3, skip }));
  assertEquals(episodes.map(({ task, sample }) => `${task.id}${sample}`), ["a1", "a2", "a3", "b1", "b3"]);
  assertEquals(episodes.some((episode) => "seed" in episode), false);
});

Deno.test("episodesOf() derives each episode's seed from the seed, the task and the sample only", async () => {
  const seeds = async (tasks: typeof TASKS, seed: number) =>
    (await Array.fromAsync(episodesOf(tasks, { samples: 2, seed }))).map(({ seed }) => seed);
  const all = await seeds(TASKS, 1);
  assertEquals(new Set(all).size, 4);
  assertEquals(await seeds(TASKS.slice(1), 1), all.slice(2));
  assertNotEquals(await seeds(TASKS, 2), all);
  assertEquals(all.every((seed = -1) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31), true);
});

Deno.test("episodesOf() rejects an invalid number of samples", async () => {
  for (const samples of [0, -1, 1.5, NaN]) {
    await assertRejects(() => episodesOf(TASKS, { samples }).next(), RangeError, "'samples'");
  }
});
