import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { GraderError, SandboxError } from "../../../src/errors.ts";
import { History } from "../../../src/history.ts";
import { PythonFileError } from "../../../src/plugins/python/python_file.ts";
import { pythonGrader, type PythonGraderOptions } from "../../../src/plugins/python/python_grader.ts";
import type { Grader, Score } from "../../../src/rewards/grader.ts";
import { SandboxPool } from "../../../src/sandbox/pool.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import type { Task } from "../../../src/task.ts";
import { TempFolder } from "../../temp_folder.ts";

const profile = await loadProfile("python");

/** Files of a grader, with a pool for it. */
class Setup implements AsyncDisposable {
  readonly pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  readonly printed: string[] = [];

  private constructor(readonly folder: TempFolder) {}

  static async of(files: Readonly<Record<string, string>>): Promise<Setup> {
    return new Setup(await TempFolder.of(files));
  }

  async open(options: Partial<PythonGraderOptions> = {}, name = "g.py"): Promise<Grader> {
    const onPrint = (text: string) => void this.printed.push(text);
    return await pythonGrader(this.path(name), { pool: this.pool, onPrint, ...options });
  }

  path(name: string): string {
    return join(this.folder.path, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool[Symbol.asyncDispose]();
    await this.folder[Symbol.asyncDispose]();
  }
}

async function grade(grader: Grader, completion: string, rest: Partial<Task> = {}): Promise<Score> {
  const history = History.fromChats([
    { role: "user", content: "q" },
    { role: "assistant", content: completion, reasoning_content: "secret" },
  ]);
  return await grader.grade({ task: { id: "1", query: "q", ...rest }, history }) as Score;
}

async function messageOf(work: Promise<unknown>, kind: new (...args: never[]) => Error): Promise<string> {
  return (await assertRejects(() => work, kind)).message;
}

Deno.test("pythonGrader() passes what the parameters name and returns numbers, None and parts", async (t) => {
  await using setup = await Setup.of({
    "g.py": `
import json

def grade(completion: str, answer, task, messages, query, fields, level=3, *, bonus=None, **columns):
    if completion == "inputs":
        return {"score": 1, "reason": json.dumps([answer, task, messages, query, fields, level, bonus, sorted(columns)])}
    return eval(completion)
`,
  });
  const grader = await setup.open();
  assertEquals(grader.name, "g");
  await t.step("inputs", async () => {
    const { reason = "" } = await grade(grader, "inputs", { answer: "a", fields: { level: 1, other: 2 } });
    assertEquals(JSON.parse(reason), [
      "a",
      { id: "1", query: "q", answer: "a", fields: { level: 1, other: 2 } },
      [{ role: "user", content: "q" }, { role: "assistant", content: "inputs" }],
      "q",
      { level: 1, other: 2 },
      1,
      null,
      ["code_calls", "other"],
    ]);
  });
  await t.step("results", async () => {
    const results: Readonly<Record<string, unknown>> = {
      "1": { score: 1 },
      "True": { score: 1 },
      "-0.25": { score: -0.25 },
      "None": { score: null },
      "__import__('fractions').Fraction(1, 4)": { score: 0.25 },
      "{'score': 1, 'form': 0.5, 'length': None}": { score: 1, parts: { form: 0.5, length: null } },
      "{'score': None, 'reason': 'no answer'}": { score: null, reason: "no answer" },
    };
    for (const [code, score] of Object.entries(results)) assertEquals(await grade(grader, code), score, code);
  });
});

Deno.test("pythonGrader() takes type hints that the values have, and ignores those that it cannot evaluate", async () => {
  await using setup = await Setup.of({
    "g.py": `from typing import Any, Literal

def grade(
    completion: str,
    answer: str | int | None,
    query: list[dict[str, Any]],
    task: dict[str, Any],
    fields: "dict[str, object]",
    level: int,
    messages: "Unknown" = None,
) -> float: return level
`,
  });
  const grader = await setup.open();
  assertEquals(await grade(grader, "x", { answer: "1", fields: { level: 2 } }), { score: 2 });
});

Deno.test("pythonGrader() awaits an async grade()", async () => {
  await using setup = await Setup.of({
    "g.py": "import asyncio\nasync def grade(completion):\n    await asyncio.sleep(0)\n    return 0.5\n",
  });
  assertEquals(await grade(await setup.open(), "x"), { score: 0.5 });
});

Deno.test("pythonGrader() starts each grade from the state that the file had when it was loaded", async () => {
  await using setup = await Setup.of({
    "g.py": `
import random, builtins
seen = []
def grade(completion):
    seen.append(completion)
    left = len(seen) + len(getattr(builtins, "left", "")) + completion.count("late")
    builtins.left = "left"
    open("note.txt", "a").write("x")
    return {"score": left, "notes": len(open("note.txt").read()), "random": random.random()}
`,
  });
  const grader = await setup.open();
  const first = await grade(grader, "a");
  assertEquals([first.score, first.parts?.notes], [1, 1]);
  assertEquals(await grade(grader, "b"), first);
});

Deno.test("pythonGrader() names the file and the line of exceptions, and prints the traceback", async () => {
  await using setup = await Setup.of({
    "g.py": `import helper

def grade(completion, answer):
    print("grading", completion)
    return helper.compare(completion, answer)
`,
    "helper.py": "def compare(one, other):\n    return len(other) / len(one)\n",
  });
  const grader = await setup.open();
  assertEquals(await grade(grader, "ab", { answer: "a" }), { score: 0.5 });
  assertEquals(setup.printed.splice(0), ["grading ab\n"]);
  assertEquals(
    await messageOf(grade(grader, "", { answer: "a" }), GraderError),
    `Cannot call 'grade' of '${setup.path("g.py")}': ZeroDivisionError: division by zero (${
      setup.path("helper.py")
    }, line 2)`,
  );
  assertEquals(setup.printed.splice(0), [
    "grading \n",
    `Traceback (most recent call last):
  File "${setup.path("g.py")}", line 5, in grade
    return helper.compare(completion, answer)
           ~~~~~~~~~~~~~~^^^^^^^^^^^^^^^^^^^^
  File "${setup.path("helper.py")}", line 2, in compare
    return len(other) / len(one)
           ~~~~~~~~~~~^~~~~~~~~~
ZeroDivisionError: division by zero
`,
  ]);
});

Deno.test("pythonGrader() refuses wrong results with the line of grade()", async () => {
  await using setup = await Setup.of({ "g.py": "\ndef grade(completion):\n    return eval(completion)\n" });
  const grader = await setup.open();
  const returns =
    "grade() must return a number, None, or a dict with 'score' whose other values are numbers: it returned";
  const wrong: Readonly<Record<string, string>> = {
    "'good'": `${returns} 'good', a value of type str`,
    "[1]": `${returns} [1], a value of type list`,
    "float('nan')": `${returns} nan`,
    "1j": `${returns} 1j, a value of type complex`,
    "{'reward': 1}": "the dict that grade() returns must have 'score': it has 'reward'",
    "{'score': 1, 'form': 'x'}":
      "'form' of the dict that grade() returns must be a number or None: it is 'x', a value of type str",
    "{'score': float('inf')}": "'score' of the dict that grade() returns must be a number or None: it is inf",
  };
  for (const [code, message] of Object.entries(wrong)) {
    assertEquals(
      await messageOf(grade(grader, code), GraderError),
      `Cannot call 'grade' of '${setup.path("g.py")}': ${message} (${setup.path("g.py")}, line 2)`,
    );
  }
  assertStringIncludes(
    await messageOf(grade(grader, "exit(3)"), GraderError),
    `SystemExit: 3 (${setup.path("g.py")}, line 3)`,
  );
});

Deno.test("pythonGrader() ends a grade at its time limit, and the next grade runs", async () => {
  await using setup = await Setup.of({
    "g.py":
      "import re\ndef grade(completion):\n    re.match('(a*)*b', 'a' * 40 if completion == 'loop' else 'a')\n    return 1\n",
  });
  const grader = await setup.open({ timeoutMs: 300 });
  assertMatch(
    await messageOf(grade(grader, "loop"), GraderError),
    /^Cannot call 'grade' of '.*g\.py': it took more than its time limit: .* \(.*g\.py, line 3\)$/,
  );
  const [head, first] = setup.printed.join("").split("\n");
  assertEquals(head, "Traceback (most recent call last):");
  assertStringIncludes(first ?? "", `  File "${setup.path("g.py")}", line`);
  assertEquals(await grade(grader, "x"), { score: 1 });
});

Deno.test("pythonGrader() refuses a parameter that no value has, with the columns of the task", async () => {
  await using setup = await Setup.of({ "g.py": "def grade(completion, unit_tests): return 1\n" });
  const grader = await setup.open();
  assertStringIncludes(
    await messageOf(grade(grader, "x", { fields: { tests: [1], level: 2 } }), GraderError),
    "the parameter 'unit_tests' of grade() must be one of completion, answer, task, messages, query, fields, code_calls, " +
      `or a column of the task: 'tests', 'level' (${setup.path("g.py")}, line 1)`,
  );
});

Deno.test("pythonGrader() does not start with a file that breaks the contract", async () => {
  const wrong: Readonly<Record<string, readonly [message: string, line: number | undefined]>> = {
    "def score(x): return 1": [
      "it must define a function 'grade', as in 'def grade(completion, answer) -> float': found score()",
      undefined,
    ],
    "grade = 1": ["'grade' must be a function", undefined],
    "\ndef grade(*args): return 1": ["its parameters must have names: found '*args'", 2],
    "x = 1\ny = 1 / 0": ["ZeroDivisionError: division by zero", 2],
    "def grade(:": ["SyntaxError: invalid syntax (", 1],
    "def grade(completion, answer: int): return 1": [
      "the parameter 'answer' of grade() is always of type str: its type hint is 'int'; write 'answer: str' and " +
      "convert it, as in float(answer)",
      1,
    ],
    "def grade(completion: list[str] | None): return 1": ["its type hint is 'list[str] | None'; write", 1],
    "def grade(task: str): return 1": ["the parameter 'task' of grade() is always of type dict", 1],
    "import numppy\ndef grade(completion): return 1": ["ModuleNotFoundError: No module named 'numppy'", 1],
  };
  const cases = Object.entries(wrong).map(([text, expected], index) => ({
    name: `g${index}.py`,
    text,
    expected,
  }));
  await using setup = await Setup.of(Object.fromEntries(cases.map(({ name, text }) => [name, text])));
  for (const { name, expected: [message, line] } of cases) {
    const error = await assertRejects(() => setup.open({}, name), SandboxError);
    assertStringIncludes(
      error.message,
      `Cannot start grader file '${setup.path(name)}': ${message}`.slice(0, 40),
    );
    assertStringIncludes(error.message, message);
    assertEquals(error.cause instanceof PythonFileError, true);
    if (line !== undefined) assertStringIncludes(error.message, `${name}, line ${line})`);
  }
});

Deno.test("pythonGrader() imports files and folders beside the file", async () => {
  await using setup = await Setup.of({
    "g.py":
      "from parts import text\nimport json\ndef grade(completion):\n    from late import two\n    return text.one() + two\n",
    "parts/__init__.py": "",
    "parts/text.py": "from . import numbers\ndef one(): return numbers.ONE\n",
    "parts/numbers.py": "ONE = 1\n",
    "late.py": "two = 2\n",
    "never.py": "raise SystemExit",
  });
  assertEquals(await grade(await setup.open(), "x"), { score: 3 });
});
