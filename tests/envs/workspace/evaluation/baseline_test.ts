import { assert, assertEquals, assertRejects } from "@std/assert";
import type { EvaluationOutcome, Evaluator } from "../../../../src/envs/workspace/evaluation.ts";
import { Baseline } from "../../../../src/envs/workspace/evaluation/baseline.ts";
import { deriveEvaluationSeed } from "../../../../src/envs/workspace/evaluation/evaluator.ts";
import type { WorkspaceTask } from "../../../../src/envs/workspace/task.ts";

const TASK = { starter: [], evaluation: {} } as unknown as WorkspaceTask;

Deno.test("Baseline.scores() evaluates once for all callers, also if one is aborted", async () => {
  const { evaluator, requests, answer } = slowEvaluator();
  const baseline = new Baseline(TASK, evaluator);
  const impatient = new AbortController();
  const gone = baseline.scores({ signal: impatient.signal });
  const waiting = [baseline.scores(), baseline.scores({ signal: new AbortController().signal })];
  impatient.abort(new Error("enough"));
  await assertRejects(() => gone, Error, "enough");
  answer({ status: "scored", scores: { Score: 2 }, artefact: "a" });
  assertEquals(await Promise.all(waiting), [{ Score: 2 }, { Score: 2 }]);
  assertEquals(await baseline.scores(), { Score: 2 });
  assertEquals(requests, [{ seed: 0 }]);
});

Deno.test("Baseline.scores() retries after a failure, and caches a missing score", async () => {
  const { evaluator, requests, answer, fail } = slowEvaluator();
  const baseline = new Baseline(TASK, evaluator);
  const first = baseline.scores();
  fail(new Error("no sandbox"));
  await assertRejects(() => first, Error, "no sandbox");
  const second = baseline.scores();
  answer({ status: "missing", message: "" });
  assertEquals([await second, await baseline.scores(), requests.length], [null, null, 2]);
});

/** Evaluator whose result the test controls. */
function slowEvaluator() {
  const requests: unknown[] = [];
  let pending = Promise.withResolvers<EvaluationOutcome>();
  const evaluator: Evaluator = {
    evaluate(_submission, options) {
      requests.push(options);
      pending = Promise.withResolvers();
      return pending.promise;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return {
    evaluator,
    requests,
    answer: (outcome: EvaluationOutcome) => pending.resolve(outcome),
    fail: (error: Error) => pending.reject(error),
  };
}

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("deriveEvaluationSeed() depends on the seed and on every hidden file, not on their order", async () => {
  const files = { "score.py": bytes("a"), "opponent.py": bytes("b") };
  const seed = await deriveEvaluationSeed(5, files);
  assert(Number.isSafeInteger(seed) && seed >= 0);
  assertEquals(await deriveEvaluationSeed(5, { "opponent.py": bytes("b"), "score.py": bytes("a") }), seed);
  const others = [
    await deriveEvaluationSeed(6, files),
    await deriveEvaluationSeed(5, { ...files, "opponent.py": bytes("c") }),
    await deriveEvaluationSeed(5, { "score.py": bytes("a"), "other.py": bytes("b") }),
    await deriveEvaluationSeed(5, { "score.py": bytes("ab"), "opponent.py": bytes("") }),
    await deriveEvaluationSeed(5, { "score.py": bytes("a") }),
  ];
  assertEquals(new Set([seed, ...others]).size, 6);
});
