import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import type { BranchingEnv } from "../../src/envs/branching_env.ts";
import type { Policy, Reply } from "../../src/policy/policy.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { parseInteraction, toInteractionResult } from "../../src/rollout/interaction_result.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import { rolloutTree } from "../../src/rollout/rollout_tree.ts";
import { parseTrajectory } from "../../src/rollout/trajectory_schema.ts";
import type { Trajectory } from "../../src/rollout/trajectory.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { factsOf } from "../../src/viewer/index/episode_columns.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { BranchingFakePool, FakePool, ok } from "../fake_pool.ts";

const task = { id: "t", query: "q" };

/** Replies with its number of calls so far, so that no two replies are equal. */
function countingPolicy(): Policy & { calls: number; seeds: (number | undefined)[] } {
  return {
    name: "counting",
    calls: 0,
    seeds: [],
    reply(_history, { seed }) {
      this.seeds.push(seed);
      return Promise.resolve(`reply ${++this.calls}`);
    },
  };
}

function chatEnv(maxSteps: number, ...transforms: Transform[]): BranchingEnv {
  return new TransformedEnv(new ChatEnv(), [...transforms, new StepCounter({ maxSteps })]);
}

function repliesOf({ messages }: Trajectory): unknown[] {
  return messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
}

Deno.test("rolloutTree() plays the turns before a branch once, and each continuation by itself", async () => {
  await using env = chatEnv(3);
  const policy = countingPolicy();
  const tree = await rolloutTree(env, policy, task, {
    branch: { turn: 2, count: 3 },
    id: "a",
    concurrency: 1,
  });
  assertEquals(policy.calls, 1 + 3 * 2);
  assertEquals(tree.map(({ id, parent }) => ({ id, parent })), [
    { id: "a", parent: undefined },
    { id: "a.2", parent: { id: "a", turn: 2 } },
    { id: "a.3", parent: { id: "a", turn: 2 } },
  ]);
  assertEquals(tree.map(repliesOf), [
    ["reply 1", "reply 2", "reply 3"],
    ["reply 1", "reply 4", "reply 5"],
    ["reply 1", "reply 6", "reply 7"],
  ]);
  for (const { turns, steps, truncated, error, sample } of tree) {
    assertEquals({ turns, steps: steps.map(({ turn }) => turn), truncated, error, sample }, {
      turns: 3,
      steps: [1, 2, 3],
      truncated: true,
      error: undefined,
      sample: 1,
    });
  }
  assertEquals(tree[2]?.steps[0], tree[0]?.steps[0], "the record of a shared turn is the same");
});

Deno.test("rolloutTree() branches again at later points, and not after the end of an episode", async () => {
  const branch = [{ turn: 3, count: 2 }, { turn: 1, count: 2 }];
  await using env = chatEnv(3);
  const tree = await rolloutTree(env, countingPolicy(), task, { branch, id: "a", concurrency: 1 });
  assertEquals(tree.map(({ id, parent }) => `${id} ${parent?.id} ${parent?.turn}`), [
    "a undefined undefined",
    "a.2 a 1",
    "a.3 a 3",
    "a.4 a.2 3",
  ]);
  assertEquals(repliesOf(tree[3] as Trajectory).slice(0, 2), repliesOf(tree[1] as Trajectory).slice(0, 2));
  await using short = chatEnv(2);
  assertEquals((await rolloutTree(short, countingPolicy(), task, { branch })).length, 2);
});

Deno.test("rolloutTree() gives each branch a seed of its own, which the policy gets from its first turn on", async () => {
  await using env = chatEnv(2);
  const policy = countingPolicy();
  const options = { branch: { turn: 2, count: 3 }, seed: 7, concurrency: 1 };
  const tree = await rolloutTree(env, policy, task, options);
  const seeds = tree.map(({ seed }) => seed);
  assertEquals(new Set(seeds).size, 3);
  assertEquals(policy.seeds, [7, 7, seeds[1], seeds[2]]);
  await using again = chatEnv(2);
  const second = await rolloutTree(again, countingPolicy(), task, options);
  assertEquals(second.map(({ seed }) => seed), seeds);
});

Deno.test("rolloutTree() needs one session at a time, and copies it with other random numbers", async () => {
  const pool = new BranchingFakePool((code, globals) => {
    globals.set("total", (globals.get("total") ?? 0) + Number(code));
    return ok(`${globals.get("total")}\n`);
  });
  await using env = chatEnv(3, new PythonInterpreter({ pool }));
  const script = ({ length }: { length: number }) => `\`\`\`python\n${length}\n\`\`\``;
  const policy = scriptedPolicy({ script });
  const tree = await rolloutTree(env, policy, task, { branch: { turn: 3, count: 4 }, concurrency: 1 });
  assertEquals(
    tree.map(({ messages }) => messages.at(-1)?.content),
    Array(4).fill("Code block 1 executed successfully:\n9\n"),
  );
  assertEquals([pool.most, pool.alive], [1, 0]);
  assertEquals(pool.ran.length, 2 + 4, "no code runs again");
  assertEquals(pool.restores.map(({ reseed }) => reseed), [true, true, true]);
});

Deno.test("rolloutTree() records the failure of a branch on it alone", async () => {
  await using env = chatEnv(3);
  const policy: Policy = {
    reply(history) {
      if (history.length > 2 && ++failures === 2) return Promise.reject(new Error("overloaded"));
      return Promise.resolve("fine");
    },
  };
  let failures = 0;
  const tree = await rolloutTree(env, policy, task, { branch: { turn: 2, count: 3 }, concurrency: 3 });
  assertEquals(tree.filter(({ error }) => error?.boundary === "policy").length, 1);
  assertEquals(tree.map(({ parent }) => parent?.turn), [undefined, 2, 2]);
});

Deno.test("rolloutTree() records that an env cannot be copied", async () => {
  await using env = chatEnv(3, new PythonInterpreter({ pool: new FakePool() }));
  const policy = scriptedPolicy({ script: () => "```python\n1\n```" });
  const [only, ...others] = await rolloutTree(env, policy, task, { branch: { turn: 2, count: 3 } });
  assertEquals([others.length, only?.turns, only?.error?.boundary], [0, 1, "env"]);
  assertStringIncludes(
    only?.error?.message ?? "",
    "Cannot branch at turn 2: Cannot checkpoint episode as its sessions",
  );
  let copies = 0;
  const failing: Transform = {
    checkpoint: () => ({
      copy() {
        if (++copies > 1) throw new Error("no room");
        return {};
      },
    }),
  };
  await using other = chatEnv(3, failing);
  const options = { branch: { turn: 2, count: 3 }, concurrency: 1 };
  const tree = await rolloutTree(other, countingPolicy(), task, options);
  assertEquals(tree.map(({ turns, error }) => [turns, error?.message]), [
    [3, undefined],
    [3, undefined],
    [1, "Cannot continue from turn 2: no room"],
  ]);
});

Deno.test("rolloutTree() rejects when it is aborted, after all its episodes have ended", async () => {
  const stop = new AbortController();
  const disposed: string[] = [];
  const noting: Transform = {
    checkpoint: () => ({ copy: () => noting }),
    [Symbol.asyncDispose]: () => Promise.resolve(void disposed.push("copy")),
  };
  const aborted: Trajectory[] = [];
  await using env = chatEnv(5, noting);
  let calls = 0;
  const policy: Policy = {
    reply() {
      if (++calls === 5) stop.abort(new TypeError("stop"));
      return Promise.resolve("x");
    },
  };
  const options = { branch: { turn: 2, count: 3 }, signal: stop.signal };
  const onAborted = (trajectory: Trajectory) => void aborted.push(trajectory);
  await assertRejects(() => rolloutTree(env, policy, task, { ...options, onAborted }), TypeError, "stop");
  assert(disposed.length > 0);
  assertEquals(aborted.length, disposed.length + 1, "all that were running");
});

Deno.test("rolloutTree() checks its options before anything starts", async () => {
  await using env = chatEnv(3);
  const play = (branch: { turn: number; count: number }[]) =>
    rolloutTree(env, countingPolicy(), task, { branch, maxTurns: 4 });
  await assertRejects(() => play([]), RangeError, "'branch' must have a point");
  await assertRejects(() => play([{ turn: 5, count: 2 }]), RangeError, "'turn' must be from 1 to 4");
  await assertRejects(() => play([{ turn: 1, count: 1 }]), RangeError, "'count' must be a whole number >= 2");
  await assertRejects(
    () => play([{ turn: 1, count: 2 }, { turn: 1, count: 3 }]),
    RangeError,
    "found two points",
  );
  await assertRejects(
    () => play([{ turn: 1, count: 100 }, { turn: 2, count: 100 }]),
    RangeError,
    "at most 4096",
  );
  const plain = { ...env, checkpoint: undefined } as unknown as BranchingEnv;
  const options = { branch: { turn: 1, count: 2 } };
  await assertRejects(
    () => rolloutTree(plain, countingPolicy(), task, options),
    TypeError,
    "'checkpoint' and 'fork'",
  );
});

Deno.test("rolloutTree() can branch at the first turn, and grades each episode", async () => {
  const grader = {
    name: "last",
    grade: ({ history }: { history: { last: { content: unknown } | undefined } }) =>
      Number(String(history.last?.content).split(" ")[1]),
  };
  await using env = new TransformedEnv(new ChatEnv(), [
    new StepCounter({ maxSteps: 1 }),
    new GradeEpisode({ grader }),
  ]);
  const tree = await rolloutTree(env, countingPolicy(), task, {
    branch: { turn: 1, count: 3 },
    concurrency: 1,
  });
  assertEquals(tree.map(({ reward, rewardParts }) => [reward, rewardParts]), [
    [1, { last: 1 }],
    [2, { last: 2 }],
    [3, { last: 3 }],
  ]);
});

/** Samples tokens with other log-probabilities in each call. */
function samplingPolicy(tokenizer: ReturnType<typeof byteTokenizer>, texts: readonly string[]): Policy {
  let calls = 0;
  return {
    reply(_history, { tokens }): Promise<Reply> {
      const content = `${texts[calls % texts.length]} ${++calls}`;
      const ids = tokenizer.encode(`${content}<|im_end|>`);
      const logProbs = ids.map((_, at) => -calls - at / 100);
      return Promise.resolve({
        message: { role: "assistant", content },
        tokens: { ids, logProbs },
        ...(tokens && { promptIds: tokens }),
      });
    },
  };
}

Deno.test("the episodes of a tree share the tokens of their first turns exactly", async () => {
  const tokenizer = byteTokenizer();
  const answering: Transform = {
    step: (step) => ({
      ...step,
      history: { prompt: step.history.prompt.append({ role: "user", content: "more" }) },
    }),
  };
  const property = fc.asyncProperty(
    fc.array(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 4 }),
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 2, max: 4 }),
    fc.constantFrom("append" as const, "rerender" as const),
    async (texts, turn, count, mode) => {
      await using env = chatEnv(4, answering);
      const tokens = { tokenizer, family: "chatml", mode };
      const options = { branch: { turn, count }, tokens };
      const tree = await rolloutTree(env, samplingPolicy(tokenizer, texts), task, options);
      assertEquals(tree.map(({ error }) => error), Array(count).fill(undefined));
      const rows = tree.map((trajectory) =>
        parseInteraction(JSON.parse(JSON.stringify(toInteractionResult(trajectory))))
      );
      const [root] = rows;
      assert(root !== undefined);
      const start = root.turns[turn - 1]?.sampled?.start ?? -1;
      const inResponse = start - (root.tokens.length - root.response_length);
      for (const row of rows) {
        assertEquals(row.tokens.slice(0, start), root.tokens.slice(0, start));
        assertEquals(row.loss_mask.slice(0, inResponse), root.loss_mask.slice(0, inResponse));
        assertEquals(row.log_probs?.slice(0, inResponse), root.log_probs?.slice(0, inResponse));
        assertEquals(row.turns[turn - 1]?.sampled?.start, start);
        assertEquals(row.turns.length, 4);
        assertEquals(
          row.log_probs?.filter((_, at) => row.loss_mask[at] === 1).every((value) => value <= -1),
          true,
        );
      }
      const own = rows.map(({ tokens }) => tokens.slice(start).join());
      assertEquals(new Set(own).size, count, "and differ from there on");
      assertEquals(rows.map(({ parent }) => parent), [
        undefined,
        ...Array(count - 1).fill({ id: root.id, turn }),
      ]);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

Deno.test("an episode of a tree has the tokens of a linear episode with the same replies", async () => {
  const tokenizer = byteTokenizer();
  const tokens = { tokenizer, family: "chatml" };
  await using env = chatEnv(3);
  const policy = samplingPolicy(tokenizer, ["a", "bc"]);
  const tree = await rolloutTree(env, policy, task, { branch: { turn: 2, count: 2 }, tokens });
  for (const { messages, steps, tokens: written } of tree) {
    const replies = messages.filter(({ role }) => role === "assistant");
    let turn = 0;
    const replaying: Policy = {
      reply: () => {
        const [message, sampled] = [replies[turn], steps[turn++]?.tokens];
        if (message === undefined || sampled === undefined) throw new Error("no reply is left");
        return Promise.resolve({ message, tokens: sampled });
      },
    };
    await using linear = chatEnv(3);
    assertEquals((await rollout(linear, replaying, task, { tokens })).tokens, written);
  }
});

Deno.test("readers and the viewer's index read the id and the parent of an episode", async () => {
  await using env = chatEnv(2);
  const tree = await rolloutTree(env, countingPolicy(), task, { branch: { turn: 2, count: 2 }, id: "a" });
  const rows = tree.map((trajectory) => JSON.parse(JSON.stringify(trajectory)));
  assertEquals(rows.map(parseTrajectory).map(({ id, parent }) => [id, parent?.turn]), [["a", undefined], [
    "a.2",
    2,
  ]]);
  assertEquals(rows.map(factsOf).map((facts) => [facts?.id, facts?.parent, facts?.branchTurn]), [
    ["a", "", 0],
    ["a.2", "a", 2],
  ]);
});
