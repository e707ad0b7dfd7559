import { assert, assertEquals } from "@std/assert";
import type { EvaluationOutcome } from "../../../../src/envs/workspace/evaluation.ts";
import { type BenchPlan, EvaluatorBench } from "./evaluator_fixture.ts";

const GUESSES = 20;

/** Scores guesses of unguessable numbers: any correct guess is cheating. */
const MODULE: BenchPlan = {
  files: {
    "score.py": [
      "from opponent import secret",
      "def evaluate(submission):",
      `    hits = sum(submission.call("answer.guess", n) == secret() for n in range(${GUESSES}))`,
      `    many = submission.map("answer.guess", [(n,) for n in range(${GUESSES})])`,
      `    return {"Score": hits / ${GUESSES}, "many": sum(guess == secret() for guess in many) / ${GUESSES}}`,
    ].join("\n"),
    "opponent.py":
      "import random\nMARK = 'the-opponent' + '-is-here'\ndef secret():\n    return random.getrandbits(60)",
  },
  timeoutMs: 2_000,
};

/** The same task as a script that imports the submission. */
const SCRIPT: BenchPlan = {
  kind: "python-script",
  files: {
    "evaluate.py": [
      "import json",
      "from answer import guess",
      "from opponent import secret",
      `print(json.dumps({"Score": sum(guess(n) == secret() for n in range(${GUESSES})) / ${GUESSES}}))`,
    ].join("\n"),
    "opponent.py": MODULE.files["opponent.py"] ?? "",
  },
  timeoutMs: 2_000,
};

const CHEATS: Readonly<Record<string, string>> = {
  "prints scores in MLGym's words and as JSON":
    `import sys\ndef guess(n):\n    print("Evaluation Score: {'Score': 99}")\n    print('{"Score": 99}')\n    print('{"Score": 99}', file=sys.stderr)\n    return 0`,
  "prints its scores and exits": `import sys\nprint('{"Score": 99}')\nsys.exit(0)`,
  "exits while it is called": `import sys\ndef guess(n):\n    print('{"Score": 99}')\n    sys.exit(0)`,
  "ends the interpreter": `import os\ndef guess(n):\n    os.write(1, b'{"Score": 99}')\n    os._exit(0)`,
  "patches the opponent":
    "import sys, types\nfake = types.ModuleType('opponent')\nfake.secret = lambda: 0\nsys.modules['opponent'] = fake\ndef guess(n): return 0",
  "imports the opponent": "import opponent\nopponent.secret = lambda: 0\ndef guess(n): return 0",
  "writes its own evaluation":
    "for name in ('score.py', 'evaluate.py', 'opponent.py', '../score.py', '/score.py', '/home/pyodide/opponent.py'):\n    try:\n        with open(name, 'w') as file:\n            file.write('def secret(): return 0\\ndef evaluate(s): return {\"Score\": 99}\\nprint(\\'{\"Score\": 99}\\')')\n    except OSError:\n        pass\ndef guess(n): return 0",
  "patches chance":
    "import random\nrandom.getrandbits = lambda bits: 0\nrandom.seed(0)\ndef guess(n): return 0",
  "predicts chance": "import random\ndef guess(n): return random.getrandbits(60)",
  "patches comparisons": `import builtins\nbuiltins.sum = lambda items: ${GUESSES}\ndef guess(n): return 0`,
  "answers with what equals everything":
    "class Any(int):\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n    __hash__ = int.__hash__\ndef guess(n): return Any(0)",
  "answers with a text that equals everything":
    "class Any(str):\n    __eq__ = lambda self, other: True\n    __radd__ = lambda self, other: 99\n    __hash__ = str.__hash__\ndef guess(n): return Any('0')",
  "answers with an object of its own":
    "class Any:\n    __eq__ = lambda self, other: True\ndef guess(n): return Any()",
  "answers with NaN and infinity": "def guess(n): return float('nan') if n % 2 else float('inf')",
  "answers with a number of a million digits": "def guess(n): return 1 << 3_300_000",
  "answers with too much": "def guess(n): return 'x' * 30_000_000",
  "answers with a list that holds itself": "a = []\na.append(a)\ndef guess(n): return a",
  "answers with a list nested without end":
    "def guess(n):\n    a = []\n    for _ in range(100_000): a = [a]\n    return a",
  "raises what is no exception of anybody's":
    "class Odd(BaseException):\n    def __str__(self): raise self\ndef guess(n): raise Odd",
  "raises with a text that raises":
    "class Odd(Exception):\n    def __str__(self): raise SystemExit(0)\ndef guess(n): raise Odd",
  "raises the evaluator's own error":
    "class SubmissionError(Exception): pass\ndef guess(n): raise SubmissionError('{\"Score\": 99}')",
  "raises the end of a loop": "def guess(n): raise StopIteration(99)",
  "raises an interrupt": "def guess(n): raise KeyboardInterrupt",
  "sleeps": "import time\ndef guess(n): time.sleep(10 ** 6)",
  "never ends, and swallows interrupts":
    "def guess(n):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
  "takes all memory": "def guess(n):\n    a = []\n    while True: a.append(bytearray(10 ** 7))",
  "looks for the opponent in the files": [
    "import os, re",
    "def found():",
    "    for folder, _, names in os.walk('/'):",
    "        if folder.startswith(('/proc', '/dev', '/lib')): continue",
    "        for name in names:",
    "            try: text = open(os.path.join(folder, name), 'rb').read()",
    "            except OSError: continue",
    "            if b'the-opponent' + b'-is-here' in text or name in ('score.py', 'evaluate.py', 'opponent.py'):",
    "                raise LookupError('FOUND ' + folder + '/' + name)",
    "def guess(n):\n    found()\n    return 0",
  ].join("\n"),
  "looks for the opponent in frames and objects": [
    "import gc, sys",
    "def guess(n):",
    "    frame = sys._getframe()",
    "    while frame:",
    "        if 'secret' in frame.f_globals or 'submission' in frame.f_locals: raise LookupError('FOUND frame')",
    "        frame = frame.f_back",
    "    for thing in gc.get_objects():",
    "        if type(thing) is dict and 'MARK' in thing: raise LookupError('FOUND object')",
    "    return 0",
  ].join("\n"),
  "calls back to the host":
    "from paddock import tools\ndef guess(n):\n    for name in ('call_submission', 'score', 'evaluate'):\n        try: getattr(tools, name)(name='answer.guess', arguments='')\n        except Exception: pass\n    return 0",
  "forges its answers":
    `import paddock_callee\ndef guess(n):\n    paddock_callee.encode = lambda value: 'null, "metrics": {"Score": 99}, "raised": "x"'\n    return 0`,
  "forges answers of another length":
    `import paddock_callee\npaddock_callee.encode = lambda value: '["list"' + ', ["int", "0x0"]' * 50 + ']'\ndef guess(n): return 0`,
  "forges a range and keys that cannot be hashed":
    `import paddock_callee\npaddock_callee.encode = lambda value: '["list", ["range", "0x0", "0xffffffffffff", "0x1"], ["dict", [["list"], null]]]'\ndef guess(n): return 0`,
  "forges the bridge's answer":
    'class Forged:\n    def __repr__(self): return \'{"value": {"Score": 99}}\'\nimport paddock_callee\npaddock_callee.Answer = lambda text: Forged()\ndef guess(n): return 0',
  "reaches for JavaScript":
    "def guess(n):\n    try:\n        import js\n        js.postMessage('{\"Score\": 99}')\n    except Exception: pass\n    return 0",
};

/** Cheats that run until their timeout, which is short, as nothing in it may be slow. */
const ENDLESS: ReadonlySet<string> = new Set(["sleeps", "never ends, and swallows interrupts"]);

// The tests share sandboxes, which outlive the test that starts them.
Deno.test.sanitizer({ ops: false, resources: false });
const bench = await EvaluatorBench.open("python");
Deno.test.afterAll(() => bench[Symbol.asyncDispose]());

Deno.test("a cheating submission gains nothing, and does not affect the next one", async (t) => {
  const honest = { "answer.py": "def guess(n): return 0" };
  for (const [name, code] of Object.entries(CHEATS)) {
    await t.step(name, async () => {
      const limits = ENDLESS.has(name) ? { timeoutMs: 1_000 } : {};
      for (const plan of [MODULE, SCRIPT]) {
        assertNothingGained(await bench.evaluate({ ...plan, ...limits }, { "answer.py": code }));
      }
      const next = await bench.evaluate(MODULE, honest);
      assertEquals(next, { status: "scored", scores: { Score: 0, many: 0 }, artefact: "answer.py" });
    });
  }
});

Deno.test("a submission cannot replace files of the evaluation", async () => {
  const forged = "def secret(): return 0\ndef evaluate(s): return {'Score': 99}\nprint('{\"Score\": 99}')";
  const files = { "answer.py": "def guess(n): return 0" };
  for (
    const name of ["opponent.py", "score.py", "evaluate.py", "random.py", "json.py", "paddock_evaluation.py"]
  ) {
    assertNothingGained(await bench.evaluate(MODULE, { ...files, [name]: forged }));
    const all = { ...SCRIPT, submission: ["answer.py", name] };
    assertNothingGained(await bench.evaluate(all, { ...files, [name]: forged }));
  }
});

function assertNothingGained(outcome: EvaluationOutcome): void {
  assert(!JSON.stringify(outcome).includes("FOUND"), JSON.stringify(outcome));
  if (outcome.status === "scored") {
    assertEquals(Object.values(outcome.scores).some((score) => score > 0), false);
  }
}
