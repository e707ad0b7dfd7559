import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { SandboxError } from "../../src/errors.ts";
import type { Message } from "../../src/message.ts";
import { History } from "../../src/history.ts";
import type { SessionLease, SessionPool } from "../../src/sandbox/contract/pool.ts";
import {
  PythonInterpreter,
  type PythonInterpreterOptions,
  type ReplyLimits,
} from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { bad, FakePool, ok } from "../fake_pool.ts";

const task = { id: "t", query: "```python\nfrom_the_query\n```" };

function pythonEnv(options: PythonInterpreterOptions): TransformedEnv {
  return new TransformedEnv(new ChatEnv(), [new PythonInterpreter(options)]);
}

Deno.test("PythonInterpreter runs the assistant's blocks in order, one message each", async () => {
  const pool = new FakePool((code) => code === "b" ? bad("error") : ok(`${code}\n`));
  await using env = pythonEnv({ pool });
  await env.reset(task);
  const { history, toolResults } = await env.step(
    replyAction("```python\na\n```\n```py\nb\n```\n```python\nc\n```"),
  );
  assertEquals(pool.ran, ["a", "b", "c"]);
  assertEquals(history.prompt.toChats().slice(2), [
    { role: "tool", content: "Code block 1 executed successfully:\na\n" },
    { role: "tool", content: "Code block 2 failed:\nTraceback …\nValueError: bad\n" },
    { role: "tool", content: "Code block 3 executed successfully:\nc\n" },
  ]);
  assertEquals(toolResults.map(({ call, code, exec }) => [call, code, exec?.status]), [
    [1, "a", "ok"],
    [2, "b", "error"],
    [3, "c", "ok"],
  ]);
});

Deno.test("PythonInterpreter numbers blocks from 1 in each message and keeps the globals", async () => {
  const pool = new FakePool((_code, globals) => {
    globals.set("n", (globals.get("n") ?? 0) + 1);
    return ok(`${globals.get("n")}`);
  });
  await using env = pythonEnv({ pool });
  await env.reset(task);
  for (const seen of [1, 2]) {
    const { history } = await env.step(replyAction("```python\n\n```"));
    assertEquals(history.prompt.last?.content, `Code block 1 executed successfully:\n${seen}`);
  }
});

Deno.test("PythonInterpreter does not change a step without blocks", async () => {
  const interpreter = new PythonInterpreter({ pool: new FakePool() });
  const prompt = History.fromChats([{ role: "assistant", content: "no code" }]);
  const step = {
    task,
    history: { prompt },
    reward: null,
    terminated: false,
    truncated: false,
    toolResults: [],
  };
  assertStrictEquals(await interpreter.step(step, { task, turn: 1 }), step);
});

Deno.test("PythonInterpreter does not run blocks of users or tools", async () => {
  const pool = new FakePool();
  await using env = pythonEnv({ pool });
  await env.reset(task);
  for (const role of ["user", "tool", "system"]) {
    const response = History.fromChats([{ role, content: "```python\nx\n```" }]);
    await env.step({ history: { response } });
  }
  assertEquals(pool.ran, []);
});

Deno.test("PythonInterpreter acquires a session at the first block and releases it at reset and on dispose", async () => {
  const pool = new FakePool();
  {
    await using env = pythonEnv({ pool });
    for (const _episode of [1, 2]) {
      await env.reset(task);
      assertEquals(pool.alive, 0);
      await env.step(replyAction("no code"));
      assertEquals(pool.alive, 0);
      await env.step(replyAction("```python\n1\n```"));
      await env.step(replyAction("```python\n2\n```"));
      assertEquals(pool.alive, 1);
    }
  }
  assertEquals({ alive: pool.alive, most: pool.most }, { alive: 0, most: 1 });
});

Deno.test("PythonInterpreter releases its session when another transform ends the episode", async () => {
  const pool = new FakePool();
  await using env = pythonEnv({ pool }).append(new StepCounter({ maxSteps: 2 }));
  await env.reset(task);
  await env.step(replyAction("```python\n1\n```"));
  assertEquals(pool.alive, 1);
  await env.step(replyAction("done"));
  assertEquals(pool.alive, 0);
});

Deno.test("PythonInterpreter with persistent: false uses a new namespace per block and holds no session between steps", async () => {
  const pool = new FakePool((_code, globals) => {
    globals.set("n", (globals.get("n") ?? 0) + 1);
    return bad("timeout", { stdout: `${globals.get("n")}\n`, stateKept: false });
  });
  await using env = pythonEnv({ pool, persistent: false });
  await env.reset(task);
  const { history } = await env.step(replyAction("```python\na\n```\n```python\nb\n```"));
  assertEquals(history.prompt.toChats().slice(2).map(({ content }) => content), [
    "Code block 1 failed:\n1\nCode execution timed out",
    "Code block 2 failed:\n1\nCode execution timed out",
  ]);
  assertEquals({ alive: pool.alive, most: pool.most }, { alive: 0, most: 1 });
});

Deno.test("PythonInterpreter fails only the episode that waits too long for a session", async () => {
  const pool = new FakePool();
  const full: SessionPool = {
    acquire: (options = {}) =>
      pool.alive === 0 ? pool.acquire(options) : new Promise((_resolve, reject) => {
        options.signal?.addEventListener("abort", () => reject(options.signal?.reason));
      }),
  };
  await using first = pythonEnv({ pool: full });
  await using second = pythonEnv({ pool: full, acquireTimeoutMs: 10 });
  for (const env of [first, second]) await env.reset(task);
  await first.step(replyAction("```python\n1\n```"));
  await assertRejects(
    () => second.step(replyAction("```python\n1\n```")),
    SandboxError,
    "Cannot acquire session as none was free within 10 ms: the pool needs one for each running episode",
  );
  await first.step(replyAction("```python\n2\n```"));
  await first.reset(task);
  await second.reset(task);
  await second.step(replyAction("```python\n3\n```"));
  assertEquals(pool.ran, ["1", "2", "3"]);
});

Deno.test("PythonInterpreter writes records with format json", async () => {
  const pool = new FakePool((code) => code === "a" ? ok("x", { value: "1" }) : bad("error"));
  await using env = pythonEnv({ pool, format: "json" });
  await env.reset(task);
  const { history } = await env.step(replyAction("```python\na\n```\n```python\nb\n```"));
  const records = history.prompt.toChats().slice(2).map(({ content }) => JSON.parse(String(content)));
  const common = { stderr: "", truncated: false, state_kept: true };
  const error = { type: "ValueError", message: "bad", traceback: "Traceback …\nValueError: bad\n" };
  assertEquals(records, [
    { ...common, block: 1, status: "ok", stdout: "x", value: "1" },
    { ...common, block: 2, status: "error", stdout: "", error },
  ]);
});

Deno.test("PythonInterpreter does not run a reply again when a step is skipped", async () => {
  const pool = new FakePool();
  await using env = pythonEnv({ pool });
  const query = History.fromChats([{ role: "assistant", content: "```python\nx\n```" }]);
  await env.reset({ id: "t", query });
  await env.step({ skip: true });
  assertEquals(pool.ran, []);
});

Deno.test("PythonInterpreter limits the blocks, the run time and the output of a reply, and tells the model", async () => {
  const pool = new FakePool(() => ok("x".repeat(100), { durationMs: 40 }));
  const reply = "```python\n1\n```\n".repeat(400);
  const cases: [Partial<ReplyLimits>, number, string][] = [
    [{}, 64, "Code blocks 65 to 400 were not run: a reply may run 64 blocks"],
    [{ blocks: 399 }, 399, "Code block 400 was not run: a reply may run 399 blocks"],
    [
      { runMs: 100 },
      3,
      "Code blocks 4 to 400 were not run: the blocks of a reply may run for 0.1 seconds together",
    ],
    [
      { outputCharacters: 250 },
      2,
      "Code blocks 3 to 400 were not run: the blocks of a reply may print 250 characters together",
    ],
  ];
  for (const [replyLimits, runs, text] of cases) {
    await using env = pythonEnv({ pool, replyLimits });
    await env.reset(task);
    pool.ran.length = 0;
    const { history, toolResults } = await env.step(replyAction(reply));
    assertEquals(pool.ran.length, runs);
    assertEquals(toolResults.length, runs + 1);
    assertEquals(toolResults.at(-1)?.status, "refused");
    assertEquals(history.prompt.last?.content, text);
    assertEquals((await env.step(replyAction("```python\n2\n```"))).toolResults.map((it) => it.status), [
      "ok",
    ]);
  }
  assertThrows(
    () => new PythonInterpreter({ pool, replyLimits: { blocks: 0 } }),
    RangeError,
    "'replyLimits.blocks'",
  );
});

/** A pool that notes the time limits of its execs, each of which runs for 2 seconds unless that is longer. */
class TimedPool extends FakePool {
  readonly timeouts: (number | undefined)[] = [];

  override async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    const lease = await super.acquire(options);
    lease.session.exec = (_code, { timeoutMs } = {}) => {
      this.timeouts.push(timeoutMs);
      return Promise.resolve(ok("", { durationMs: Math.min(2_000, timeoutMs ?? 2_000) }));
    };
    return lease;
  }
}

Deno.test("PythonInterpreter gives the blocks of a reply six times the limit of a block together, and the last one what is left", async () => {
  const reply = replyAction("```python\n1\n```\n".repeat(40));
  const limitsOf = async (options: Partial<PythonInterpreterOptions>) => {
    const pool = new TimedPool();
    await using env = pythonEnv({ pool, ...options });
    await env.reset(task);
    const { history } = await env.step(reply);
    return { limits: pool.timeouts, text: history.prompt.last?.content };
  };
  const long = await limitsOf({ timeoutMs: 2_000 });
  assertEquals(long, {
    limits: Array(6).fill(2_000),
    text: "Code blocks 7 to 40 were not run: the blocks of a reply may run for 12 seconds together",
  });
  assertEquals((await limitsOf({ timeoutMs: 3_000 })).limits, Array(9).fill(3_000).with(8, 2_000));
  const given = await limitsOf({ timeoutMs: 60_000, replyLimits: { runMs: 5_000 } });
  assertEquals(given.limits, [5_000, 3_000, 1_000]);
  assertEquals((await limitsOf({})).limits, Array(30).fill(undefined), "the profile's limit and 60 seconds");
});

Deno.test("PythonInterpreter refuses time limits that are out of range", () => {
  const pool = new FakePool();
  assertThrows(() => new PythonInterpreter({ pool, timeoutMs: 0 }), RangeError, "current value is 0");
  assertThrows(() => new PythonInterpreter({ pool, acquireTimeoutMs: NaN }), RangeError, "is NaN");
});

Deno.test("PythonInterpreter passes its time limit and the signal to the session", async () => {
  const { signal } = new AbortController();
  const pool = new FakePool((_code, _globals, options) =>
    ok(`${options.timeoutMs} ${options.signal === signal}`)
  );
  await using env = pythonEnv({ pool, timeoutMs: 5, toolName: "python" });
  await env.reset(task);
  const { history } = await env.step(replyAction("```python\nx\n```"), { signal });
  assertEquals(history.prompt.last, {
    role: "python",
    content: "Code block 1 executed successfully:\n5 true",
  });
});

Deno.test("PythonInterpreter throws a SandboxError when the sandbox fails and rethrows a cancellation", async () => {
  const pool = new FakePool(() => Promise.reject(new Error("pipe broken")));
  await using env = pythonEnv({ pool });
  await env.reset(task);
  await assertRejects(
    () => env.step(replyAction("```python\nx\n```")),
    SandboxError,
    "Cannot run code: pipe broken",
  );
  const reason = new TypeError("cancelled");
  const signal = AbortSignal.abort(reason);
  await env.reset(task);
  await assertRejects(() => env.step(replyAction("```python\nx\n```"), { signal }), TypeError, "cancelled");
  assertEquals(pool.alive, 0);
});

Deno.test("PythonInterpreter does not run blocks in thoughts, quotes and other blocks, and says so", async () => {
  const pool = new FakePool((code) => ok(code));
  await using env = pythonEnv({ pool });
  await env.reset(task);
  const reply =
    "<think>\n```python\ndraft\n```\n</think>\n> ```python\n> quoted\n> ```\n```bash\nls\n```\n```\nx\n```\n" +
    "````md\n```python\nshown\n```\n````\n```python\nprogram\n```";
  const { toolResults, blocksNotRun } = await env.step(replyAction(reply));
  assertEquals(pool.ran, ["program"]);
  assertEquals(toolResults.length, 1);
  assertEquals(blocksNotRun?.map(({ reason, tag, count }) => `${reason} ${tag} ${count}`), [
    "thought python 1",
    "quote python 1",
    "language bash 1",
    "unlabeled  1",
    "language md 1",
    "block python 1",
  ]);
  const { terminated, blocksNotRun: none } = await env.step(replyAction("```python\nall\n```"));
  assertEquals([terminated, none], [false, undefined]);
});

Deno.test("PythonInterpreter runs thoughts and blocks without a tag if its options say so", async () => {
  const pool = new FakePool((code) => ok(code));
  await using env = pythonEnv({ pool, runThoughts: true, runUnlabeled: true });
  await env.reset(task);
  const { blocksNotRun } = await env.step(replyAction("<think>\n```python\na\n```\n</think>\n```\nb\n```"));
  assertEquals([pool.ran, blocksNotRun], [["a", "b"], undefined]);
});

Deno.test("PythonInterpreter does not run a block in which a limit cut the reply", async () => {
  const pool = new FakePool((code) => ok(code));
  await using env = pythonEnv({ pool });
  const content = "```python\na\n```\n```python\nb";
  const response = (message: Message) => ({ history: { response: History.fromChats([message]) } });
  await env.reset(task);
  const cut = await env.step(response({ role: "assistant", content, is_complete: false }));
  assertEquals([pool.ran, cut.blocksNotRun], [["a"], [{ reason: "unclosed", tag: "python", count: 1 }]]);
  await env.step(response({ role: "assistant", content })); // a stop text may be the missing fence
  assertEquals(pool.ran, ["a", "a", "b"]);
});
