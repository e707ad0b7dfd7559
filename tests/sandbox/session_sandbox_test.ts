import { delay } from "@std/async";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type ExecResult, loadProfile, type Session } from "../../mod/sandbox.ts";
import { withSession } from "./shared_session.ts";
import { limited, traceback, value } from "./started.ts";
import { HANG_MS } from "../deadline.ts";

/** Steps of one session, each after a rewind. */
async function eachAfterRewind(
  t: Deno.TestContext,
  steps: Record<string, (session: Session) => Promise<void>>,
): Promise<void> {
  await withSession(async (session) => {
    for (const [name, step] of Object.entries(steps)) {
      await session.reset({ mode: "rewind" });
      await t.step(name, () => step(session));
    }
  });
}

async function valueOf(session: Session, code: string): Promise<string | undefined> {
  return value(await session.exec(code));
}

Deno.test("Session.exec() returns the peak of the interpreter's memory, which a rewind resets", async () => {
  await withSession(async (session) => {
    await session.reset({ mode: "rewind" });
    const { peakMemoryBytes: before = 0 } = await session.exec("1");
    const { peakMemoryBytes: peak = 0 } = await session.exec("len(bytearray(40_000_000))");
    assert(before > 1_000_000 && before < 64 * 2 ** 20, `${before}`);
    assert(peak >= before + 35_000_000 && peak <= before + 60_000_000, `${before} ${peak}`);
    assertEquals((await session.exec("1")).peakMemoryBytes, peak);
    await session.reset({ mode: "rewind" });
    const { peakMemoryBytes: after = 0 } = await session.exec("1");
    assert(after < before + 10_000_000, `${before} ${after}`);
    assertEquals((await session.exec("import os; os._exit(1)")).peakMemoryBytes, undefined);
  });
});

Deno.test("Session.exec() runs blocks in one namespace", (t) =>
  eachAfterRewind(t, {
    "keeps names": async (session) => {
      await session.exec("import math\nx = 20\ndef f(n): return n + x");
      assertEquals(await valueOf(session, "f(22), math.floor(1.5)"), "(42, 1)");
    },
    "is __main__": async (session) => assertEquals(await valueOf(session, "__name__"), "'__main__'"),
    "is what __main__ is when it is imported": async (session) => {
      await session.exec("y = 5");
      assertEquals(await valueOf(session, "import __main__\n__main__.y"), "5");
    },
    "starts with an empty namespace": async (session) =>
      assertEquals(await valueOf(session, "[n for n in dir() if not n.startswith('__')]"), "[]"),
    "keeps classes that pickle": async (session) => {
      await session.exec("import pickle\nclass A: pass\na = A()");
      assertEquals(await valueOf(session, "type(pickle.loads(pickle.dumps(a))) is A"), "True");
    },
    "keeps the state after an exception": async (session) => {
      await session.exec("z = 1\nraise ValueError");
      assertEquals(await valueOf(session, "z"), "1");
    },
    "keeps the order of concurrent execs": async (session) => {
      const codes = [
        "order = []",
        ...Array.from({ length: 20 }, (_, i) => `order.append(${i})`),
        "order == list(range(20))",
      ];
      const results = await Promise.all(codes.map((code) => session.exec(code)));
      assertEquals(value(results.at(-1) as ExecResult), "True");
    },
  }));

Deno.test("Session.exec() returns the repr of the last expression as the value", (t) => {
  const cases: [string, string | undefined][] = [
    ["1 + 1", "2"],
    ["'text'", "'text'"],
    ["x = 1", undefined],
    ["None", undefined],
    ["", undefined],
    ["# nothing", undefined],
    ["1\n2\n3", "3"],
    ["5;", "5"],
    ["if True:\n    7", undefined],
    ["print(1)", undefined],
    ["x = 3; x", "3"],
    ["(yes := 4)", "4"],
    ["'\\ud800'", "'\\ud800'"],
    ["[1.5, {'a': None}]", "[1.5, {'a': None}]"],
    ["lambda: 0\n0", "0"],
    ["\tx = 1".trim() + "\r\nx + 1\r\n", "2"],
  ];
  return eachAfterRewind(
    t,
    Object.fromEntries(cases.map(([code, expected]) => [
      JSON.stringify(code),
      async (session: Session) => {
        const result = await session.exec(code);
        assertEquals(value(result), expected);
        assertEquals("value" in result, expected !== undefined);
      },
    ])),
  );
});

Deno.test("Session.exec() reports exceptions as Python does", (t) =>
  eachAfterRewind(t, {
    "with the lines of the block": async (session) => {
      assertEquals(
        traceback(await session.exec("def f(x):\n    return 1 / x\n\nf(0)")),
        'Traceback (most recent call last):\n  File "<block 1>", line 4, in <module>\n    f(0)\n    ~^^^\n' +
          '  File "<block 1>", line 2, in f\n    return 1 / x\n           ~~^~~\nZeroDivisionError: division by zero\n',
      );
    },
    "with the lines of an earlier block": async (session) => {
      await session.exec("def g():\n    raise KeyError('k')");
      assertEquals(
        traceback(await session.exec("g()")),
        'Traceback (most recent call last):\n  File "<block 2>", line 1, in <module>\n    g()\n    ~^^\n' +
          "  File \"<block 1>\", line 2, in g\n    raise KeyError('k')\nKeyError: 'k'\n",
      );
    },
    "with its cause": async (session) => {
      assertEquals(
        traceback(
          await session.exec(
            "try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError('no') from e",
          ),
        ),
        "Traceback (most recent call last):\n  File \"<block 1>\", line 2, in <module>\n    int('x')\n    ~~~^^^^^\n" +
          "ValueError: invalid literal for int() with base 10: 'x'\n\n" +
          "The above exception was the direct cause of the following exception:\n\n" +
          "Traceback (most recent call last):\n  File \"<block 1>\", line 4, in <module>\n    raise RuntimeError('no') from e\n" +
          "RuntimeError: no\n",
      );
    },
    "of syntax, without a frame": async (session) => {
      const result = await session.exec("x = 1\nif x = 2:\n    pass");
      assertEquals(
        traceback(result),
        '  File "<block 1>", line 2\n    if x = 2:\n       ^^^^^\n' +
          "SyntaxError: invalid syntax. Maybe you meant '==' or ':=' instead of '='?\n",
      );
      assert(result.status === "error" && result.error.type === "SyntaxError");
    },
    "of recursion, with the repetition folded": async (session) => {
      const text = traceback(await session.exec("def f():\n    f()\nf()"));
      assertStringIncludes(text, "[Previous line repeated");
      assertStringIncludes(text, "RecursionError: maximum recursion depth exceeded");
    },
    "in groups": async (session) => {
      const text = traceback(
        await session.exec("raise ExceptionGroup('both', [ValueError(1), TypeError(2)])"),
      );
      assertEquals(
        text,
        '  + Exception Group Traceback (most recent call last):\n  |   File "<block 1>", line 1, in <module>\n' +
          "  |     raise ExceptionGroup('both', [ValueError(1), TypeError(2)])\n" +
          "  | ExceptionGroup: both (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n" +
          "    | ValueError: 1\n    +---------------- 2 ----------------\n    | TypeError: 2\n    +------------------------------------\n",
      );
    },
    "with its notes": async (session) => {
      const text = traceback(await session.exec("e = ValueError('x')\ne.add_note('look here')\nraise e"));
      assert(text.endsWith("ValueError: x\nlook here\n"), text);
    },
    "without frames of the runner": async (session) => {
      const results = [
        await session.exec("await nothing()"),
        await session.exec("import asyncio\nasync def f(): raise OSError(1)\nasyncio.run(f())"),
        await session.exec("class X:\n    def __repr__(self): raise ValueError\nX()"),
      ];
      for (const result of results) {
        assert(!/paddock|_evaluate|_run_block|_await_if/.test(traceback(result)), traceback(result));
      }
    },
    "with class and message apart": async (session) => {
      const result = await session.exec("class Mine(Exception): pass\nraise Mine('why')");
      assert(result.status === "error");
      assertEquals([result.error.type, result.error.message], ["Mine", "why"]);
    },
  }));

/**
 * Expects the output of an endless program before its end. Runs it with increasing timeouts, as on a busy machine the
 * output may take longer than the first one.
 */
async function assertSentBeforeEnd(session: Session, output: string, code: string): Promise<void> {
  let order = "";
  for (let timeoutMs = 400; order !== output && timeoutMs < 10_000; timeoutMs *= 2) {
    const received = Promise.withResolvers<string>();
    let text = "";
    const running = session.exec(code, {
      timeoutMs,
      onOutput: (_, piece) => (text += piece) === output && received.resolve(text),
    });
    order = await Promise.race([received.promise, running.then(() => "the end")]);
    assertEquals((await running).status, "timeout");
  }
  assertEquals(order, output);
}

Deno.test("Session.exec() returns the printed output", (t) =>
  eachAfterRewind(t, {
    "by stream": async (session) => {
      const result = await session.exec(
        "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c', end='')",
      );
      assertEquals([result.stdout, result.stderr], ["a\nc", "b\n"]);
    },
    "before an exception": async (session) =>
      assertEquals((await session.exec("print('a')\n1/0")).stdout, "a\n"),
    "in the order in which it was written": async (session) => {
      const heard: string[] = [];
      const code =
        "import sys\nfor i in range(3):\n    print(i, flush=True)\n    print(i, file=sys.stderr, flush=True)";
      await session.exec(code, {
        onOutput: (stream, text) => heard.push(text.replace(/\d/, `${stream} $&`)),
      });
      assertEquals(heard.join(""), [0, 1, 2].map((n) => `stdout ${n}\nstderr ${n}\n`).join(""));
    },
    "and holds the program back until the caller has taken it": async (session) => {
      const released = Promise.withResolvers<void>();
      let taken = 0;
      const running = session.exec(
        "import time\nfor _ in range(40): print('x' * 25_000), time.sleep(0.005)",
        {
          onOutput: (_, text) => {
            taken += text.length;
            return released.promise;
          },
        },
      );
      for (let before = -1; before !== taken; await delay(100)) before = taken;
      const held = taken;
      released.resolve();
      const { status, stdout } = await running;
      assertEquals([held < 1_000_000, status, stdout.length, taken], [true, "ok", 1_000_040, 1_000_040]);
    },
    "and interrupts a program that is held back": async (session) => {
      const never = new Promise<void>(() => {});
      const result = await session.exec("while True: print('x' * 1_000)", {
        timeoutMs: 300,
        onOutput: () => never,
      });
      assertEquals([result.status, result.stateKept], ["timeout", true]);
      assertEquals((await session.exec("print(1)")).stdout, "1\n");
    },
    "while the program runs": (session) =>
      assertSentBeforeEnd(
        session,
        "now\n",
        "import time\nprint('now', flush=True)\nwhile True: time.sleep(0.01)",
      ),
    "while the program runs, also behind a pause": (session) => {
      const code = "import time\nprint('one')\ntime.sleep(0.1)\nprint('two', end='')\nwhile True: pass";
      return assertSentBeforeEnd(session, "one\ntwo", code);
    },
    "in any script": async (session) =>
      assertEquals((await session.exec("print('zażółć 🐎 \\0')")).stdout, "zażółć 🐎 \0\n"),
    "of warnings, without making a failure of them": async (session) => {
      const result = await session.exec("import warnings\nwarnings.warn('careful')\nx = '\\d'\n1");
      assertEquals(value(result), "1");
      assertStringIncludes(result.stderr, "UserWarning: careful");
    },
    "after the program has replaced and restored stdout": async (session) => {
      const result = await session.exec(
        "import io, sys\nkeep = sys.stdout\nsys.stdout = io.StringIO()\nprint('lost')\nsys.stdout = keep\nprint('kept')",
      );
      assertEquals(result.stdout, "kept\n");
    },
  }));

Deno.test("Session.exec() sends many short lines in a few pieces", async () => {
  await withSession(async (session) => {
    const lines = 100_000;
    let pieces = 0;
    const options = { timeoutMs: HANG_MS, onOutput: () => pieces++ };
    value(await session.exec(`for i in range(${lines}): print(i)`, options));
    assert(pieces < lines / 10, `${pieces} pieces`);
  });
});

Deno.test("Session.exec() returns the exit code of sys.exit()", (t) => {
  const cases: [string, string, number?, string?][] = [
    ["sys.exit()", "ok"],
    ["sys.exit(0)", "ok"],
    ["sys.exit(None)", "ok"],
    ["sys.exit(3)", "exited", 3],
    ["sys.exit(True)", "exited", 1],
    ["sys.exit('why')", "exited", 1, "why\n"],
    ["raise SystemExit(4)", "exited", 4],
    ["exit(5)", "exited", 5],
    ["quit()", "ok"],
    ["import asyncio\nasync def f(): sys.exit(6)\nasyncio.run(f())", "exited", 6],
  ];
  return eachAfterRewind(
    t,
    Object.fromEntries(cases.map(([code, status, exitCode, stderr = ""]) => [
      JSON.stringify(code),
      async (session: Session) => {
        const result = await session.exec(`import sys\nkept = 1\n${code}`);
        assertEquals(result.status, status, JSON.stringify(result));
        assertEquals("exitCode" in result ? result.exitCode : undefined, exitCode);
        assertEquals(result.stderr, stderr);
        assertEquals(await valueOf(session, "kept"), "1");
      },
    ])),
  );
});

Deno.test("Session.exec() runs programs that use sys.maxsize as infinity", (t) =>
  eachAfterRewind(t, {
    "in sums that a 32-bit one would not bound": async (session) => {
      const code = "import sys\nbest = sys.maxsize\nfor cost in (5 * 10**12, 3 * 10**10):\n" +
        "    best = min(best, cost)\nbest, sys.maxsize";
      assertEquals(await valueOf(session, code), "(30000000000, 9223372036854775807)");
    },
    "and the library beside it": async (session) => {
      const code = "import pickle, re, random, shutil, inspect, itertools, collections\n" +
        "pickle.loads(pickle.dumps([10**30])), re.findall('a{2,}', 'aaa'), inspect.cleandoc('a\\n  b')";
      assertEquals(await valueOf(session, code), "([1000000000000000000000000000000], ['aaa'], 'a\\nb')");
    },
  }));

Deno.test("Session.exec() reads the given stdin", (t) =>
  eachAfterRewind(t, {
    "by input()": async (session) => {
      const result = await session.exec("a = input('? ')\nb = input()\na, b", { stdin: "one\ntwo" });
      assertEquals([value(result), result.stdout], ["('one', 'two')", "? "]);
    },
    "by sys.stdin": async (session) => {
      const code = "import sys\n[line.strip() for line in sys.stdin], sys.stdin.read()";
      assertEquals(value(await session.exec(code, { stdin: "a\nż\n" })), "(['a', 'ż'], '')");
    },
    "by descriptor 0, and by its device": async (session) => {
      const stdin = "1 2\r\n" + "3".repeat(100_000);
      const read = "len(os.read(0, 4)), open('/dev/stdin', 'rb', 0).read(1), len(open(0).read())";
      assertEquals(value(await session.exec(`import os\n${read}`, { stdin })), "(4, b'1', 100001)");
      const lines = "import sys\nsys.stdin.fileno(), sys.stdin.buffer.readline(), sys.stdin.read()";
      assertEquals(value(await session.exec(lines, { stdin: "a\r\nb\rc" })), "(0, b'a\\r\\n', 'b\\rc')");
      assertEquals(await valueOf(session, "os.read(0, 9)"), "b''");
    },
    "whatever the program before did to descriptor 0": async (session) => {
      await session.exec("import os\nos.dup2(os.open('f', os.O_CREAT), 0)");
      assertEquals(await valueOf(session, "1"), "1");
      await session.exec("os.close(0)");
      assertEquals(value(await session.exec("input()", { stdin: "a" })), "'a'");
      assertEquals(
        traceback(await session.exec("os.write(0, b'x')")).split("\n").at(-2)?.slice(0, 7),
        "OSError",
      );
    },
    "with unpaired surrogates, which Python reads as bytes": async (session) => {
      const result = await session.exec("import sys\nsys.stdin.buffer.read()", { stdin: "a\ud800😀\udfff" });
      assertEquals(value(result), String.raw`b'a\xed\xa0\x80\xf0\x9f\x98\x80\xed\xbf\xbf'`);
    },
    "and raises EOFError at its end": async (session) => {
      const result = await session.exec("input()\ninput()", { stdin: "one" });
      assertEquals(traceback(result).split("\n").at(-2), "EOFError: EOF when reading a line");
    },
    "and raises EOFError without it, also after an exec that had some": async (session) => {
      await session.exec("1", { stdin: "left over" });
      assertEquals(
        traceback(await session.exec("input()")).split("\n").at(-2),
        "EOFError: EOF when reading a line",
      );
    },
  }));

/** Blocks of one line, and what Python's interactive mode shows: the value, or the error's last line. */
const LINES: [string, string | undefined][] = [
  ["1+1", "2"],
  [" 1+1", "IndentationError: unexpected indent"],
  ["(\t1)", "1"],
  ["1;", "1"],
  ["*[1], 2", "(1, 2)"],
  ["'a' 'b'", "'ab'"],
  ["x = 5", undefined],
  ["x", "5"],
  ["del x", undefined],
  ["x", "NameError: name 'x' is not defined"],
  ["(y := 3)", "3"],
  ["dict(a=1)", "{'a': 1}"],
  ["not 1", "False"],
  ["lambda: 1 +", "SyntaxError: invalid syntax"],
  ["1 if", "SyntaxError: invalid syntax"],
  ["# a comment", undefined],
  ["", undefined],
  ["1 # a comment", "1"],
  [
    "await asyncio.sleep(0, 4)",
    "NameError: name 'asyncio' is not defined. Did you forget to import 'asyncio'?",
  ],
  ["__import__('asyncio').run(__import__('asyncio').sleep(0, 4))", "4"],
  ["(yield)", "SyntaxError: 'yield' outside function"],
  ["pass", undefined],
];

Deno.test("Session.exec() returns the values and errors of single lines", () =>
  withSession(async (session) => {
    for (const [line, expected] of LINES) {
      const result = await session.exec(line);
      const found = result.status === "ok" ? result.value : traceback(result).trimEnd().split("\n").at(-1);
      assertEquals([line, found], [line, expected]);
    }
    const warned = await session.exec("1if 1else 2");
    assertEquals(warned.stderr.match(/SyntaxWarning/g)?.length, 2); // one for each number, as in python
  }));

Deno.test("Session.exec() runs asynchronous code", (t) =>
  eachAfterRewind(t, {
    "with await at the top level": async (session) =>
      assertEquals(await valueOf(session, "import asyncio\nawait asyncio.sleep(0.01, 'slept')"), "'slept'"),
    "with async for and async with": async (session) => {
      const code = "async def g():\n    yield 1\n    yield 2\nfound = [x async for x in g()]\nfound";
      assertEquals(await valueOf(session, code), "[1, 2]");
    },
    "by asyncio.run": async (session) =>
      assertEquals(
        await valueOf(
          session,
          "import asyncio\nasync def f(): return 5\nasyncio.run(f()) + asyncio.run(f())",
        ),
        "10",
      ),
    "in groups with a timeout": async (session) => {
      const code = `import asyncio
async def work(n):
    await asyncio.sleep(n / 1000)
    return n
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(work(n)) for n in (3, 1, 2)]
try:
    async with asyncio.timeout(0.01):
        await asyncio.sleep(60)
except TimeoutError:
    late = True
[task.result() for task in tasks], late`;
      assertEquals(await valueOf(session, code), "([3, 1, 2], True)");
    },
    "with tasks that go on in the next block": async (session) => {
      await session.exec(
        "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 'done'\nasync def main():\n    global t\n    t = asyncio.ensure_future(f())\nawait main()",
      );
      assertEquals(await valueOf(session, "await t"), "'done'");
    },
    "after a timeout in the middle of it": async (session) => {
      assertEquals(
        (await session.exec("import asyncio\nawait asyncio.sleep(60)", { timeoutMs: 50 })).status,
        "timeout",
      );
      assertEquals(await valueOf(session, "await asyncio.sleep(0, 'alive')"), "'alive'");
    },
  }));

Deno.test("Session.exec() drops output beyond the limit and lets the program continue", async () => {
  const profile = await loadProfile("python");
  const small = { ...profile, limits: { ...profile.limits, outputBytes: 1_000 } };
  await withSession(async (session) => {
    const cut = await session.exec("print('x' * 3000)\nprint('y')\n42");
    assertEquals([value(cut), cut.truncated, cut.stdout], ["42", true, "x".repeat(1_000)]);
    const long = await session.exec("'z' * 5000");
    assertEquals([value(long)?.length, long.truncated], [1_000, true]);
    const complete = await session.exec("print('z' * 999)");
    assertEquals([complete.truncated, complete.stdout.length], [false, 1_000]);
    const flood = await session.exec("n = 0\nwhile True:\n    print('x' * 100)\n    n += 1");
    assertEquals([flood.status, flood.stateKept, flood.truncated], ["output", true, true]);
    assertEquals(value(await session.exec("n < 2000")), "True");
  }, { profile: small });
});

Deno.test("Session.exec() refuses invalid arguments before anything starts", async () => {
  await withSession(async (session) => {
    const timeouts = [0, -1, NaN, Infinity];
    for (const timeoutMs of timeouts) {
      await assertRejects(
        () => session.exec("1", { timeoutMs }),
        RangeError,
        `Cannot exec as 'timeoutMs' must be > 0 and <= 86400000: current value is ${timeoutMs}`,
      );
    }
    await assertRejects(
      () => session.exec("#".repeat(50 * 1024 * 1024)),
      RangeError,
      "Cannot exec as code must have at most 10485760 characters: current value has 52428800",
    );
    await assertRejects(
      () => session.exec(5 as unknown as string),
      TypeError,
      "Cannot exec as code must be a string: current value is number",
    );
    for (const seed of [NaN, 0.5, Infinity, 2 ** 53]) {
      await assertRejects(
        () => session.reset({ seed }),
        RangeError,
        `Cannot seed session as 'seed' must be a safe integer: current value is ${seed}`,
      );
    }
    assertEquals(value(await session.exec("1")), "1");
  });
});

Deno.test("Session.exec() gives a program no more memory than 'memoryBytes', also in a heap that an earlier one enlarged", async () => {
  await withSession(async (session) => {
    const take = (mib: number, memoryBytes?: number) =>
      session.exec(`held = bytearray(${mib} << 20)\ndel held`, { memoryBytes });
    const limit = 96 << 20;
    assertEquals((await take(40, limit)).status, "ok");
    assertEquals((await take(80, limit)).status, "memory");
    assertEquals((await take(150)).status, "ok");
    await session.reset({ mode: "rewind" });
    assertEquals((await take(80, limit)).status, "memory");
    assertEquals((await take(40, limit)).status, "ok");
    await session.reset({ mode: "rewind" });
    assertEquals((await take(150)).status, "ok");
    assertEquals((await take(300, 2 ** 40)).status, "memory");
  }, { profile: await limited("python", { graceMs: 999 }) }); // a process whose heap no other test has enlarged
});

Deno.test("Session.exec() can be cancelled by its signal", async (t) => {
  await withSession(async (session) => {
    await session.exec("kept = 1");
    await t.step("before it starts", async () => {
      await assertRejects(
        () => session.exec("kept = 2", { signal: AbortSignal.abort(new Error("stop")) }),
        Error,
        "stop",
      );
    });
    await t.step("while it runs, and keeps the state", async () => {
      const controller = new AbortController();
      const running = session.exec("print('on', flush=True)\nwhile True: pass", {
        signal: controller.signal,
        onOutput: () => controller.abort(new Error("enough")),
      });
      await assertRejects(() => running, Error, "enough");
      assertEquals(value(await session.exec("kept")), "1");
    });
    await t.step("while it waits in the queue", async () => {
      const controller = new AbortController();
      const before = session.exec("import time\ntime.sleep(0.05)");
      const waiting = session.exec("kept = 3", { signal: controller.signal });
      controller.abort(new Error("changed my mind"));
      await assertRejects(() => waiting, Error, "changed my mind");
      await before;
      assertEquals(value(await session.exec("kept")), "1");
    });
  });
});

Deno.test("Session rejects all calls after it is disposed, and can be disposed twice", async () => {
  await withSession(async (session) => {
    await session[Symbol.asyncDispose]();
    await session[Symbol.asyncDispose]();
    await assertRejects(() => session.exec("1"), Error, "Cannot use session as it is disposed");
    await assertRejects(() => session.readFile("a"), Error, "Cannot use session as it is disposed");
    await assertRejects(() => session.reset(), Error, "Cannot use session as it is disposed");
  });
});
