import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { loadProfile, SandboxPool, type SessionPool } from "../../mod.ts";
import { History } from "../../src/history.ts";
import type { Score } from "../../src/rewards/grader.ts";
import { hiddenTests } from "../../src/rewards/hidden_tests.ts";
import { extractProgram } from "../../src/rewards/hidden_tests/candidate_program.ts";
import { isPlainData } from "../../src/sandbox/isolated/callee.ts";
import { bad, FakePool, ok } from "../fake_pool.ts";
import { limited } from "../sandbox/started.ts";
import { HANG_MS } from "../deadline.ts";

type Grade = (reply: string, fields: Record<string, unknown>) => Promise<Score | number | null>;

/** What the tests' session returns when it has prepared tests. */
const PREPARED = ok("", { value: '[[], "", ""]' });

function gradeWith(grader: ReturnType<typeof hiddenTests>): Grade {
  return async (content, fields) => {
    const history = History.fromChats([{ role: "assistant", content }]);
    return await grader.grade({ task: { id: "t", query: "q", fields }, history });
  };
}

function code(text: string): string {
  return `Here it is.\n\`\`\`python\n${text}\n\`\`\`\nIt should work.`;
}

/** A pool that records the use of its numbered sessions. */
function loggingPool(log: string[]): SessionPool {
  let last = 0;
  return {
    // deno-lint-ignore require-await
    async acquire() {
      const number = ++last;
      log.push(`acquire ${number}`);
      return {
        session: {
          exec(code) {
            const isOfTests = code.includes("paddock_hidden_tests");
            log.push(`${isOfTests ? "tests" : "program"} ${number}`);
            return Promise.resolve(isOfTests ? PREPARED : ok());
          },
          reset({ mode } = {}) {
            log.push(`${mode} ${number}`);
            return Promise.resolve();
          },
          writeFile: () => Promise.reject(new Error("no files here")),
          readFile: () => Promise.reject(new Error("no files here")),
          shell: () => Promise.reject(new Error("unused")),
          [Symbol.asyncDispose]: () => Promise.resolve(),
        },
        [Symbol.asyncDispose]() {
          log.push(`back ${number}`);
          return Promise.resolve();
        },
      };
    },
  };
}

function passed(share: number): Score {
  return { score: share === 1 ? 1 : 0, parts: { tests_passed: share } };
}

Deno.test("hiddenTests() runs a candidate against tests", async (t) => {
  await using pool = new SandboxPool({
    profile: await loadProfile("python"),
    size: 1,
    resetMode: "rewind",
  });
  await using testPool = new SandboxPool({
    profile: await limited("tools", { hostToolCalls: 20 }),
    size: 1,
    resetMode: "rewind",
  });
  const grade = gradeWith(hiddenTests({ pool, testPool }));
  const add = "def add(a, b):\n    return a + b";
  const tests = ["assert add(1, 2) == 3", "assert add('a', 'b') == 'ab'"];

  await t.step("requires all tests to pass", async () => {
    assertEquals(await grade(code(add), { tests }), passed(1));
    assertEquals(await grade(code(add), { entry_point: "add", tests }), passed(1));
    assertEquals(await grade(code(add), { tests: [...tests, "assert add(1, 1) == 3"] }), passed(2 / 3));
  });
  await t.step("runs MBPP tests with their setup", async () => {
    const fields = {
      prompt: "Write a function to add.",
      test_list: ["assert add(*PAIR) == 3"],
      test_setup_code: "PAIR = 1, 2",
    };
    assertEquals(await grade(code(add), fields), passed(1));
  });
  await t.step("lets tests expect an exception", async () => {
    const test =
      "try:\n    add(1, 'x')\nexcept TypeError as error:\n    assert 'unsupported' in str(error)\nelse:\n    assert False";
    assertEquals(await grade(code(add), { tests: [test] }), passed(1));
    assertEquals(await grade(code("def add(a, b):\n    return 0"), { tests: [test] }), passed(0));
  });
  await t.step("raises an exception of the candidate's own class as an exception", async () => {
    const own = "class Own(Exception):\n    pass\ndef add(a, b):\n    raise Own('mine')";
    const test =
      "try:\n    add(1, 2)\nexcept Exception as error:\n    assert type(error).__name__ == 'Own' and str(error) == 'mine'";
    assertEquals(await grade(code(own), { tests: [test] }), passed(1));
  });
  await t.step("raises an exception of a derived class as its built-in base class", async () => {
    const program = (base: string) =>
      `class Base(${base}):\n    pass\nclass Own(Base):\n    pass\ndef add(a, b):\n    raise Own('mine')`;
    const test = (kind: string) =>
      `try:\n    add(1, 2)\n    assert False\nexcept ${kind} as error:\n    assert str(error) == 'mine'`;
    assertEquals(
      await grade(code(program("ValueError")), { tests: [test("ValueError"), test("TypeError")] }),
      passed(1 / 2),
    );
    const mixed = `class ValueError(Exception):\n    pass\ndef add(a, b):\n    raise ValueError('mine')`;
    assertEquals(await grade(code(mixed), { tests: [test("ValueError")] }), passed(0));
    assertEquals(
      await grade(code(program("RuntimeError, OSError")), { tests: [test("RuntimeError"), test("OSError")] }),
      passed(1 / 2),
    );
  });
  await t.step("fails a test whose call exits, even if the test catches that", async () => {
    const test = "try:\n    add(1, 2)\nexcept BaseException:\n    pass";
    assertEquals(
      await grade(code("import sys\ndef add(a, b):\n    sys.exit(0)"), { tests: [test] }),
      passed(0),
    );
  });
  await t.step("runs a program that continues the prompt", async () => {
    const prompt = 'import math\n\ndef area(r):\n    """The area of a circle."""\n';
    const fields = { prompt, entry_point: "area", test: "def check(f):\n    assert f(1) == math.pi\n" };
    assertEquals(await grade("    return math.pi * r ** 2", fields), passed(1));
    assertEquals(await grade("```python\n    return math.pi * r ** 2\n```", fields), passed(1));
    const square = `${code("def square(x):\n    return x * x")}\n${code("    return math.pi * square(r)")}`;
    assertEquals(await grade(square, fields), passed(1));
    assertEquals(await grade(code("def area(r):\n    return math.pi * r ** 2"), fields), passed(1));
  });
  await t.step("uses the query as prompt and supports tests that call check themselves", async () => {
    const query = 'def add(a, b):\n    """The sum."""\n';
    const fields = { entry_point: "add", test: "def check(f):\n    assert f(1, 2) == 3\n\ncheck(add)\n" };
    const score = async (content: string) => {
      const history = History.fromChats([{ role: "assistant", content }]);
      return await hiddenTests({ pool, testPool }).grade({ task: { id: "t", query, fields }, history });
    };
    assertEquals(await score("    return a + b"), passed(1));
    assertEquals(await score("    return a"), passed(0));
  });
  await t.step("lets tests define and import the other names that they call", async () => {
    const test =
      "from math import isclose as near\ndef twice(f):\n    return f(1, 2) + helper\nhelper = 1\nassert near(add(1, 2), 3)\nassert (lambda g: g(1, 1))(add) == 2";
    assertEquals(await grade(code(add), { tests: [test, "assert candidate(1, 1) == 2"] }), passed(1));
  });
  await t.step("tests a candidate named like a built-in if the tests call no other name", async () => {
    const tests = ["assert sum(10, 15) == 6", "assert sum(8, 12) == 7"];
    const divisors =
      "def sum(a, b):\n    s = 0\n    for n in range(1, min(a, b) + 1):\n        s += n * (a % n == b % n == 0)\n    return s";
    assertEquals(await grade(code(divisors), { tests }), passed(1));
    assertEquals(await grade(code("def sum(a, b):\n    return 6"), { tests }), passed(1 / 2));
    assertEquals(await grade(code("x = 1"), { tests: ["assert max(1, 2) == 2"] }), passed(0));
  });
  await t.step("never lets the candidate replace what the tests compare with", async () => {
    const program = "def add(a, b):\n    return []\ndef set(x):\n    return 1\ndef len(x):\n    return 1";
    const tests = ["assert set(add([1], [2])) == set([1, 2])", "assert len(add([1], [2])) == 2"];
    assertEquals(await grade(code(program), { tests }), passed(0));
  });
  await t.step("calls a method", async () => {
    const method = "class Solution:\n    def run(self, n: int = 1) -> int:\n        return n * 2";
    const fields = { entry_point: "Solution().run", test: "assert candidate(n=4) == 8" };
    assertEquals(await grade(code(method), fields), passed(1));
  });
  await t.step("takes the last block that defines the entry point", async () => {
    const reply = `${code("def add(a, b):\n    return 0")}\n${code(add)}\n${code("print(add(1, 2))")}`;
    assertEquals(await grade(reply, { entry_point: "add", tests }), passed(1));
  });
  await t.step("reads a block without a language but none of another language", async () => {
    const reply = `\`\`\`sh\npip list\n\`\`\`\n\`\`\`\n${add}\n\`\`\`\nSee \`\`\`x\`\`\`.`;
    assertEquals(await grade(reply, { entry_point: "add", tests }), passed(1));
    assertEquals(await grade(reply, { tests }), passed(1));
  });
  await t.step("reads a block without a language that a Python block uses", async () => {
    const reply = `\`\`\`\n${add}\n\`\`\`\nUse it:\n${code("print(add(1, 2))")}`;
    assertEquals(await grade(reply, { entry_point: "add", tests }), passed(1));
    assertEquals(await grade(reply, { tests }), passed(1));
    const both = `\`\`\`\ndef add(a, b):\n    return 0\n\`\`\`\n${code(add)}`;
    assertEquals(await grade(both, { entry_point: "add", tests }), passed(1));
  });
  await t.step("includes helpers from earlier blocks", async () => {
    const blocks = [
      "from operator import add as plus, mul",
      "def broken():\n    return plus(1, 2",
      "def helper(a, b):\n    return plus(a, b)",
      "def add(a, b):\n    return helper(a, b)",
      "print(add(1, 2))",
    ];
    const reply = blocks.map(code).join("\n");
    assertEquals(await grade(reply, { entry_point: "add", tests }), passed(1));
    assertEquals(await grade(reply, { tests }), passed(1));
    const again = `${code("def helper(a, b):\n    return 0")}\n${
      code("def helper(a, b):\n    return a + b\nadd = helper")
    }`;
    assertEquals(await grade(again, { entry_point: "add", tests }), passed(1));
  });
  await t.step("does not run the candidate's main program", async () => {
    const main = `${add}\nif __name__ == '__main__':\n    add(input(), 1)`;
    assertEquals(await grade(code(main), { tests }), passed(1));
  });
  await t.step("supports dataclasses and names of the standard library", async () => {
    const program =
      "from dataclasses import dataclass\nlist = str = None\n@dataclass\nclass P:\n    x: int\ndef add(a, b):\n    return (P(a).x + P(b).x)";
    assertEquals(await grade(code(program), { tests }), passed(1));
  });
  await t.step("transfers each type of plain data", async () => {
    const values = [
      "[0, -1, 10 ** 4000, True, None, 1.5, -0.0, 1e-320, float('inf'), 'a\\n\\ud800😀\"', b'\\x00\\xff']",
      "{(1, 'x'): [{1, 2}, frozenset({3})], None: {}, 2.5: set(), b'': ()}",
      "complex(1, -2)",
      "[range(3), range(9, -1, -2), bytearray(b'\\x00a'), deque([1, [2]]), deque()]",
      "[Fraction(-1, 3), Decimal('1.50'), Decimal('-Infinity'), Decimal('1E+400'), Decimal('-0')]",
      "[date(2020, 1, 3), datetime(2020, 1, 3, 4, 5, 6, 7), time(1, 2), timedelta(-1, 5, 7)]",
      "[datetime(2020, 1, 3, tzinfo=timezone(timedelta(hours=-3))), time(1, 2, 3, 4, tzinfo=timezone.utc)]",
    ];
    const test_setup_code =
      "from collections import deque\nfrom datetime import date, datetime, time, timedelta, timezone\nfrom decimal import Decimal\nfrom fractions import Fraction";
    const tests = values.map((value) =>
      `value = ${value}\nback = same(value)\nassert back == value and repr(back) == repr(value)`
    );
    const nan =
      "assert str(same(float('nan'))) == 'nan' and type(same(1)) is int and type(same(1.0)) is float";
    assertEquals(
      await grade(code("def same(value):\n    return value"), { tests: [...tests, nan], test_setup_code }),
      passed(1),
    );
    const views =
      "back = f({'a': 1, 'b': [2]})\nassert back[0] == {'a', 'b'} and list(back[1]) == [1, [2]]\nassert [*back[2]] == [('a', 1), ('b', [2])] and [type(v).__name__ for v in back] == ['dict_keys', 'dict_values', 'dict_items']";
    assertEquals(
      await grade(code("def f(d):\n    return [d.keys(), d.values(), d.items()]"), { tests: [views] }),
      passed(1),
    );
  });
  await t.step("compares values of subclasses as their base class", async () => {
    const program =
      "from collections import Counter, namedtuple\nimport enum\nPair = namedtuple('Pair', 'a b')\nE = enum.IntEnum('E', 'one')\ndef f():\n    return [Counter('aab'), Pair(1, 2), E.one]";
    const test = "assert f() == [{'a': 2, 'b': 1}, (1, 2), 1] and f()[2].name == 'one'";
    assertEquals(await grade(code(program), { tests: [test] }), passed(1));
  });
  await t.step("limits the depth of a result to that of an argument", async () => {
    const nest =
      "def nest(inner, times):\n    for _ in range(times):\n        inner = [inner]\n    return inner";
    const tests = ["assert nest(nest(1, 80), 0) == nest(1, 80)", "assert nest(nest(1, 80), 1)"];
    assertEquals(await grade(code(nest), { entry_point: "nest", tests }), passed(0.5));
  });
  await t.step("does not let the candidate change a test's arguments", async () => {
    const test = "items = [3, 1]\nassert f(items) == sorted(items)";
    assertEquals(
      await grade(code("def f(items):\n    items.clear()\n    return []"), { tests: [test] }),
      passed(0),
    );
  });
  await t.step("scores 0 for a reply without a program", async () => {
    assertEquals(await grade("", { tests }), passed(0));
    assertEquals(await grade("I cannot do this.", { tests }), passed(0));
    assertEquals(await grade(code("def add(a, b:"), { tests }), passed(0));
  });
  await t.step("stops a candidate at its time limit", async () => {
    const slow = "import time\ndef add(a, b):\n    time.sleep(60)";
    const quickly = gradeWith(hiddenTests({ pool, testPool, timeoutMs: 300 }));
    assertEquals(await quickly(code(slow), { tests }), passed(0));
  });
  await t.step("fails a test that calls the candidate without end", async () => {
    const never = code("def add(a, b):\n    return False");
    const loop = "n = 0\nwhile not add(n, 0):\n    n += 1";
    assertEquals(await grade(never, { tests: [loop, "assert not add(1, 2)"] }), passed(1 / 2));
    const nested =
      "value = 0\nfor _ in range(19):\n    value = [[[[[[add(value, [])]]]]]]\n    if value == 1:\n        break";
    assertEquals(await grade(code("def add(a, b):\n    return a"), { tests: [nested] }), passed(0));
  });
  await t.step(
    "has no score for a test that makes too many calls itself, even if it catches that",
    async () => {
      const test = "for n in range(30):\n    try:\n        add(n, n)\n    except Exception:\n        pass";
      const reason = "test 1: line 3 of test: the budget of 20 host tool calls in one block is used up";
      assertEquals(await grade(code(add), { tests: [test] }), { score: null, reason });
    },
  );
  await t.step("throws for broken tests", async () => {
    await assertRejects(
      () => grade(code(add), { tests: ["assert add("] }),
      Error,
      "Cannot prepare tests: Synt",
    );
    const setup = { tests, test_setup_code: "1 / 0" };
    await assertRejects(() => grade(code(add), setup), Error, "Cannot prepare tests: ZeroDivisionError");
    await assertRejects(() => grade(code(add), { tests: ["assert True"] }), Error, "found no call");
    await assertRejects(
      () => grade(code(add), { tests: ["assert add(object(), 1)"] }),
      Error,
      "Cannot run test 1: line 1 of test: a value of type 'object' is not plain data",
    );
  });
});

Deno.test("hiddenTests() takes both sessions from one pool", async (t) => {
  await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 2, resetMode: "rewind" });
  await t.step("parallel grades do not deadlock", async () => {
    const grade = gradeWith(hiddenTests({ pool }));
    const scores = await Promise.all(
      [1, 2, 3, 4].map((n) => grade(code(`def f():\n    return ${n}`), { tests: ["assert f() == 2"] })),
    );
    assertEquals(scores, [passed(0), passed(1), passed(0), passed(0)]);
  });
  await t.step("a test may call its candidate often with the default tools profile", async () => {
    const grade = gradeWith(hiddenTests({ pool, timeoutMs: 60_000 }));
    const tests = ["for n in range(300):\n    assert same(n) == n"];
    assertEquals(await grade(code("def same(n):\n    return n"), { tests }), passed(1));
  });
});

Deno.test("hiddenTests() runs tests in a new interpreter of a shared pool and releases it", async () => {
  const log: string[] = [];
  const shared = loggingPool(log);
  const fields = { tests: ["assert f()"] };
  await gradeWith(hiddenTests({ pool: shared }))(code("x = 1"), fields);
  assertEquals(log, [
    "acquire 1",
    "acquire 2",
    "fresh 2",
    "program 1", // looks for the modules in its image
    "tests 2",
    "tests 2", // compiles the modules
    "tests 2",
    "program 1",
    "fresh 2",
    "back 2",
    "back 1",
  ]);
  log.length = 0;
  const [pool, testPool] = [loggingPool(log), loggingPool(log)];
  await gradeWith(hiddenTests({ pool, testPool }))(code("x = 1"), fields);
  assertEquals(log.filter((entry) => entry.startsWith("fresh")), []);
});

Deno.test("hiddenTests() gives replies that are too large 0, and runs nothing", async () => {
  const pool = new FakePool();
  const grade = gradeWith(hiddenTests({ pool }));
  const right = code("def f():\n    return True");
  for (const tests of [["assert f()"], [{ input: "", output: "" }]]) {
    assertEquals(await grade(`${right}${"\n".repeat(262_145 - right.length)}`, { tests }), passed(0));
  }
  assertEquals(pool.ran, []);
});

Deno.test("hiddenTests() returns null for a task without tests", async () => {
  const grade = gradeWith(hiddenTests({ pool: new FakePool() }));
  const none = { score: null, reason: "the task has no tests" };
  assertEquals(await grade(code("x = 1"), { prompt: "def f():" }), none);
  assertEquals(await grade(code("x = 1"), {}), none);
});

Deno.test("hiddenTests() refuses invalid test fields", async () => {
  const pool = new FakePool();
  const grade = gradeWith(hiddenTests({ pool }));
  await assertRejects(
    () => grade("x", { tests: "assert f()" }),
    TypeError,
    "Cannot test task 't' as its fields are invalid: 'tests': ",
  );
  await assertRejects(() => grade("x", { test: "def check(f):\n    pass" }), TypeError, "'entry_point'");
  for (const entry_point of ["(a+)+", "", "9lives", "n".repeat(1_001)]) {
    const reply = `${"a".repeat(60)}!`;
    await assertRejects(
      () => grade(reply, { entry_point, tests: ["assert f(1)"] }),
      TypeError,
      "'entry_point'",
    );
  }
  assertEquals(pool.ran, []);
});

Deno.test("hiddenTests() refuses an invalid time limit and a pool with one session", () => {
  const pool = new FakePool();
  assertThrows(
    () => hiddenTests({ pool, timeoutMs: 0 }),
    RangeError,
    "Cannot grade by hidden tests as 'timeoutMs' must be > 0 and <= 3600000: current value is 0",
  );
  assertThrows(() => hiddenTests({ pool, timeoutMs: NaN }), RangeError, "current value is NaN");
  const small = Object.assign(new FakePool(), { size: 1 });
  assertThrows(() => hiddenTests({ pool: small }), RangeError, "it has 1");
});

Deno.test("hiddenTests() releases its sessions when a sandbox fails", async () => {
  const pool = new FakePool(() => Promise.reject(new Error("no sandbox")));
  const grade = gradeWith(hiddenTests({ pool }));
  await assertRejects(() => grade(code("x = 1"), { tests: ["assert f()"] }), Error, "no sandbox");
  assertEquals([pool.alive, pool.most], [0, 2]);
});

Deno.test("hiddenTests() never passes a test because of the candidate session's output", async () => {
  const says = ["1", "'loaded'", '{"value": 1}', '{"score": 1}', "null", "[]"];
  for (const value of says) {
    const pool = new FakePool((code) => code.includes("hidden_tests") ? PREPARED : ok("", { value }));
    assertEquals(await gradeWith(hiddenTests({ pool }))(code("x = 1"), { tests: ["assert f()"] }), passed(0));
  }
  const crashed = new FakePool((code) => code.includes("hidden_tests") ? PREPARED : bad("crashed"));
  assertEquals(
    await gradeWith(hiddenTests({ pool: crashed }))(code("x = 1"), { tests: ["assert f()"] }),
    passed(0),
  );
});

Deno.test("hiddenTests() stops when it is aborted", async () => {
  const grader = hiddenTests({ pool: new FakePool() });
  const task = { id: "t", query: "q", fields: { tests: ["assert f()"] } };
  const history = History.fromChats([{ role: "assistant", content: "x = 1" }]);
  const signal = AbortSignal.abort(new Error("enough"));
  await assertRejects(async () => await grader.grade({ task, history, signal }), Error, "enough");
});

Deno.test(
  { name: "candidateProgram() reads long lines in linear time", timeout: HANG_MS },
  () => {
    const problem = {
      prompt: "",
      entryPoint: "f",
      setup: "",
      codeTests: [],
      programTests: [],
      programOptions: { comparison: "lines" as const, checksExitCode: false },
    };
    const long = "a".repeat(1_000_000);
    for (
      const line of [
        `import ${long}.`,
        `import ${" ".repeat(1_000_000)}.`,
        `from ${long}(`,
        `import a${" ,".repeat(300_000)}`,
      ]
    ) {
      const reply = `${code(line)}\n${code("def f():\n    return 1")}`;
      assertEquals(extractProgram(reply, problem), "def f():\n    return 1");
    }
  },
);

Deno.test("isPlainData() is true for plain data only", () => {
  const plain = [
    null,
    true,
    "x",
    ["int", "-0x1f"],
    ["ints", "0x1 -0x2 0x0"],
    ["float", "-inf"],
    ["float", "0x1.8000000000000p+0"],
    ["complex", "nan", "0x0.0p+0"],
    ["bytes", "00ff"],
    ["dict", ["a", ["int", "0x1"]]],
    ["range", "0x0", "0x3", "-0x1"],
    ["Fraction", "0x1", "0x0"],
    ["Decimal", "-1.5E+30"],
    ["datetime", "2020-01-03T04:05:06.000007-03:00"],
    ["deque", ["date", "2020-01-03"], ["time", "01:02:03"]],
    ["dict_items", ["a", null]],
    ["list", null, ["tuple"], ["set"], ["frozenset", "a"]],
  ];
  for (const value of plain) assertEquals(isPlainData(value), true, JSON.stringify(value));
  const strange = [
    1,
    {},
    undefined,
    [],
    [1],
    ["eval", "1"],
    ["int", 1],
    ["int", "1"],
    ["ints", ""],
    ["ints", "0x1  0x2"],
    ["int"],
    ["float", "1e5"],
    ["float", "0x1.0p+0", "x"],
    ["bytes", "0"],
    ["dict", "ab"],
    ["range", "0x1"],
    ["Fraction", "1", "2"],
    ["Decimal", "__import__('os')"],
    ["date", "today"],
    ["dict_items", "ab"],
    ["dict", ["a"]],
    ["list", ["int", "six"]],
    ["__proto__"],
  ];
  for (const value of strange) assertEquals(isPlainData(value), false, JSON.stringify(value));
  let deep: unknown = null;
  for (let depth = 0; depth < 100_000; depth++) deep = ["list", deep];
  assertEquals(isPlainData(deep), false);
  const nested = (depth: number): unknown => depth === 0 ? null : ["dict", ["key", nested(depth - 1)]];
  assertEquals([isPlainData(nested(80)), isPlainData(nested(81))], [true, false]);
});

Deno.test("hiddenTests() takes sessions of the owner for whom it grades", async () => {
  const owners: unknown[] = [];
  const pool: SessionPool = {
    acquire({ owner } = {}) {
      owners.push(owner);
      return Promise.reject(new Error("enough"));
    },
  };
  const grader = hiddenTests({ pool, testPool: pool });
  const history = History.fromChats([{ role: "assistant", content: code("def f(): pass") }]);
  for (const tests of [["assert f() is None"], [{ input: "", output: "" }]]) {
    const context = { task: { id: "t", query: "q", fields: { tests } }, history, owner: "a" };
    await assertRejects(async () => await grader.grade(context), Error, "enough");
  }
  assertEquals(owners, ["a", "a"]);
});
