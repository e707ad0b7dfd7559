import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { hostTool } from "../../src/sandbox/host_tool.ts";
import { withSession } from "./shared_session.ts";

Deno.test("Session.exec() interrupts a program that prints without end", () =>
  withSession(async (session) => {
    const looped = await session.exec("kept = 1\nwhile True: print('a')", { timeoutMs: 200 });
    assertEquals([looped.status, looped.stateKept], ["timeout", true]);
    const after = await session.exec("kept");
    assert(after.status === "ok" && after.value === "1");
  }));

Deno.test("Session.reset() with 'rewind' restores the standard streams", () =>
  withSession(async (session) => {
    await session.exec(
      "import os\nfile = os.open('x', os.O_CREAT | os.O_RDWR)\nos.dup2(file, 1)\nos.dup2(file, 2)",
    );
    await session.reset({ mode: "rewind" });
    const { stdout, stderr } = await session.exec("import sys\nprint('out')\nprint('err', file=sys.stderr)");
    assertEquals([stdout, stderr], ["out\n", "err\n"]);
  }));

Deno.test("Session.exec() attributes a warning in the runner to the block", () =>
  withSession(async (session) => {
    const { stderr } = await session.exec("async def f(): pass\nf()");
    assertStringIncludes(stderr, "<block 1>:2: RuntimeWarning: coroutine 'f' was never awaited");
  }));

Deno.test("Session.exec() names a file that it cannot write", () =>
  withSession(async (session) => {
    const files = { a: "1", "a/b": "2" };
    await assertRejects(() => session.exec("1", { files }), Error, "Cannot write 'a/b' as not a directory");
  }));

Deno.test("Session.exec() rejects with the error of 'onOutput' and keeps the state", () =>
  withSession(async (session) => {
    const onOutput = () => {
      throw new RangeError("mine");
    };
    await assertRejects(() => session.exec("kept = 2\nprint(1)", { onOutput }), RangeError, "mine");
    const after = await session.exec("kept");
    assert(after.status === "ok" && after.value === "2");
  }));

Deno.test("Session.exec() reports an exception whose __str__ fails", () =>
  withSession(async (session) => {
    const result = await session.exec("class E(Exception):\n  def __str__(self): return 1 / 0\nraise E()");
    assert(result.status === "error" && result.error.type === "E");
    assertStringIncludes(result.error.traceback, "E: <exception str() failed>\n");
  }));

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
  }));

Deno.test("Session.exec() works after a block has damaged linecache", () =>
  withSession(async (session) => {
    await session.exec("import io, linecache\nlinecache.cache = io.StringIO = None");
    const after = await session.exec("6 * 7");
    assert(after.status === "ok" && after.value === "42");
  }));

Deno.test("Session.shell() throws when the profile has no shell", async () => {
  await withSession(async (session) => {
    await assertRejects(() => session.shell("ls"), TypeError, "profile 'python' must have 'shell'");
  });
});

Deno.test("Session.exec() refuses tools that the profile does not allow", () =>
  withSession(async (session) => {
    const add = hostTool({ name: "add", description: "", parameters: z.object({}), run: () => 1 });
    await assertRejects(
      () => session.exec("1", { tools: [add] }),
      TypeError,
      "Cannot grant host tools as profile 'python' must have 'hostTools': current value is false",
    );
  }));
