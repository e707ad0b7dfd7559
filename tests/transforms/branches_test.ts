import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import { z } from "zod";
import type { BranchingEnv } from "../../src/envs/branching_env.ts";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { Env, Step } from "../../src/envs/env.ts";
import { OwningEnv } from "../../src/envs/owning_env.ts";
import { CheckpointError } from "../../src/errors.ts";
import { tool } from "../../src/tools/tool.ts";
import { AddThinkingPrompt } from "../../src/transforms/add_thinking_prompt.ts";
import { EndOnAnswer } from "../../src/transforms/end_episode.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { IncrementalTokenizer } from "../../src/transforms/incremental_tokenizer.ts";
import { MCPToolTransform } from "../../src/transforms/mcp_tool_transform.ts";
import { MessageToHistory } from "../../src/transforms/mlgym/message_to_history.ts";
import { PenalizeDenials } from "../../src/transforms/penalize_denials.ts";
import { PolicyVersion } from "../../src/transforms/policy_version.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { ToolTransform } from "../../src/transforms/tool_transform.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { BranchingFakePool, FakePool, type FakePython, ok } from "../fake_pool.ts";

const task = { id: "t", query: "q", answer: "3" };

/** Adds a number to a variable and prints it; each number counts as a refused attempt. */
const adding: FakePython = (code, globals) => {
  const total = (globals.get("total") ?? 0) + Number(code.trim());
  globals.set("total", total);
  return ok(`${total}\n`, { denied: { files: 1 } });
};

const count = tool({
  name: "count",
  description: "Counts its calls.",
  parameters: z.object({}),
  run: (_args, { state }) => {
    const calls = (state.calls ??= { made: 0 }) as { made: number };
    return ++calls.made;
  },
});

/** Makes each kind of transform. Their order in the list is the order in the env. */
const TRANSFORMS: readonly ((pool: BranchingFakePool) => Transform)[] = [
  (pool) => new PythonInterpreter({ pool }),
  (pool) => new PythonInterpreter({ pool, persistent: false, toolName: "user" }),
  () => new ToolTransform({ tools: [count] }),
  () => new MessageToHistory({ lastObservations: 2 }),
  () => new PolicyVersion(),
  () => new IncrementalTokenizer({ tokenizer: byteTokenizer(), family: "chatml", onRewrite: "keep" }),
  () => new EndOnAnswer(),
  () => new StepCounter({ maxSteps: 9 }),
  () => new GradeEpisode({ grader: { name: "length", grade: ({ history }) => history.length / 100 } }),
  () => new PenalizeDenials({ max: 0.5 }),
  () =>
    new AddThinkingPrompt({ cond: ({ terminated }) => terminated, editLastTurn: false, randomPrompt: true }),
];

const chosen = fc.subarray([...TRANSFORMS.keys()])
  // the prompts of a history that was shortened are not append-only
  .filter((indices) => !(indices.includes(3) && indices.includes(5)));
const reply = fc.oneof(
  fc.nat(9).map((number) => `\`\`\`python\n${number}\n\`\`\``),
  fc.constant("<tool>count\n{}</tool>"),
  fc.constant("<tool>unknown\n{}</tool>"),
  fc.nat(9).map((number) => `<answer>${number}</answer>`),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);
const replies = fc.array(reply, { minLength: 1, maxLength: 4 });

/** Steps an env, and returns what can be seen, without durations. After the end it says so. */
async function play(env: Env, said: readonly string[]): Promise<unknown[]> {
  const steps: unknown[] = [];
  for (const text of said) {
    const step = await env.step(replyAction(text)).catch((error: Error) => error.message);
    steps.push(typeof step === "string" ? step : visible(step));
  }
  return steps;
}

function visible({ history, toolResults, ...step }: Step) {
  return {
    ...step,
    messages: history.prompt.toChats(),
    toolResults: toolResults.map((result) => ({ ...result, durationMs: 0 })),
  };
}

Deno.test("a copy of an env with random transforms goes on as a linear episode, and copies do not see each other", async () => {
  const property = fc.asyncProperty(
    chosen,
    replies,
    replies,
    replies,
    fc.nat(),
    async (indices, before, after, other, seed) => {
      const pool = new BranchingFakePool(adding);
      const open = () =>
        new TransformedEnv(new ChatEnv(), indices.map((index) => TRANSFORMS[index]?.(pool) ?? {}));
      const linear = open();
      await linear.reset(task, { seed });
      const expectedStart = await play(linear, before);
      const expected = await play(linear, after);
      const env = open();
      await env.reset(task, { seed });
      assertEquals(await play(env, before), expectedStart);
      const checkpoint = await env.checkpoint();
      const [one, sibling] = await Promise.all([checkpoint.copy({}), checkpoint.copy({ seed })]);
      await play(sibling, other);
      await play(env, other);
      assertEquals(await play(one, after), expected, "beside a sibling");
      const late = await checkpoint.copy();
      await env[Symbol.asyncDispose]();
      assertEquals(await play(late, after), expected, "after the original was disposed");
      const copyOfCopy = await (await checkpoint.copy()).checkpoint();
      assertEquals(await play(await copyOfCopy.copy(), after), expected, "as a copy of a copy");
    },
  );
  await fc.assert(property, { numRuns: 150 });
});

Deno.test("fork() gives each copy of the interpreter other random numbers, or those of a seed", async () => {
  const pool = new BranchingFakePool(adding);
  await using env = new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool })]);
  await env.reset(task);
  await env.step(replyAction("```python\n1\n```"));
  const copies = [...await env.fork(2), ...await env.fork(2, { seed: 5 })];
  assertEquals(pool.restores.map(({ reseed, seed }) => [reseed, seed]), [
    [true, undefined],
    [true, undefined],
    [true, 5],
    [true, 6],
  ]);
  assertEquals(pool.alive, 5);
  for (const copy of copies) await copy[Symbol.asyncDispose]();
  assertEquals(pool.alive, 1);
});

Deno.test("fork() disposes the copies that were made if one cannot be made", async () => {
  const pool = new BranchingFakePool(adding);
  let copied = 0;
  const failing: Transform = {
    checkpoint: () => ({
      copy() {
        if (++copied === 2) throw new Error("no room");
        return {};
      },
    }),
  };
  await using env = new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool }), failing]);
  await env.reset(task);
  await env.step(replyAction("```python\n1\n```"));
  await assertRejects(() => env.fork(3), Error, "no room");
  assertEquals(pool.alive, 1, "only the env itself has a session");
  await assertRejects(() => env.fork(0), RangeError, "'count' must be from 1 to 1024: current value is 0");
});

Deno.test("an env whose parts cannot be copied is refused with the reason", async () => {
  const refusals: readonly (readonly [() => Transform, string])[] = [
    [
      () => new PythonInterpreter({ pool: new FakePool(adding) }),
      "its sessions must be of a pool of this process",
    ],
    [() => ({ [Symbol.asyncDispose]: () => Promise.resolve() }), "has resources, but no method 'checkpoint'"],
    [
      () => new ToolTransform({ tools: [keeping(() => 1)] }),
      "the state of tools.kept must be plain data: found a function",
    ],
    [() => new ToolTransform({ tools: [keeping(new URL("a:b"))] }), "found an instance of 'URL'"],
  ];
  for (const [make, reason] of refusals) {
    await using env = new TransformedEnv(new ChatEnv(), [make()]);
    await env.reset(task);
    await env.step(replyAction("```python\n1\n```\n<tool>keep\n{}</tool>"));
    const error = await assertRejects(() => env.checkpoint(), CheckpointError, reason);
    assertEquals(error.code, "checkpoint_refused");
    await env.step(replyAction("the env goes on"));
  }
});

function keeping(value: unknown) {
  return tool({
    name: "keep",
    description: "Keeps a value.",
    parameters: z.object({}),
    run: (_args, { state }) => void (state.kept = value),
  });
}

Deno.test("MCPToolTransform refuses checkpoints", () => {
  const tools = new MCPToolTransform({ servers: { clock: { command: "clock" } } });
  assertThrows(() => tools.checkpoint(), CheckpointError, "their state cannot be copied");
});

Deno.test("TransformedEnv.checkpoint() refuses while a step runs, and when the base has no checkpoints", async () => {
  const gate = Promise.withResolvers<void>();
  const waiting: Transform = { step: async (step) => (await gate.promise, step) };
  await using env = new TransformedEnv(new ChatEnv(), [waiting]);
  await env.reset(task);
  const step = env.step(replyAction("a"));
  await assertRejects(() => env.checkpoint(), CheckpointError, "no call of the env may be running");
  gate.resolve();
  await step;
  assert(await env.checkpoint());
  class Custom {
    reset = () => Promise.reject(new Error());
    step = () => Promise.reject(new Error());
    [Symbol.asyncDispose] = () => Promise.resolve();
  }
  await using custom = new TransformedEnv(new Custom());
  await assertRejects(() => custom.checkpoint(), CheckpointError, "'Custom' has no method 'checkpoint'");
});

Deno.test("OwningEnv disposes its resource with the last of its copies", async () => {
  let open = true;
  const resource = { [Symbol.asyncDispose]: () => Promise.resolve(void (open = false)) };
  const env = new OwningEnv(new ChatEnv(), resource);
  await env.reset(task);
  const checkpoint = await env.checkpoint();
  const [copy] = await env.fork(1) as [BranchingEnv];
  await env[Symbol.asyncDispose]();
  await env[Symbol.asyncDispose]();
  assertEquals(open, true);
  await using _other = await checkpoint.copy();
  await copy[Symbol.asyncDispose]();
  assertEquals(open, true);
  await _other[Symbol.asyncDispose]();
  assertEquals(open, false);
  await assertRejects(async () => await checkpoint.copy(), CheckpointError, "all are disposed");
});
