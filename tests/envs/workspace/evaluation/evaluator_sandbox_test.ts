import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { parseScores, WorkspaceEvaluator } from "../../../../src/envs/workspace/evaluation/evaluator.ts";
import { selectSubmittedFiles } from "../../../../src/envs/workspace/evaluation/run.ts";
import { bad, FakePool, ok } from "../../../fake_pool.ts";
import { EvaluatorBench, submissionOf } from "./evaluator_fixture.ts";

/** A script whose metric is what a call of the submission gives. */
function scoring(expression: string): Record<string, string> {
  return {
    "score.py": `from paddock_evaluation import SubmissionError\n` +
      `def evaluate(submission):\n    return {"Score": ${expression}}\n`,
  };
}

Deno.test("WorkspaceEvaluator scores a submission by the results of its functions", async (t) => {
  await using bench = await EvaluatorBench.open();

  await t.step("one call at a time, with arguments as copies", async () => {
    const files = scoring(`submission.call("answer.f", [1, (2, 3)], {"a": 4.5}, scale=2)`);
    const code =
      "def f(items, more, scale):\n    items.append(0)\n    return (items[0] + sum(items[1]) + more['a']) * scale";
    assertEquals(await bench.evaluate({ files }, { "answer.py": code }), {
      status: "scored",
      scores: { Score: 21 },
      artefact: "answer.py",
    });
  });
  await t.step("many calls at once, in order", async () => {
    const files = scoring(
      `float(submission.map("answer.f", [(n, 1) for n in range(2500)]) == [n + 1 for n in range(2500)])`,
    );
    const outcome = await bench.evaluate({ files }, { "answer.py": "def f(a, b): return a + b" });
    assertEquals(outcome, { status: "scored", scores: { Score: 1 }, artefact: "answer.py" });
  });
  await t.step("keeps a submission's state between calls, but not between evaluations", async () => {
    const files = scoring(`[submission.call("answer.f") for _ in range(3)][-1]`);
    const code = "seen = []\ndef f():\n    seen.append(1)\n    return len(seen)";
    for (let round = 0; round < 2; round++) {
      const outcome = await bench.evaluate({ files }, { "answer.py": code });
      assertEquals(outcome, { status: "scored", scores: { Score: 3 }, artefact: "answer.py" });
    }
  });
  await t.step("of packages, and reports exceptions to the script", async () => {
    const script = [
      "from paddock_evaluation import SubmissionError",
      "def evaluate(submission):",
      "    try:",
      '        submission.call("pack.inner.f", 0)',
      "    except SubmissionError as error:",
      '        fault = error.kind == "ZeroDivisionError" and "division" in str(error)',
      '    return {"Score": submission.call("pack.g"), "raised": int(fault)}',
    ].join("\n");
    const plan = { files: { "score.py": script }, submission: ["pack/"] };
    const code = {
      "pack/__init__.py": "from pack.inner import f\ndef g(): return f(2)",
      "pack/inner.py": "def f(n): return 1 / n",
    };
    assertEquals(await bench.evaluate(plan, code), {
      status: "scored",
      scores: { Score: 0.5, raised: 1 },
      artefact: "pack/",
    });
  });
  await t.step("reads submitted files as data, and the files beside the script", async () => {
    const script = [
      "import helper",
      "from pathlib import Path",
      "def evaluate(submission):",
      '    expected = Path(__file__).with_name("expected.txt").read_text()',
      '    return {"hits": float(submission.read_text("out/a.txt") == expected), "files": len(submission.files()),',
      '            "bytes": len(submission.read("out/b.bin")), "helper": helper.VALUE}',
    ].join("\n");
    const files = { "score.py": script, "helper.py": "VALUE = 7", "expected.txt": "äöü" };
    const submission = { "out/a.txt": "äöü", "out/b.bin": "123", "not_asked_for.txt": "" };
    assertEquals(await bench.evaluate({ files, submission: ["out/"] }, submission), {
      status: "scored",
      scores: { hits: 1, files: 2, bytes: 3, helper: 7 },
      artefact: "out/",
    });
  });
  await t.step(
    "with the same randomness for the same seed, which the submission cannot predict",
    async () => {
      const files = {
        "score.py":
          'import random\ndef evaluate(s): return {"own": random.random(), "other": s.call("answer.f")}',
      };
      const code = { "answer.py": "import random\ndef f(): return random.random()" };
      const [first, again, other] = [
        await bench.evaluate({ files }, code, { seed: 5 }),
        await bench.evaluate({ files }, code, { seed: 5 }),
        await bench.evaluate({ files }, code),
      ];
      assertEquals(first, again);
      assert(first.status === "scored" && first.scores.own !== first.scores.other);
      assert(other.status === "scored" && other.scores.own !== first.scores.own);
    },
  );
});

Deno.test("WorkspaceEvaluator reports why there is no score", async (t) => {
  await using bench = await EvaluatorBench.open();
  const call = scoring(`submission.call("answer.f")`);

  await t.step("if nothing was submitted", async () => {
    assertEquals(await bench.evaluate({ files: call }, { "other.py": "" }), {
      status: "missing",
      message: "there is no 'answer.py'",
    });
  });
  await t.step("if a call raises, names a missing function, or does not return plain data", async () => {
    const failing = {
      "def f(): raise LookupError('gone')": "answer.f raised LookupError: gone",
      "def g(): return 1": "answer.f raised AttributeError: module 'answer' has no attribute 'f'",
      "def f(": "answer.f raised SyntaxError: '(' was never closed (answer.py, line 1)",
      "import no_such": "answer.f raised ModuleNotFoundError: No module named 'no_such'",
      "def f(): return object()":
        "answer.f raised PlainDataError: a value of type 'object' is not plain data",
    };
    for (const [code, message] of Object.entries(failing)) {
      assertEquals(await bench.evaluate({ files: call }, { "answer.py": code }), {
        status: "failed",
        message,
      });
    }
  });
  await t.step("if the script rejects a result", async () => {
    const files = { "score.py": "def evaluate(s): raise ValueError('a move must be 0 or 1')" };
    assertEquals(await bench.evaluate({ files }, { "answer.py": "" }), {
      status: "failed",
      message: "ValueError: a move must be 0 or 1",
    });
  });
  await t.step("if the metrics are invalid", async () => {
    for (
      const metrics of ["None", "{}", "[1]", "{'Score': 'high'}", "{'Score': float('nan')}", "{'Score': [1]}"]
    ) {
      const files = { "score.py": `def evaluate(s): return ${metrics}` };
      const outcome = await bench.evaluate({ files }, { "answer.py": "" });
      assertEquals(outcome.status, "malformed", metrics);
    }
  });
  await t.step("if the submission times out or ends its interpreter", async () => {
    const plan = { files: call, timeoutMs: 500 };
    assertEquals(await bench.evaluate(plan, { "answer.py": "def f():\n    while True: pass" }), {
      status: "failed",
      message: "the submission's program ended as 'timeout'",
    });
    assertEquals(await bench.evaluate({ files: call }, { "answer.py": "import os\ndef f(): os._exit(3)" }), {
      status: "failed",
      message: "the submission's program ended as 'crashed'",
    });
  });
  await t.step("if the signal is aborted", async () => {
    await using evaluator = await bench.evaluator({ files: call });
    const code = submissionOf({ "answer.py": "def f():\n    while True: pass" });
    const signal = AbortSignal.timeout(300);
    await assertRejects(() => evaluator.evaluate(code, { signal }), DOMException, "timeout");
  });
  await t.step("and then scores the next one", async () => {
    assertEquals(await bench.evaluate({ files: call }, { "answer.py": "def f(): return 4" }), {
      status: "scored",
      scores: { Score: 4 },
      artefact: "answer.py",
    });
  });
});

Deno.test("WorkspaceEvaluator runs MLGym's scripts", async (t) => {
  await using bench = await EvaluatorBench.open();

  await t.step("that import the submission, with a replacement for numpy", async () => {
    const script = [
      "import json",
      "import numpy as np",
      "from strategy import move",
      "import target, strategy",
      "values = np.asarray([move([(n, target.reply(n))]) for n in range(50)], dtype=np.float32)",
      'print(json.dumps({"Score": float(np.mean(values)), "last": strategy.move([(9, 9)])}))',
    ].join("\n");
    const plan = {
      kind: "python-script",
      files: { "evaluate.py": script, "target.py": "def reply(n): return n % 2" },
      submission: ["strategy.py"],
    } as const;
    const code = { "strategy.py": "print({'Score': 99})\ndef move(history): return history[-1][1]" };
    assertEquals(await bench.evaluate(plan, code), {
      status: "scored",
      scores: { Score: 0.5, last: 9 },
      artefact: "strategy.py",
    });
    assertEquals(await bench.evaluate(plan, { "strategy.py": "def move(history): return 1 // 0" }), {
      status: "failed",
      message: "strategy.move raised ZeroDivisionError: division by zero",
    });
  });
  await t.step("that reject a move, or need a missing function", async () => {
    const plan = (script: string) => ({
      kind: "python-script" as const,
      files: { "evaluate.py": script },
    });
    const refusing = plan("print('so far')\nraise ValueError('Strategies must be either 0 or 1')");
    assertEquals(await bench.evaluate(refusing, { "answer.py": "" }), {
      status: "malformed",
      output: "so far\nValueError: Strategies must be either 0 or 1",
    });
    assertEquals(await bench.evaluate(plan("import numpy\nnumpy.linalg"), { "answer.py": "" }), {
      status: "malformed",
      output: "AttributeError: numpy is not installed here, and its replacement has no 'linalg'",
    });
  });
  await t.step("that read a CSV", async () => {
    const script = [
      "import argparse, csv, json",
      "parser = argparse.ArgumentParser()",
      'parser.add_argument("--submission_file")',
      "def read(path):",
      "    with open(path) as file: return [row['y'] for row in csv.DictReader(file)]",
      'given, expected = read(parser.parse_args().submission_file), read("data/test.csv")',
      "hits = sum(a == b for a, b in zip(given, expected, strict=True))",
      'print(json.dumps({"accuracy": hits / len(expected)}))',
    ].join("\n");
    const plan = {
      kind: "csv-script",
      files: { "evaluate.py": script, "data/test.csv": "y\n1\n2\n" },
      submission: ["submission.csv"],
    } as const;
    assertEquals(await bench.evaluate(plan, { "submission.csv": "y\n1\n3\n" }), {
      status: "scored",
      scores: { accuracy: 0.5 },
      artefact: "submission.csv",
    });
    assertEquals(await bench.evaluate(plan, { "submission.csv": '{"accuracy": 1}' }), {
      status: "malformed",
      output: "ValueError: zip() argument 2 is longer than argument 1",
    });
  });
});

Deno.test("WorkspaceEvaluator releases its sessions, and rejects once it is disposed", async () => {
  const pool = new FakePool(() => ok("", { value: "loaded" }));
  const evaluationPool = new FakePool((code) => {
    if (!code.includes("run_module")) throw new Error("it runs the module");
    return ok("", { value: '{"Score": 2}' });
  });
  const script = { path: "score.py", hostPath: decodeURIComponent(new URL(import.meta.url).pathname) };
  const plan = {
    ...{ kind: "module", script, files: [], submission: ["a"], timeoutMs: 1000, directions: {} } as const,
  };
  const evaluator = new WorkspaceEvaluator({ plan, pool, evaluationPool });
  const outcome = await evaluator.evaluate(submissionOf({ a: "" }));
  assertEquals(outcome, { status: "scored", scores: { Score: 2 }, artefact: "a" });
  assertEquals([pool.alive, evaluationPool.alive], [0, 0]);
  await evaluator[Symbol.asyncDispose]();
  await assertRejects(() => evaluator.evaluate(submissionOf({ a: "" })), Error, "the evaluator is disposed");
});

Deno.test("WorkspaceEvaluator.evaluate() reads its files again after a failure", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const hostPath = join(directory, "score.py");
    const plan = {
      ...{ kind: "module", script: { path: "score.py", hostPath }, files: [], submission: ["a"] } as const,
      timeoutMs: 1000,
      directions: {},
    };
    const pool = new FakePool(() => ok("", { value: "loaded" }));
    const evaluationPool = new FakePool(() => ok("", { value: '{"Score": 2}' }));
    await using evaluator = new WorkspaceEvaluator({ plan, pool, evaluationPool });
    const submission = submissionOf({ a: "" });
    await assertRejects(() => evaluator.evaluate(submission), Deno.errors.NotFound);
    await Deno.writeTextFile(hostPath, "");
    assertEquals((await evaluator.evaluate(submission)).status, "scored");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("WorkspaceEvaluator.evaluate() gives no score for the output of a script that failed", async () => {
  const pool = new FakePool(() => ok("", { value: "loaded" }));
  const evaluationPool = new FakePool(() => bad("memory", { stdout: '{"Score": 2}' }));
  const script = { path: "score.py", hostPath: decodeURIComponent(new URL(import.meta.url).pathname) };
  const plan = {
    ...{ kind: "csv-script", script, files: [], submission: ["a"], timeoutMs: 1000, directions: {} } as const,
  };
  await using evaluator = new WorkspaceEvaluator({ plan, pool, evaluationPool });
  assertEquals(await evaluator.evaluate(submissionOf({ a: "" })), {
    status: "failed",
    message: "the evaluation ended as 'memory'",
  });
});

Deno.test("selectSubmittedFiles() selects the files of a plan and rejects invalid paths", () => {
  const bytes = new Uint8Array(1);
  const all = new Map([["a.py", bytes], ["out/x", bytes], ["b.py", bytes]]);
  assertEquals(selectSubmittedFiles(all, ["a.py", "out/"]), { files: { "a.py": bytes, "out/x": bytes } });
  assertEquals(selectSubmittedFiles(all, ["c/"]), { missing: "there is no 'c/'" });
  assertEquals(selectSubmittedFiles(new Map([["out/../x", bytes]]), ["out/"]), {
    fault: 'a submission must have plain paths: found "out/../x"',
  });
  const large = new Map([["a.py", new Uint8Array(33 * 1024 * 1024)]]);
  assertEquals(selectSubmittedFiles(large, ["a.py"]), {
    fault: "a submission must have at most 5000 files and 33554432 bytes: it has 1 and 34603008",
  });
});

Deno.test("parseScores() accepts finite numbers by name, and nothing else", () => {
  assertEquals(parseScores('{"RMSE": 1.5, "n": 2}'), { RMSE: 1.5, n: 2 });
  for (
    const text of ["", "1", "[]", "{}", '{"a": "1"}', '{"a": NaN}', '{"a": 1e999}', '{"a": true}', '{"": 1}']
  ) {
    assertEquals(parseScores(text), undefined, text);
  }
});
