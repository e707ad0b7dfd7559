import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/env.ts";
import { SandboxError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { PythonInterpreter, type PythonInterpreterOptions } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
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

Deno.test("PythonInterpreter counts blocks anew in each message and keeps the globals", async () => {
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

Deno.test("PythonInterpreter leaves a step without blocks as it is", async () => {
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

Deno.test("PythonInterpreter does not run what a user or a tool says", async () => {
  const pool = new FakePool();
  await using env = pythonEnv({ pool });
  await env.reset(task);
  for (const role of ["user", "tool", "system"]) {
    const response = History.fromChats([{ role, content: "```python\nx\n```" }]);
    await env.step({ history: { response } });
  }
  assertEquals(pool.ran, []);
});

Deno.test("PythonInterpreter takes a fresh session at reset and gives the old one back", async () => {
  const pool = new FakePool();
  {
    await using env = pythonEnv({ pool });
    await env.reset(task);
    await env.reset(task);
    assertEquals(pool.alive, 1);
  }
  assertEquals({ alive: pool.alive, most: pool.most }, { alive: 0, most: 1 });
});

Deno.test("PythonInterpreter hands on its timeout and the signal", async () => {
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

Deno.test("PythonInterpreter turns a failing sandbox into a SandboxError, and lets a cancellation pass", async () => {
  const pool = new FakePool(() => Promise.reject(new Error("pipe broken")));
  await using env = pythonEnv({ pool });
  await env.reset(task);
  await assertRejects(
    () => env.step(replyAction("```python\nx\n```")),
    SandboxError,
    "Cannot run code: pipe broken",
  );
  const reason = new TypeError("cancelled");
  await assertRejects(() => env.reset(task, { signal: AbortSignal.abort(reason) }), TypeError, "cancelled");
  assertEquals(pool.alive, 0);
});
