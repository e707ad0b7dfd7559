import { assert, assertEquals, assertMatch } from "@std/assert";
import { withSession } from "./shared_session.ts";
import { limited, stoppedAfterOutput, value } from "./started.ts";

/** A grace time of 10 s, so that even on a busy machine only a program that ignores interrupts loses its state. */
const profile = await limited("python", { graceMs: 10_000, cpuSeconds: 1 });

/** Programs that end when they are interrupted. */
const STOPPABLE: Record<string, string> = {
  "a loop": "while True: pass",
  "a sleep": "import time\ntime.sleep(60)",
  "an await": "import asyncio\nawait asyncio.sleep(60)",
  "a future of nobody": "import asyncio\nawait asyncio.get_running_loop().create_future()",
  "a busy loop of awaits": "import asyncio\nwhile True: await asyncio.sleep(0)",
  "asyncio.run": "import asyncio\nasyncio.run(asyncio.sleep(60))",
  "an interrupt that is caught once":
    "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    caught = True\nwhile True: pass",
  "an interrupt taken for an answer": "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    'went on'",
};

const AWAITS = "import asyncio\nawait asyncio.sleep(0)\nprint('went on')";

/** Statements that never end. */
const ENDLESS: Record<string, string> = {
  "an interrupt that is always swallowed": "while True: pass",
  "a loop in C": "sum(range(10**12))",
};

/** Returns a program that ignores interrupts. It prints inside its loop, so that no interrupt comes before the loop. */
function stubbornProgram(statement: string): string {
  return `started = False
while True:
    try:
        if not started:
            started = True
            print('before', flush=True)
        ${statement}
    except BaseException: pass`;
}

Deno.test("Session.exec() interrupts at the timeout and keeps the state", async (t) => {
  await withSession(async (session) => {
    for (const [name, code] of Object.entries(STOPPABLE)) {
      await t.step(name, async () => {
        await session.exec("kept = 1");
        const { result, timeoutMs } = await stoppedAfterOutput((timeoutMs) =>
          session.exec(`print('before', flush=True)\n${code}`, { timeoutMs })
        );
        assertEquals([result.status, result.stateKept, result.stdout], ["timeout", true, "before\n"]);
        assert(result.status === "timeout" && result.error.type === "TimeoutError");
        assertEquals(result.error.message, `the block ran longer than ${timeoutMs} ms`);
        const next = await session.exec("kept");
        assertEquals([value(next), next.restarted], ["1", undefined]);
        assertEquals((await session.exec(AWAITS)).stdout, "went on\n");
        assertEquals((await session.exec("asyncio.run(asyncio.sleep(0))")).status, "ok");
      });
    }
  }, { profile });
});

Deno.test("Session.exec() shows where an await was interrupted and runs the block's cleanup there", async () => {
  await withSession(async (session) => {
    await session.exec("import asyncio");
    const code = "try:\n  await asyncio.sleep(60)\nfinally:\n  print('cleaned')";
    const { result } = await stoppedAfterOutput((timeoutMs) => session.exec(code, { timeoutMs }));
    assert(result.status === "timeout" && result.stateKept, result.status);
    assertEquals(result.stdout, "cleaned\n");
    assertMatch(
      result.error.traceback,
      /File "<block \d+>", line 2, in <module>\n {4}await asyncio\.sleep\(60\)/,
    );
    assertEquals((await session.exec("await asyncio.sleep(0)\nprint('quiet')")).stdout, "quiet\n");
  }, { profile });
});

Deno.test("Session.exec() keeps an exit in a background task from ending the next block", async () => {
  await withSession(async (session) => {
    await session.exec("import asyncio, sys\nasync def leave(): sys.exit(4)");
    assertEquals((await session.exec("await asyncio.gather(leave(), asyncio.sleep(1))")).status, "exited");
    assertEquals((await session.exec(AWAITS)).stdout, "went on\n");
  }, { profile });
});

Deno.test("Session.exec() kills a program that cannot be interrupted; the next exec has a fresh interpreter", async (t) => {
  await withSession(async (session) => {
    for (const [name, statement] of Object.entries(ENDLESS)) {
      await t.step({
        name,
        sanitizeOps: false, // the fresh interpreter has another process; the whole test is checked
        sanitizeResources: false,
        fn: async () => {
          await session.exec("kept = 1");
          const code = stubbornProgram(statement);
          const { result } = await stoppedAfterOutput((timeoutMs) => session.exec(code, { timeoutMs }));
          assertEquals([result.status, result.stateKept, result.stdout], ["timeout", false, "before\n"]);
          const next = await session.exec("'kept' in globals()");
          assertEquals([value(next), next.restarted], ["False", true]);
          assertEquals((await session.exec("1")).restarted, undefined);
        },
      });
    }
  }, { profile: await limited("python", { graceMs: 200 }) });
});

Deno.test("Session.exec() keeps all output of a killed program, including an unfinished line", async () => {
  await withSession(async (session) => {
    const code = "for i in range(2000): print(i)\nprint('half a line', end='')\nsum(range(10**12))";
    const { result } = await stoppedAfterOutput((timeoutMs) => session.exec(code, { timeoutMs }), {
      hasStarted: (stdout) => stdout.endsWith("half a line"),
    });
    const lines = Array.from({ length: 2_000 }, (_, i) => `${i}\n`).join("");
    assertEquals([result.status, result.stateKept], ["timeout", false]);
    assertEquals(result.stdout, `${lines}half a line`);
  }, { profile: await limited("python", { graceMs: 200 }) });
});

Deno.test("Session.exec() discards a late interrupt before the next exec", async () => {
  await withSession(async (session) => {
    for (let i = 0; i < 20; i++) {
      await session.exec("import time\ntime.sleep(0.02)", { timeoutMs: 20 });
      assertEquals(value(await session.exec("sum(range(1000))")), "499500");
    }
  }, { profile });
});

Deno.test(
  { name: "Session.exec() stops at the limit of CPU time", ignore: Deno.build.os !== "linux" },
  async () => {
    await withSession(async (session) => {
      const result = await session.exec("kept = 1\nwhile True: pass", { timeoutMs: 20_000 });
      assert(result.status === "timeout");
      assertEquals([result.error.type, result.error.message], [
        "CpuTimeLimit",
        "the block used more than 1 s of CPU time",
      ]);
      assertEquals(value(await session.exec("kept")), "1");
    }, { profile });
  },
);

Deno.test("Session.exec() returns 'memory' and keeps the state after a MemoryError", async () => {
  await withSession(async (session) => {
    const result = await session.exec("kept = 1\nx = bytearray(10**9)");
    assert(result.status === "memory");
    assertEquals([result.error.type, result.stateKept], ["MemoryError", true]);
    assertEquals(value(await session.exec("kept, len(bytearray(10**8))")), "(1, 100000000)");
    const caught = await session.exec(
      "try:\n    bytearray(10**9)\nexcept MemoryError:\n    caught = True\ncaught",
    );
    assertEquals(value(caught), "True");
  }, { profile });
});

Deno.test("Session.exec() returns 'crashed' and starts a fresh interpreter", async (t) => {
  const deaths = [
    "import os\nos._exit(3)",
    "import os\nos.abort()",
    "import ctypes\nctypes.memset(0x10000, 255, 10**7)",
  ];
  await withSession(async (session) => {
    for (const code of deaths) {
      await t.step({
        name: code.split("\n")[1] ?? code,
        sanitizeOps: false,
        sanitizeResources: false,
        fn: async () => {
          const result = await session.exec(`print('before', flush=True)\n${code}`);
          assertEquals([result.status, result.stateKept, result.stdout], ["crashed", false, "before\n"]);
          const next = await session.exec("1");
          assertEquals([value(next), next.restarted], ["1", true]);
        },
      });
    }
  }, { profile });
});
