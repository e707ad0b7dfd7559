import { assertEquals, assertRejects } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import {
  parseInteraction,
  type StreamedRollout,
  streamRollouts,
  type StreamRolloutsOptions,
  toInteractionResult,
} from "../../mod/rollout.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { Task } from "../../src/task.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";

/** Envs that count how many are alive, end after `maxSteps` turns and give the reward of `rewardOf`. */
function countedEnvs(maxSteps = 1, rewardOf: (task: Task) => number | null = () => 0) {
  const count = { made: 0, alive: 0 };
  const makeEnv = (task: Task) => {
    count.made++;
    count.alive++;
    const transform: Transform = {
      step: (step) => ({ ...step, reward: rewardOf(task) }),
      [Symbol.asyncDispose]: () => Promise.resolve(void count.alive--),
    };
    return new TransformedEnv(new ChatEnv(), [transform, new StepCounter({ maxSteps })]);
  };
  return { count, makeEnv };
}

/** Policy whose replies the test gives, by the id of the task. */
function heldPolicy() {
  const held = new Map<string, () => void>();
  const policy: Policy = {
    reply: (_, { task, signal }) =>
      new Promise((resolve, reject) => {
        held.set(task.id, () => resolve(`reply to ${task.id}`));
        signal?.addEventListener("abort", () => reject(signal.reason));
      }),
  };
  const release = async (id: string) => {
    while (!held.has(id)) await turn();
    held.get(id)?.();
    held.delete(id);
  };
  return { policy, release };
}

const policy: Policy = { reply: () => Promise.resolve("hi") };

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

function* tasks(count: number): Generator<Task> {
  for (let id = 1; id <= count; id++) yield { id: `${id}`, query: "q" };
}

function label(item: StreamedRollout | undefined | void): string {
  if (!item) return "end";
  return item.kind === "group" ? `group ${item.group}` : `${item.kind} ${item.trajectory.task.id}`;
}

Deno.test("streamRollouts() yields episodes in the order of their ends, each group after its last", async () => {
  const { makeEnv, count } = countedEnvs();
  const { policy, release } = heldPolicy();
  const stream = streamRollouts(makeEnv, policy, tasks(3), { concurrency: 3 });
  const labels: string[] = [];
  for (const id of ["3", "1", "2"]) {
    const next = stream.next();
    await release(id);
    labels.push(label((await next).value), label((await stream.next()).value));
  }
  assertEquals(labels, ["episode 3", "group 3", "episode 1", "group 1", "episode 2", "group 2"]);
  assertEquals([(await stream.next()).done, count.alive], [true, 0]);
});

Deno.test("streamRollouts() yields the advantages of samples and of adjacent tasks with one group", async () => {
  const rewards = [1, 0, null, NaN, Infinity];
  const { makeEnv } = countedEnvs(1, ({ id }) => rewards[Number(id)] ?? null);
  const given: Task[] = rewards.map((_, id) => ({ id: `${id}`, query: "q", group: id < 4 ? "a" : "b" }));
  const options: StreamRolloutsOptions = { concurrency: 1, samples: 2, advantages: { method: "dr-grpo" } };
  const items = await Array.fromAsync(streamRollouts(makeEnv, policy, given, options));
  const groups = items.filter((item) => item.kind === "group");
  assertEquals(
    groups.map(({ group, episodes }) => [group, episodes.map(({ advantage }) => advantage)]),
    [["a", [0.5, 0.5, -0.5, -0.5, null, null, null, null]], ["b", [null, null]]],
  );
  assertEquals(groups[0]?.episodes[1], { taskId: "0", sample: 2, reward: 1, advantage: 0.5 });
});

Deno.test("streamRollouts() yields a group while its source waits for the trainer", async () => {
  const { makeEnv } = countedEnvs();
  const trained = Promise.withResolvers<void>();
  async function* curriculum(): AsyncGenerator<Task> {
    yield { id: "same", query: "q" };
    await trained.promise;
    yield { id: "same", query: "q" };
  }
  const labels: string[] = [];
  for await (const item of streamRollouts(makeEnv, policy, curriculum(), { samples: 2 })) {
    labels.push(label(item));
    if (item.kind === "group") trained.resolve();
  }
  const once = ["episode same", "episode same", "group same"];
  assertEquals(labels, [...once, ...once]);
});

for (const limit of [{ maxWaiting: 2 }, { maxWaiting: 1000, maxWaitingBytes: 1 }]) {
  Deno.test(`streamRollouts() plays no further ahead than ${JSON.stringify(limit)}`, async () => {
    const { makeEnv, count } = countedEnvs();
    const stream = streamRollouts(makeEnv, policy, tasks(1000), { concurrency: 3, ...limit });
    assertEquals(count.made, 0, "nothing starts before the first request");
    assertEquals(label((await stream.next()).value), "episode 1");
    for (let wait = 0; wait < 50; wait++) await turn();
    const ahead = count.made - 1;
    assertEquals(ahead >= 2 && ahead <= 2 + 3, true, `${ahead} episodes are ahead`);
    await stream.return(undefined);
    assertEquals(count.alive, 0);
  });
}

Deno.test("streamRollouts() plays ahead while the consumer works", async () => {
  const { makeEnv, count } = countedEnvs();
  const stream = streamRollouts(makeEnv, policy, tasks(9), { concurrency: 1, maxWaiting: 4 });
  await stream.next();
  while (count.made < 5) await turn();
  await stream.return(undefined);
  assertEquals(count.alive, 0);
});

Deno.test("streamRollouts() records the trainer's version of each turn", async () => {
  const { makeEnv } = countedEnvs(3);
  let version = 7;
  const updating: Policy = { reply: () => Promise.resolve(`by ${version++}`) };
  const [item] = await Array.fromAsync(
    streamRollouts(makeEnv, updating, tasks(1), { weightVersion: () => version }),
  );
  if (item?.kind !== "episode") throw new Error("there must be an episode");
  assertEquals(item.trajectory.steps.map(({ policyVersion }) => policyVersion), [7, 8, 9]);
});

for (const partial of [true, false]) {
  Deno.test(`streamRollouts() ${partial ? "yields" : "drops"} running episodes when it is aborted`, async () => {
    const { makeEnv, count } = countedEnvs(2);
    const { policy, release } = heldPolicy();
    const abort = new AbortController();
    const stream = streamRollouts(makeEnv, policy, tasks(9), {
      concurrency: 3,
      partial,
      signal: abort.signal,
    });
    const first = stream.next();
    for (const id of ["2", "2", "1"]) {
      await release(id);
      for (let wait = 0; wait < 5; wait++) await turn();
    }
    assertEquals(label((await first).value), "episode 2");
    abort.abort(new TypeError("new weights"));
    if (partial) {
      const items = await Array.fromAsync(stream);
      assertEquals(items.map(label), ["group 2", "partial 1"]);
      const [, one] = items;
      assertEquals(one?.kind === "partial" && [one.trajectory.turns, one.trajectory.reward], [1, null]);
    } else await assertRejects(() => stream.next(), TypeError, "new weights");
    assertEquals(count.alive, 0);
  });
}

Deno.test("streamRollouts() continues a partial episode, whose turns keep their versions", async () => {
  const { makeEnv } = countedEnvs(3);
  const abort = new AbortController();
  let [version, asked] = [1, 0];
  const interrupted: Policy = {
    reply: (_, { signal }) => {
      if (++asked !== 2) return Promise.resolve(`reply ${asked}`);
      abort.abort(new Error("new weights"));
      return Promise.reject(signal?.reason);
    },
  };
  const options: StreamRolloutsOptions = {
    tokens: { tokenizer: byteTokenizer(), family: "chatml" },
    weightVersion: () => version,
  };
  const [part] = await Array.fromAsync(
    streamRollouts(makeEnv, interrupted, tasks(1), { ...options, partial: true, signal: abort.signal }),
  );
  if (part?.kind !== "partial") throw new Error("there must be a partial episode");
  const saved = parseInteraction(JSON.parse(JSON.stringify(toInteractionResult(part.trajectory))));
  assertEquals([saved.status, saved.turns.length, saved.loss_mask.includes(1)], ["aborted", 1, true]);
  version = 2;
  const [item] = await Array.fromAsync(
    streamRollouts(makeEnv, interrupted, tasks(1), { ...options, resumed: () => saved }),
  );
  if (item?.kind !== "episode") throw new Error("there must be an episode");
  const { trajectory } = item;
  assertEquals(trajectory.steps.map(({ policyVersion }) => policyVersion), [1, 2, 2]);
  assertEquals(trajectory.messages.slice(1).map(({ content }) => content), ["reply 1", "reply 3", "reply 4"]);
  assertEquals(toInteractionResult(trajectory).tokens.slice(0, saved.tokens.length), saved.tokens);
});

Deno.test("streamRollouts() yields failed episodes as rows, and those before an error of the tasks", async () => {
  const { makeEnv, count } = countedEnvs();
  function* broken(): Generator<Task> {
    yield* tasks(2);
    throw new SyntaxError("row 3");
  }
  const failing = (task: Task) => {
    if (task.id === "1") throw new Error("no env");
    return makeEnv(task);
  };
  const labels: string[] = [];
  const errors: (string | undefined)[] = [];
  await assertRejects(
    async () => {
      for await (const item of streamRollouts(failing, policy, broken(), {})) {
        labels.push(label(item));
        if (item.kind !== "group") errors.push(item.trajectory.error?.message);
      }
    },
    SyntaxError,
    "row 3",
  );
  assertEquals(labels.toSorted(), ["episode 1", "episode 2", "group 1", "group 2"]);
  assertEquals([errors.toSorted(), count.alive], [["no env", undefined], 0]);
});

Deno.test("streamRollouts() stops everything when its consumer stops", async () => {
  const { makeEnv, count } = countedEnvs();
  const { policy, release } = heldPolicy();
  const stream = streamRollouts(makeEnv, policy, tasks(9), { concurrency: 4 });
  const next = stream.next();
  await release("3");
  await next;
  await assertRejects(() => stream.throw(new TypeError("trainer failed")), TypeError, "trainer failed");
  assertEquals(count.alive, 0);
});

Deno.test("streamRollouts() rejects wrong options before anything starts", async () => {
  const { makeEnv, count } = countedEnvs();
  const wrong: StreamRolloutsOptions[] = [
    { maxWaiting: -1 },
    { maxWaitingBytes: 0.5 },
    { concurrency: 0 },
    { samples: 0 },
    { advantages: { epsilon: -1 } },
  ];
  for (const options of wrong) {
    await assertRejects(() => streamRollouts(makeEnv, policy, tasks(1), options).next(), RangeError);
  }
  assertEquals(count.made, 0);
});

Deno.test("streamRollouts() compares the episodes of what the env has chosen, not of the task that asked", async () => {
  const chosen = ["a", "b", "a", "b"];
  let made = 0;
  const makeEnv = () => {
    const group = chosen[made++] ?? "";
    const choose: Transform = {
      task: (task) => ({ ...task, group }),
      step: (step) => ({ ...step, reward: group === "a" ? made : 10 * made }),
    };
    return new TransformedEnv(new ChatEnv(), [choose, new StepCounter({ maxSteps: 1 })]);
  };
  const policy: Policy = { reply: () => Promise.resolve("hm") };
  const items = await Array.fromAsync(
    streamRollouts(makeEnv, policy, [{ id: "asked", query: "q" }], { samples: 4, concurrency: 1 }),
  );
  const episodes = items.filter((item) => item.kind === "episode");
  assertEquals(episodes.map(({ group }) => group), chosen);
  const groups = items.filter((item) => item.kind === "group");
  assertEquals(
    groups.map(({ group, episodes }) => [group, episodes.map(({ sample, reward }) => [sample, reward])]),
    [
      ["a", [[1, 1], [3, 3]]],
      ["b", [[2, 20], [4, 40]]],
    ],
  );
  assertEquals(groups.map(({ episodes }) => episodes.map(({ advantage }) => Math.sign(advantage ?? 0))), [
    [-1, 1],
    [-1, 1],
  ]);
});
