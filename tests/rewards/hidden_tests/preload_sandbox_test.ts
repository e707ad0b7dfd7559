import { assertEquals } from "@std/assert";
import { CANDIDATE_PRELOAD, HIDDEN_TESTS_PRELOAD } from "../../../mod/rewards.ts";
import { History } from "../../../src/history.ts";
import { hiddenTests } from "../../../src/rewards/hidden_tests.ts";
import { PackedTests } from "../../../src/rewards/hidden_tests/prepared_tests.ts";
import { readTestProblem } from "../../../src/rewards/hidden_tests/test_problem.ts";
import { Candidate, TestModules, TestRun } from "../../../src/rewards/hidden_tests/test_run.ts";
import { toScore } from "../../../src/rewards/grader.ts";
import { testProfile } from "../../../src/rewards/registry.ts";
import type { SessionPool } from "../../../src/sandbox/contract/pool.ts";
import { SandboxPool } from "../../../src/sandbox/pool.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";

/** Records what the sessions of a pool run. */
function watched(pool: SandboxPool, codes: string[]): SessionPool {
  return {
    limits: pool.limits,
    async acquire(options) {
      const lease = await pool.acquire(options);
      const exec = lease.session.exec.bind(lease.session);
      lease.session.exec = (code, options) => {
        codes.push(code);
        return exec(code, options);
      };
      return lease;
    },
  };
}

const ADD = "def add(a, b):\n    return a + b";
const SEEDED = "import random\ndef draw():\n    return random.random()";
const SUM = "print(sum(int(word) for word in input().split()))";
const INPUTS = [1, 2, 3, 4, 5].map((n) => ({ input: `${n} 1`, output: `${n + 1}\n` }));
const CHECKER =
  "import random\ndef check(input, output, answer):\n    random.seed(1)\n    return output == answer";

const CASES: readonly (readonly [program: string, fields: Record<string, unknown>, score: number])[] = [
  [ADD, { tests: ["assert add(1, 2) == 3", "assert add(1, 1) == 2"] }, 1],
  [ADD.replace("+", "-"), { tests: ["assert add(1, 2) == 3"] }, 0],
  [SEEDED, { tests: ["import random\nrandom.seed(7)\nassert draw() == random.Random(7).random()"] }, 1],
  [SUM, { tests: INPUTS }, 1],
  [SUM, { tests: INPUTS.slice(0, 1), checker: CHECKER }, 1],
  [ADD, { tests: ["assert add(1, 2) == 3"] }, 1],
];

const GUESS = "def guess(n):\n    return math.sqrt(n)";
/** Tasks whose tests use a prompt, names of the library, test cases, and a setup that needs the program. */
const PREPARED: readonly (readonly [right: string, wrong: string, fields: Record<string, unknown>])[] = [
  [
    ADD,
    ADD.replace("+", "-"),
    {
      prompt: "LIMIT = 3\ndef add(a, b):\n",
      test: "def check(f):\n    assert f(1, 2) == LIMIT",
      entry_point: "add",
    },
  ],
  [
    `import math\n${GUESS}`,
    GUESS,
    { tests: ["assert guess(4) == sqrt(4) and Counter([guess(4)]) == Counter([2.0])"] },
  ],
  [
    ADD,
    "def add(a, b):\n    return 3",
    {
      tests: [
        "import unittest\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(add(2, 2), 4)",
      ],
    },
  ],
  [ADD, "def add(a, b):\n    return 2", {
    test_setup_code: "three = add(1, 2)",
    test_list: ["assert three == 3"],
  }],
];

Deno.test("hiddenTests() prepares the tests of a task once, and scores alike", async () => {
  const profile = testProfile(await loadProfile("tools"));
  const settings = { size: 1, resetMode: "rewind" } as const;
  await using pool = new SandboxPool({ ...settings, profile: { ...profile, preload: CANDIDATE_PRELOAD } });
  await using testPool = new SandboxPool({
    ...settings,
    profile: { ...profile, preload: HIDDEN_TESTS_PRELOAD },
  });
  for (const [right, wrong, fields] of PREPARED) {
    const codes: string[] = [];
    const grader = hiddenTests({ pool, testPool: watched(testPool, codes) });
    const scores: unknown[] = [];
    for (const program of [right, wrong, right]) {
      const history = History.fromChats([{ role: "assistant", content: `\`\`\`python\n${program}\n\`\`\`` }]);
      scores.push(toScore(await grader.grade({ task: { id: "t", query: "q", fields }, history })).score);
    }
    const prepared = codes.flatMap((code) =>
      /paddock_hidden_tests"\)\.(prepare|run_packed)/.exec(code)?.[1] ?? []
    );
    assertEquals(scores, [1, 0, 1], right);
    assertEquals(prepared, ["prepare", "run_packed", "run_packed"]);
  }
});

Deno.test("TestRun prepares tests itself where another Python has packed them", async () => {
  const profile = testProfile(await loadProfile("tools"));
  await using pool = new SandboxPool({ profile, size: 2, resetMode: "rewind" });
  await using forTests = await pool.acquire();
  await using forProgram = await pool.acquire();
  const problem = readTestProblem({ id: "t", query: "q", fields: { tests: ["assert add(1, 2) == 3"] } });
  if (problem === null) throw new Error("the task has no tests");
  const packedTests = new PackedTests();
  const lookup = '["list", ["list", "add"], ["tuple"], ["dict"]]';
  packedTests.set(problem, { names: [], lookup, packed: "another version|" });
  const setting = { modules: new TestModules(), timeoutMs: 10_000 };
  const run = new TestRun(forTests.session, { ...setting, problem, packedTests });
  const candidate = new Candidate(forProgram.session, setting);

  const prepared = await run.prepare();
  await candidate.load(problem, { program: ADD, ...prepared });

  assertEquals(await run.runTest(0, candidate), { verdict: "passed" });
});

Deno.test("hiddenTests() sends no modules to sessions whose images have them, and scores alike", async () => {
  const [python, tools] = [await loadProfile("python"), testProfile(await loadProfile("tools"))];
  const settings = { size: 1, resetMode: "rewind" } as const;
  await using pool = new SandboxPool({ ...settings, profile: { ...python, preload: CANDIDATE_PRELOAD } });
  await using testPool = new SandboxPool({
    ...settings,
    profile: { ...tools, preload: HIDDEN_TESTS_PRELOAD },
  });
  const codes: string[] = [];
  const grader = hiddenTests({ pool: watched(pool, codes), testPool: watched(testPool, codes) });
  for (const [program, fields, expected] of CASES) {
    const history = History.fromChats([{ role: "assistant", content: `\`\`\`python\n${program}\n\`\`\`` }]);
    const task = { id: "t", query: "q", fields };
    const { score } = toScore(await grader.grade({ task, history }));
    assertEquals(score, expected, program);
  }
  assertEquals(codes.filter(({ length }) => length > 10_000), []);
  // the names of the tests are looked up with the load of the program
  assertEquals(codes.filter((code) => code.startsWith('__import__("paddock_candidate").call("name"')), []);
});
