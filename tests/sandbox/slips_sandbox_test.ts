import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { z } from "zod";
import { hostTool } from "../../src/sandbox/exec.ts";
import { SandboxPool } from "../../src/sandbox/pool.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";
import { withSession } from "./shared_session.ts";

const profile = await loadProfile("tools");

Deno.test("Session.exec() interrupts a program that prints without end", () =>
  withSession(async (session) => {
    const looped = await session.exec("kept = 1\nwhile True: print('a')", { timeoutMs: 500 });
    assertEquals([looped.status, looped.stateKept], ["timeout", true]);
    const after = await session.exec("kept");
    assert(after.status === "ok" && after.value === "1");
  }, { profile }));

Deno.test("Session.reset() with 'rewind' restores the standard streams", () =>
  withSession(async (session) => {
    await session.exec(
      "import os\nfile = os.open('x', os.O_CREAT | os.O_RDWR)\nos.dup2(file, 1)\nos.dup2(file, 2)",
    );
    await session.reset({ mode: "rewind" });
    const { stdout, stderr } = await session.exec("import sys\nprint('out')\nprint('err', file=sys.stderr)");
    assertEquals([stdout, stderr], ["out\n", "err\n"]);
  }, { profile }));

Deno.test("Session.exec() reports a tool error that cannot be converted to a string", () =>
  withSession(async (session) => {
    const odd = hostTool({
      name: "odd",
      description: "",
      parameters: z.object({}),
      run: () => {
        throw Object.create(null);
      },
    });
    const result = await session.exec("from paddock import tools\ntools.odd()", { tools: [odd] });
    assert(result.status === "error" && result.error.type === "ToolError");
  }, { profile }));

Deno.test("Session.exec() raises an exception in Python for arguments that a tool cannot have", () =>
  withSession(async (session) => {
    const take = hostTool({
      name: "take",
      description: "",
      parameters: z.object({ x: z.any() }),
      run: () => 1,
    });
    const call = (x: string) =>
      session.exec(`from paddock import tools\n${x}\ntools.take(x=x)`, { tools: [take] });
    const nan = await call("x = float('nan')");
    assert(nan.status === "error" && nan.error.type === "ValueError" && nan.stateKept);
    for (const depth of [200, 5_000, 15_000]) {
      const deep = await call(`x = []\nfor _ in range(${depth}): x = [x]`);
      assert(deep.status === "error" && deep.stateKept, `${depth}: ${deep.status}`);
      assertStringIncludes(deep.error.message, "nested too deep");
    }
    for (const [x, fault] of [["x = [0] * 1_100_000", "too many values"], ["x = 'x' * 2**24", "bytes"]]) {
      const large = await call(x as string);
      assert(large.status === "error" && large.stateKept, `${x}: ${large.status}`);
      assertStringIncludes(large.error.message, fault as string);
    }
  }, { profile }));

Deno.test("Session.exec() raises an exception in Python for a tool result that is too large", () =>
  withSession(async (session) => {
    const repeat = hostTool({
      name: "repeat",
      description: "",
      parameters: z.object({ self: z.int() }),
      run: ({ self }) => "x".repeat(self),
    });
    const call = (n: number) =>
      session.exec(`from paddock import tools\nlen(tools.repeat(self=${n}))`, { tools: [repeat] });
    const large = await call(70_000_000);
    assert(large.status === "error" && large.stateKept && large.error.type === "ToolError");
    assertStringIncludes(large.error.message, "must have at most");
    const fitting = await call(1_000_000);
    assert(fitting.status === "ok" && fitting.value === "1000000");
  }, { profile }));

Deno.test("Session.exec() raises RecursionError for any recursion limit", () =>
  withSession(async (session) => {
    const deep = "import sys\nsys.setrecursionlimit(10**9)\ndef f(n=0): return f(n + 1)\n";
    for (const code of [`${deep}f()`, `${deep}try: f()\nexcept RecursionError: raise`]) {
      const result = await session.exec(code);
      assert(result.status === "error" && result.error.type === "RecursionError", result.status);
      assert(result.stateKept);
    }
    assert((await session.exec("sys.setrecursionlimit('no')")).status === "error");
  }, { profile }));

Deno.test("Session.exec() attributes a warning in the runner to the block", () =>
  withSession(async (session) => {
    const { stderr } = await session.exec("async def f(): pass\nf()");
    assertStringIncludes(stderr, "<block 1>:2: RuntimeWarning: coroutine 'f' was never awaited");
  }, { profile }));

Deno.test("Session.exec() names a file that it cannot write", () =>
  withSession(async (session) => {
    const files = { a: "1", "a/b": "2" };
    await assertRejects(() => session.exec("1", { files }), Error, "Cannot write 'a/b' as not a directory");
  }, { profile }));

Deno.test("SandboxPool refuses an invalid profile before anything starts", () => {
  const none = undefined as unknown as Awaited<ReturnType<typeof loadProfile>>;
  assertThrows(() => new SandboxPool({ profile: none }), TypeError, "'profile' must be a profile");
});

Deno.test("Session.exec() rejects with the error of 'onOutput' and keeps the state", () =>
  withSession(async (session) => {
    const onOutput = () => {
      throw new RangeError("mine");
    };
    await assertRejects(() => session.exec("kept = 2\nprint(1)", { onOutput }), RangeError, "mine");
    const after = await session.exec("kept");
    assert(after.status === "ok" && after.value === "2");
  }, { profile }));

Deno.test("Session.exec() reports an exception whose __str__ fails", () =>
  withSession(async (session) => {
    const result = await session.exec("class E(Exception):\n  def __str__(self): return 1 / 0\nraise E()");
    assert(result.status === "error" && result.error.type === "E");
    assertStringIncludes(result.error.traceback, "E: <exception str() failed>\n");
  }, { profile }));

Deno.test("Session.exec() leaves the queue when it is aborted", () =>
  withSession(async (session) => {
    const controller = new AbortController();
    const first = session.exec("import time\ntime.sleep(60)", {
      timeoutMs: 60_000,
      signal: controller.signal,
    });
    const stopped = assertRejects(() => first, DOMException);
    const second = new AbortController();
    const queued = session.exec("2", { signal: second.signal });
    second.abort();
    await assertRejects(() => queued, DOMException);
    controller.abort();
    await stopped;
  }, { profile }));

Deno.test("Lease aborts the running exec when it is disposed", async () => {
  await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
  const lease = await pool.acquire();
  const running = lease.session.exec("while True: pass", { timeoutMs: 3_600_000 });
  await lease[Symbol.asyncDispose]();
  await assertRejects(() => running, Error, "its lease is over");
  await using next = await pool.acquire();
  assertEquals((await next.session.exec("1")).status, "ok");
});

Deno.test("Session.exec() works after a block has damaged linecache", () =>
  withSession(async (session) => {
    await session.exec("import io, linecache\nlinecache.cache = io.StringIO = None");
    const after = await session.exec("6 * 7");
    assert(after.status === "ok" && after.value === "42");
  }, { profile }));
