import { assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import {
  type BranchingEnv,
  ChatEnv,
  loadProfile,
  PythonInterpreter,
  replyAction,
  rolloutTree,
  SandboxPool,
  scriptedPolicy,
  StepCounter,
  TransformedEnv,
} from "../../mod.ts";

const task = { id: "t", query: "q" };

function block(code: string) {
  return replyAction(`\`\`\`python\n${code}\n\`\`\``);
}

async function openPool(size: number): Promise<SandboxPool> {
  const profile = { ...await loadProfile("python"), sessionsPerProcess: 2 };
  return new SandboxPool({ profile, size, resetMode: "rewind" });
}

/** Runs programs, and returns what the policy sees, and the values of the last expressions. */
async function play(env: BranchingEnv, programs: readonly string[]): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (const program of programs) {
    const { history, stepCount, toolResults } = await env.step(block(program));
    const values = toolResults.map(({ exec }) => exec?.status === "ok" ? exec.value : exec?.status);
    seen.push([stepCount, values, history.prompt.toChats()]);
  }
  return seen;
}

/** One statement, which works after each other one. */
const statement = fc.oneof(
  fc.nat(99).map((n) => `items.append(${n}); items`),
  fc.nat(5).map((n) => `counter.send(${n})`),
  fc.constant("random.random(), random.sample(items, 1)"),
  fc.nat(3).map((n) => `open('f${n}', 'a').write('x'), sorted(os.listdir('.')), os.path.getsize('f${n}')`),
  fc.constant("log.write('ab'), log.tell()"),
  fc.constant("raise ValueError(len(items))"),
  fc.constant("id(items), hash('x'), type(counter)"),
);
const programs = fc.array(statement, { minLength: 1, maxLength: 3 });

const PRELUDE = `
import os, random
random.seed(3)
items = [1]
def count():
    total = 0
    while True:
        total += (yield total) or 1
counter = count()
next(counter)
log = open('log', 'a+')
`;

Deno.test("an env continues in copies as a linear episode does, and the copies do not see each other", async () => {
  await using pool = await openPool(4);
  const open = () => new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool }), new StepCounter()]);
  await using linear = open();
  await using env = open();
  await fc.assert(
    fc.asyncProperty(programs, programs, programs, async (before, after, other) => {
      await linear.reset(task);
      await env.reset(task);
      await play(linear, [PRELUDE, ...before]);
      const expected = await play(linear, after);
      await play(env, [PRELUDE, ...before]);
      const checkpoint = await env.checkpoint();
      await using one = await checkpoint.copy();
      await using sibling = await checkpoint.copy();
      const [seen, others, original] = await Promise.all([
        play(one, after),
        play(sibling, other),
        play(env, other),
      ]);
      assertEquals(seen, expected);
      assertEquals(others, original);
    }),
    { numRuns: 12 },
  );
});

Deno.test("fork() gives each copy of an env other random numbers, and those of a seed again", async () => {
  await using pool = await openPool(3);
  await using env = new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool })]);
  await env.reset(task);
  await env.step(block("import random; random.seed(1)"));
  const drawn = async (seed?: number) => {
    const copies = await env.fork(2, { seed });
    const numbers = await Promise.all(copies.map((copy) => play(copy, ["random.random()"])));
    for (const copy of copies) await copy[Symbol.asyncDispose]();
    return numbers.map((number) => JSON.stringify(number));
  };
  const [one, other] = await drawn();
  assertNotEquals(one, other);
  assertEquals(await drawn(7), await drawn(7));
});

Deno.test("rolloutTree() continues a half-consumed generator in each branch, with a pool of one session", async () => {
  await using pool = await openPool(1);
  const transforms = [new PythonInterpreter({ pool }), new StepCounter({ maxSteps: 3 })];
  await using env = new TransformedEnv(new ChatEnv(), transforms);
  const programs = [
    "made = [0]\nnumbers = iter(range(9)); next(numbers)",
    "made.append(next(numbers))",
    "print(made)",
  ];
  const replies = programs.map((program) => `\`\`\`python\n${program}\n\`\`\``);
  const policy = scriptedPolicy({ replies: () => replies });
  const tree = await rolloutTree(env, policy, task, { branch: { turn: 2, count: 3 } });
  assertEquals(tree.map(({ error }) => error), [undefined, undefined, undefined]);
  for (const { messages } of tree) {
    assertEquals(
      String(messages.at(-1)?.content).trim().endsWith("[0, 1]"),
      true,
      String(messages.at(-1)?.content),
    );
  }
});

Deno.test("a session with a thread is refused, and the episode says so", async () => {
  await using pool = await openPool(1);
  await using env = new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool })]);
  const code = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()";
  const policy = scriptedPolicy({ script: () => `\`\`\`python\n${code}\n\`\`\`` });
  const [only, ...others] = await rolloutTree(env, policy, task, { branch: { turn: 2, count: 2 } });
  assertEquals([others.length, only?.turns, only?.error?.boundary], [0, 1, "env"]);
  assertEquals(
    /^Cannot branch at turn 2: .*thread/.test(only?.error?.message ?? ""),
    true,
    only?.error?.message,
  );
});
