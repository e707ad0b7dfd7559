import { SessionPair } from "../sandbox/apart/session_pair.ts";
import type { SessionPool } from "../sandbox/exec.ts";
import { type GradeContext, type Grader, type Score, unscored } from "./grader.ts";
import { Candidate } from "./hidden_tests/candidate.ts";
import { candidateProgram } from "./hidden_tests/candidate_program.ts";
import { programReply } from "./hidden_tests/program_reply.ts";
import { type TestProblem, testProblem } from "./hidden_tests/test_problem.ts";
import { TestRun } from "./hidden_tests/test_run.ts";

/** What {@linkcode hiddenTests} needs. */
export interface HiddenTestsOptions {
  /** Where candidates run. Not a pool whose sessions the graded episodes still hold; not disposed here. */
  pool: SessionPool;
  /**
   * Where tests run, behind a profile with `hostTools` and enough `hostToolCalls` for a test's calls of the
   * candidate: a test that makes more is failed. No model code may ever run in it. Without it the tests take a second session of `pool`, which then
   * needs two sessions, in processes of their own, and makes two fresh interpreters for each grade: that is slower.
   */
  testPool?: SessionPool | undefined;
  /** Milliseconds that a candidate's program may take in all. */
  timeoutMs?: number | undefined;
}

/**
 * Scores 1 when the program of the newest reply that has one passes every hidden test of the task's `fields`, else 0; `null`
 * when the task has no tests. The part `tests_passed` is the share that it passes.
 *
 * The tests are HumanEval's (`prompt`, `entry_point`, `test`) or a list of asserts (`tests`, or MBPP's
 * `test_list`); without a `prompt` the query is one. The program runs in one session, the tests in another one
 * that it never touches. When a test calls the candidate, arguments go over as copies and a result comes back as
 * plain data: numbers, fractions, decimals, dates and times, texts, bytes, lists, tuples, ranges, deques, dicts
 * with their views, and sets, each as what its class was derived from. So a
 * test cannot see that an argument was changed in place, and a result of any other type raises in the test. An
 * exception of the candidate is raised in the test, which may expect it, as the built-in class that it is or is
 * derived from; a call that ends the interpreter or its
 * time fails the test and the rest.
 *
 * Grading throws when it is the tests that fail: when they do not run, or never call the candidate.
 *
 * @throws {RangeError} when the time is not a number of milliseconds, or a pool for both has fewer than two sessions.
 */
export function hiddenTests(options: HiddenTestsOptions): Grader {
  const { pool, testPool, timeoutMs = 10_000 } = options;
  if (!(timeoutMs > 0 && timeoutMs <= 3_600_000)) {
    throw new RangeError(
      `Cannot grade by hidden tests as 'timeoutMs' must be > 0 and <= 3600000: current value is ${timeoutMs}`,
    );
  }
  if (testPool === undefined && "size" in pool && Number(pool.size) < 2) {
    throw new RangeError(
      `Cannot grade by hidden tests as 'pool' must have 2 sessions without a 'testPool': it has ${pool.size}`,
    );
  }
  const pair = new SessionPair(pool, testPool);
  return { name: "hidden_tests", grade: (context) => grade(context, pair, timeoutMs) };
}

async function grade(context: GradeContext, pair: SessionPair, timeoutMs: number): Promise<Score> {
  const { task, history, signal } = context;
  const problem = testProblem(task);
  if (problem === null) return unscored("the task has no tests");
  const program = candidateProgram(programReply(history, task, problem.entryPoint), problem);
  if (program === "") return scoreOf(0, problem);
  await using leases = new AsyncDisposableStack();
  const { forCallee, forCaller } = await pair.acquire(leases, { signal });
  // Beside the candidate's time there is that of the tests themselves and of its calls' way.
  const run = new TestRun(forCaller.session, { problem, timeoutMs: 2 * timeoutMs + 5_000, signal });
  await run.prepare();
  const candidate = new Candidate(forCallee.session, { timeoutMs, signal });
  await candidate.load(problem.prompt, program);
  if (candidate.isLost) return scoreOf(0, problem);
  let passed = 0;
  for (const index of problem.tests.keys()) {
    if (await run.passes(index, candidate)) passed++;
    if (candidate.isLost) break;
  }
  if (candidate.calls > 0) return scoreOf(passed, problem);
  throw new Error(`Cannot test task '${task.id}' as its tests must call the candidate: they never do`);
}

function scoreOf(passed: number, { tests }: TestProblem): Score {
  return { score: passed === tests.length ? 1 : 0, parts: { tests_passed: passed / tests.length } };
}
