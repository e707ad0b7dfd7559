import { assertEquals, assertRejects } from "@std/assert";
import { loadProfile, SandboxPool, type SessionPool } from "../../../mod.ts";
import type { ExecOptions } from "../../../src/sandbox/contract/exec.ts";
import type { PythonSession } from "../../../src/sandbox/contract/pool.ts";
import { ArgumentTypeError } from "../../../src/errors.ts";
import { History } from "../../../src/history.ts";
import { type Grader, type Score, toScore } from "../../../src/rewards/grader.ts";
import { checkHiddenTests, hiddenTests } from "../../../src/rewards/hidden_tests.ts";
import { testProfile } from "../../../src/rewards/registry.ts";

/** A program, the tests that judge it, and its score: `null` if the tests reach a limit. */
interface JudgedProgram {
  /** The kind of the case, a slash, and its name. */
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly program: string;
  readonly score: number | null;
}

const text = await Deno.readTextFile(new URL("verdicts.jsonl", import.meta.url));
const programs: JudgedProgram[] = text.trim().split("\n").map((line) => JSON.parse(line));

async function score(grader: Grader, program: string, fields: Record<string, unknown>): Promise<Score> {
  const history = History.fromChats([{ role: "assistant", content: `\`\`\`python\n${program}\n\`\`\`` }]);
  return toScore(await grader.grade({ task: { id: "t", query: "q", fields }, history }));
}

/** A pool whose sessions call `onExec` before each exec. */
function watchedPool(
  pool: SessionPool,
  onExec: (options: ExecOptions) => Promise<void> | void,
): SessionPool {
  return {
    async acquire(options) {
      const lease = await pool.acquire(options);
      const { session } = lease;
      const watched: PythonSession = {
        async exec(code, options = {}) {
          await onExec(options);
          return await session.exec(code, options);
        },
        shell: (command, options) => session.shell(command, options),
        writeFile: (path, contents) => session.writeFile(path, contents),
        readFile: (path) => session.readFile(path),
        reset: (options) => session.reset(options),
        [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
      };
      return { session: watched, [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose]() };
    },
  };
}

function countingPool(pool: SessionPool, counts: { execs: number }): SessionPool {
  return watchedPool(pool, () => {
    counts.execs++;
  });
}

/** A pool whose sessions begin each exec so many milliseconds late. */
function slowPool(pool: SessionPool, ms: number): SessionPool {
  return watchedPool(pool, () => new Promise((resolve) => setTimeout(resolve, ms)));
}

/** A pool like that of a client, whose sessions refuse `argv`. */
function poolWithoutArguments(pool: SessionPool): SessionPool {
  return watchedPool(pool, ({ argv }) => {
    if (argv !== undefined) throw new ArgumentTypeError("Cannot exec as 'argv' is not supported");
  });
}

/**
 * The kinds of the cases: `program` and `streams` read and write like contest code, `scored` try to have no score,
 * `limits` and `calls` are long or many, `names` have local names like those of the program, `compared` replace what
 * the tests compare with.
 */
Deno.test("hiddenTests() gives each program the score of its kind", async (t) => {
  await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1, resetMode: "rewind" });
  const profile = testProfile(await loadProfile("tools"));
  await using testPool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  const grader = hiddenTests({ pool, testPool, timeoutMs: 60_000 });
  for (const [kind, cases] of Map.groupBy(programs, ({ id }) => id.split("/", 1)[0] ?? "")) {
    await t.step(`${kind}: ${cases.length} programs`, async () => {
      const surprises: string[] = [];
      for (const { id, program, fields, score: expected } of cases) {
        const { score: found, reason } = await score(grader, program, fields).catch(toFailure);
        const isExpected = found === expected && (found === null) === (reason !== undefined);
        if (!isExpected) surprises.push(`${id}: ${found} ${reason}`);
      }
      assertEquals(surprises, []);
    });
  }
  await t.step("output may be as long as a profile allows", async () => {
    const expect = (output: string) => ({ tests: [{ input: "", output }] });
    const print = (length: number) => `print('1' * ${length})`;
    const long = "1".repeat(900_000);
    assertEquals((await score(grader, print(900_000), expect(long))).score, 1);
    assertEquals((await score(grader, print(900_001), expect(long))).score, 0);
    assertEquals((await score(grader, print(9_000_000), expect(long))).score, 0);
    const limit = "must have at most 1048576 bytes ('outputBytes' of the profile): it has 1500000";
    assertEquals(await score(grader, print(1), expect("1".repeat(1_500_000))), {
      score: null,
      reason: `the expected output of test 1 ${limit}`,
    });
  });
  await t.step("calls cross in batches, in each form that a test may have", async () => {
    const lines = Array.from({ length: 2_000 }, (_, i) => `assert f(${i}) == ${i * 2}`).join("\n");
    const loop = "i, out = 0, []\nwhile i < 5000:\n    out.append(f(i))\n    i += 1";
    const count = "i = 0\nwhile i < 5000:\n    found = f(i)\n    assert found == i * 2\n    i += 1";
    const check = "def check(g, i):\n    assert g(i) == i * 2\nfor i in range(5000):\n    check(f, i)";
    const object = "s = Solution()\nfor i in range(2500):\n    s.push(i)\n    assert s.size == i + 1";
    const tests = [
      "for i in range(5000): assert f(i) == i * 2",
      lines,
      `${loop}\nassert out == [2 * i for i in range(5000)]`,
      count,
      check,
      object,
      "s = Solution()\nfor i in range(5000): assert s.f(i) == i * 2",
      "s = Solution()\nassert [s.f(i) for i in range(5000)] == [2 * i for i in range(5000)]",
      "for i in range(5000): assert Solution().f(i) == i * 2",
      "assert all(Solution().f(i) == i * 2 for i in range(5000))",
    ];
    const program = "def f(n): return n * 2\nclass Solution:\n    size = 0\n    f = lambda self, n: f(n)\n" +
      "    def push(self, n): self.size += 1";
    for (const test of tests) {
      const counts = { execs: 0 };
      const counting = hiddenTests({ pool: countingPool(pool, counts), testPool, timeoutMs: 60_000 });
      assertEquals((await score(counting, program, { tests: [test] })).score, 1, test.slice(0, 80));
      assertEquals(counts.execs < 40, true, `${counts.execs} execs of ${test.slice(0, 80)}`);
    }
  });
  await t.step("the way of calls between the sessions is no time of the test", async () => {
    // The limit of the test is 11 s, and 300 calls wait for 12 s.
    const slow = hiddenTests({ pool: slowPool(pool, 40), testPool, timeoutMs: 3_000 });
    const chain = "x = 0\nwhile x < 300:\n    x = f(x)\nassert x == 300";
    assertEquals((await score(slow, "def f(n): return n + 1", { tests: [chain] })).score, 1);
  });
  await t.step("sessions that take no arguments run programs all the same", async () => {
    const remote = hiddenTests({ pool: poolWithoutArguments(pool), testPool });
    const program = "import os, sys\nassert sys.argv == ['main.py']\nprint(int(os.read(0, 9)) * 2)";
    const tests = [{ input: "1", output: "2" }, { input: "21", output: "42" }];
    assertEquals((await score(remote, program, { tests })).score, 1);
    assertEquals((await score(remote, "print(2)\nseen = 1", { tests })).parts, { tests_passed: 0.5 });
  });
  await t.step("a wrong program is found at its first call", async () => {
    const counts = { execs: 0 };
    const counting = hiddenTests({ pool: countingPool(pool, counts), testPool });
    const program = "n = 0\ndef f(i):\n    global n\n    n += 1\n    return n if i < 0 else 0";
    const tests = ["for i in range(1, 300): assert f(i) == i", "assert f(-1) == 2"];
    assertEquals(await score(counting, program, { tests }), { score: 0, parts: { tests_passed: 0.5 } });
  });
  await t.step("functional tests of LiveCodeBench call the function with arguments as JSON", async () => {
    const fields = {
      tests: [
        { input: "[1, 2]\n3", output: "[1, 2, 3]", testtype: "functional" },
        { input: '["a"]\n"\\u00e9"', output: '["a", "\\u00e9"]', testtype: "functional" },
        { input: "[]\n12345678901234567890", output: "[12345678901234567890]", testtype: "functional" },
      ],
      metadata: '{"func_name": "extend"}',
    };
    const method = (body: string) =>
      `class Solution:\n    def extend(self, items: List[int], item: Optional[int]) -> List[int]:\n        ${body}`;
    const cases = [
      [method("return items + [item]"), 1],
      [method("return tuple(items) + (item,)"), 1],
      [method("return deque(items + [item])"), 0],
      [method("return list(deque(items + [item]))"), 1],
      [method("return items"), 0],
      [method("return items + [float(item)] if item != '\\u00e9' else items + [item]"), 0],
      [method("raise KeyError(item)"), 0],
      ["def extend(items, item): return items + [item]", 0],
      [`${method("return items + [item]")}\ndef paddock_is_result(*_): return True`, 1],
      [`${method("return items")}\ndef paddock_is_result(*_): return True`, 0],
      [`${method("return items")}\njson = None`, 0],
    ] as const;
    for (const [program, expected] of cases) {
      assertEquals((await score(grader, program, fields)).score, expected, program);
    }
    const plain = { ...fields, starter_code: "def extend(items, item):" };
    assertEquals((await score(grader, "def extend(items, item): return items + [item]", plain)).score, 1);
    const mixed = { ...fields, tests: [...fields.tests, { input: "4", output: "4", testtype: "stdin" }] };
    const program = `${method("return items + [item]")}\nif __name__ == '__main__': print(input())`;
    assertEquals((await score(grader, program, mixed)).score, 1);
  });
  await t.step("no output of a program makes its checker broken", async () => {
    const checkers = [
      "import sys\nsys.exit(3 if 'x' in open(sys.argv[2]).read() else 0)",
      "import sys\nsys.exit(3)",
      "def check(input, output, answer):\n    return eval(output) == eval(answer)",
      "def check(input, output, answer):\n    if 'x' in output: raise NameError('x')\n    return True",
      "def check(input, output, answer):\n    while 'x' in output: pass\n    return True",
    ];
    for (const checker of checkers) {
      for (const output of ["1", "1 +"]) {
        const fields = { tests: [{ input: "1", output }], checker };
        const quick = hiddenTests({ pool, testPool, timeoutMs: 1_000 });
        assertEquals((await score(quick, "print('x1')", fields)).score, 0, checker);
      }
    }
  });
  await t.step("an asynchronous checker is awaited", async () => {
    const checker = "async def check(input, output, answer):\n    return output == answer";
    const fields = { tests: [{ input: "1", output: "1\n" }], checker };
    assertEquals((await score(grader, "print(1)", fields)).score, 1);
    assertEquals((await score(grader, "print(2)", fields)).score, 0);
  });
  await t.step("a broken checker has no score, and is found without a program", async () => {
    const fields = {
      tests: [{ input: "1", output: "1" }],
      checker: "def check(input, output, answer):\n    return x",
    };
    await assertRejects(
      () => score(grader, "print(1)", fields),
      Error,
      "Cannot check output as the checker raised NameError: name 'x' is not defined",
    );
    await assertRejects(
      () => score(grader, "print(1)", { ...fields, checker: "def check(output):\n    return True" }),
      Error,
      "the checker raised CheckerSignatureError: check(input, output, answer): too many positional arguments",
    );
    const broken = { ...fields, checker: "def check(" };
    await assertRejects(() => score(grader, "print(1)", broken), Error, "the checker raised SyntaxError");
    const tasks = [{ id: "t", query: "q", fields: broken }];
    await assertRejects(
      () => checkHiddenTests(tasks, { pool: testPool }),
      Error,
      "the checker raised SyntaxError",
    );
  });
});

Deno.test("checkHiddenTests() returns the names that tests take from the program beside its entry point", async () => {
  await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 1, resetMode: "rewind" });
  const task = (id: string, test: string, fields = {}) => ({
    id,
    query: "q",
    fields: { tests: [test], ...fields },
  });
  const tasks = [
    task("one function", "assert f(1) == 2"),
    task("library", "assert math.isclose(f(1), 2) and Counter(f(2)) == Counter([1])"),
    task("a class and a function", "assert value(Node(3)) == 3"),
    task("given", "assert gcd(f(1), 2) == LIMIT.value", { entry_point: "f" }),
    task("imports", "assert isclose(f(1), 2)", { test_imports: ["from math import isclose"] }),
  ];
  assertEquals(await checkHiddenTests(tasks, { pool }), [
    { id: "a class and a function", names: ["value"] },
    { id: "given", names: ["LIMIT"] },
  ]);
});

function toFailure(error: unknown): Score {
  return { score: NaN, reason: String(error) };
}
