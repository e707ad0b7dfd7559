import { requireKnownOptions } from "../options.ts";
import { SessionPair } from "../sandbox/isolated/session_pair.ts";
import type { SessionPool } from "../sandbox/contract/pool.ts";
import type { Task } from "../task.ts";
import { type GradeContext, type Grader, type Score, unscored } from "./grader.ts";
import { extractProgram, findProgramReply, visibleReplies } from "./hidden_tests/candidate_program.ts";
import { Checker } from "./hidden_tests/checker.ts";
import { isSameOutput } from "./hidden_tests/output_comparison.ts";
import { PackedTests } from "./hidden_tests/prepared_tests.ts";
import { completeProgram, ProgramRun } from "./hidden_tests/program_run.ts";
import { RerunModules } from "./hidden_tests/reruns.ts";
import { countTests, readTestProblem, type TestProblem } from "./hidden_tests/test_problem.ts";
import { Candidate, TestModules, TestRun } from "./hidden_tests/test_run.ts";

export { CANDIDATE_PRELOAD, HIDDEN_TESTS_PRELOAD } from "./hidden_tests/test_run.ts";

/** Options of {@linkcode hiddenTests}. */
export interface HiddenTestsOptions {
  /**
   * Pool for the candidates' programs. It must not be a pool whose sessions the graded episodes still hold.
   * The caller disposes it. Grades are faster if its profile has {@linkcode CANDIDATE_PRELOAD} as `preload`.
   */
  pool: SessionPool;
  /**
   * Pool for the tests and checkers. Its profile needs `hostTools` and enough `hostToolCalls` for a test's calls of the
   * candidate: a task whose tests make more calls has no score. No model code may ever run in it. Grades are faster if the
   * profile has {@linkcode HIDDEN_TESTS_PRELOAD} as `preload`.
   * @default a second session of `pool`, which then needs two sessions in separate processes and makes two new
   * interpreters for each grade, which is slower
   */
  testPool?: SessionPool | undefined;
  /**
   * Maximum total run time of a candidate's program, in milliseconds. The way of its calls between the sessions does not
   * count. A `timeScale` of the profile of `pool` multiplies it.
   * @default 10_000
   */
  timeoutMs?: number | undefined;
}

/**
 * Returns a grader that scores 1 if the program in the newest reply that has one passes all hidden tests in
 * the task's `fields`, else 0; `null` if the task has no tests. Replies that have more than 262,144 characters outside
 * of thoughts score 0. The part `tests_passed` is the share of
 * passed tests.
 *
 * The tests have the fields of HumanEval (`prompt`, `entry_point`, `test`) or are a list (`tests`, or MBPP's
 * `test_list`). A test is Python code, or `{ input, output }` of the whole program, which runs as a process does. The
 * fields `output_comparison` (`lines`, `livecodebench` or `apps`), `check_exit_code` and `checker` say how output is
 * judged. `unittest.TestCase` classes and
 * functions whose name begins with `test_` are run. Without a `prompt`, the query is used. Tests may use names that they
 * do not define: functions and classes of the program, and of the library, which the program cannot replace.
 *
 * The program runs in one session and the tests in another one that it cannot reach. Arguments are passed as copies,
 * and results come back as data: numbers, fractions, decimals, dates and times, strings, bytes, and the containers of
 * the library with their values. Every other object stays in the program's session. The tests hold a stand-in for it,
 * whose attributes, calls and operators are requests to that session, with data as replies. So the tests can use
 * iterators, classes and instances, enums, exceptions, functions, coroutines, printed text and standard input. Data is
 * always compared in the tests' session: a value of a subclass compares as its base class. A test can see that an
 * argument was changed in place only after a call whose result it discards. An instance has operators with data only
 * if the tests name its class, and they must not hold for other data. A call that ends the interpreter or exceeds
 * the time limit fails this test and all further ones. The score is `null`, with the reason, if the tests make too many
 * calls, or expect or pass values that are too long; a program that does that scores 0.
 *
 * Grading throws, so that there is no score, if the tests cannot run, never call the candidate, or require something
 * that cannot be judged, such as a function of the tests that the program calls. Before a program runs, the tests
 * are checked for this. The error names the line. {@linkcode checkHiddenTests} does only this.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { hiddenTests, History, loadProfile, SandboxPool } from "@paddock/paddock";
 *
 * await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 2 });
 * const grader = hiddenTests({ pool, timeoutMs: 10_000 });
 * const history = History.fromChats([
 *   { role: "user", content: "Write a function add(a, b)." },
 *   { role: "assistant", content: "~~~python\ndef add(a, b):\n    return a + b\n~~~" },
 * ]);
 * const fields = { tests: ["assert add(1, 2) == 3", "assert add(1, 1) == 3"] };
 * const score = await grader.grade({ task: { id: "1", query: "Write add(a, b).", fields }, history });
 * assertEquals(score, { score: 0, parts: { tests_passed: 0.5 } });
 * ```
 *
 * @throws {RangeError} when the time limit is out of range, or when a pool for both has fewer than two
 * sessions.
 */
export function hiddenTests(options: HiddenTestsOptions): Grader {
  requireKnownOptions("call hiddenTests", options, { pool: true, testPool: true, timeoutMs: true });
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
  const setting = {
    pair: new SessionPair(pool, testPool),
    modules: new TestModules(),
    packedTests: new PackedTests(),
    rerunModules: new RerunModules(),
    timeoutMs,
  };
  return { name: "hidden_tests", grade: (context) => grade(context, setting) };
}

/** Names of a task that its tests take from the program. */
export interface CandidateNames {
  /** The task's id. */
  readonly id: string;
  /** Names beside the entry point. A program decides what the tests do with them. */
  readonly names: readonly string[];
}

/**
 * Checks the tests of tasks without a program, as {@linkcode hiddenTests} does before each grade. Tasks without tests
 * are valid. Returns the tasks whose tests use names that come from the program, beside its entry point.
 *
 * @throws {Error} when tests are broken or require something that cannot be judged. The error names the line.
 */
export async function checkHiddenTests(
  tasks: Iterable<Task>,
  options: { pool: SessionPool; timeoutMs?: number; signal?: AbortSignal },
): Promise<CandidateNames[]> {
  requireKnownOptions("call checkHiddenTests", options, CHECK_HIDDEN_TESTS_OPTIONS);
  const { pool, timeoutMs = 10_000, signal } = options;
  const modules = new TestModules();
  const found: CandidateNames[] = [];
  for (const task of tasks) {
    const problem = readTestProblem(task);
    if (problem === null) continue;
    await using lease = await pool.acquire({ signal });
    const { checker: source } = problem.programOptions;
    const [test] = problem.programTests;
    if (source !== undefined && test) {
      await new Checker(lease.session, { source, timeoutMs, signal }).verify(test);
    }
    const { names } = await new TestRun(lease.session, { problem, modules, timeoutMs, signal }).prepare();
    if (names.length > 0) found.push({ id: task.id, names });
  }
  return found;
}

/**
 * Characters in which the program is searched, on this thread. No honest episode has more outside of thoughts, and a
 * longer one scores 0: without a score, a policy could choose which of its episodes count.
 */
const MAX_CHARACTERS = 256 * 1024;

/** State that the grades of a grader share. */
interface Setting {
  readonly pair: SessionPair;
  readonly modules: TestModules;
  readonly packedTests: PackedTests;
  readonly rerunModules: RerunModules;
  readonly timeoutMs: number;
}

async function grade(
  context: GradeContext,
  { pair, modules, packedTests, rerunModules, timeoutMs }: Setting,
): Promise<Score> {
  const { task, history, owner, signal } = context;
  const problem = readTestProblem(task);
  if (problem === null) return unscored("the task has no tests");
  const replies = visibleReplies(history, task);
  if (replies.reduce((sum, { length }) => sum + length, 0) > MAX_CHARACTERS) return scoreOf(0, problem);
  const tooLong = findTooLongOutput(problem, pair.outputBytes);
  if (tooLong !== undefined) return unscored(tooLong);
  const program = extractProgram(findProgramReply(replies, problem.entryPoint), problem);
  if (program === "") return scoreOf(0, problem);
  const ofPrograms = await runProgramTests({
    problem,
    program,
    pair,
    modules: rerunModules,
    timeoutMs,
    owner,
    signal,
  });
  if (problem.codeTests.length === 0) return scoreOf(ofPrograms, problem);
  await using leases = new AsyncDisposableStack();
  const { forCallee, forCaller } = await pair.acquire(leases, { owner, signal });
  // The tests need time for themselves and for the transfer of calls, beside the candidate's time.
  const { timeScales } = pair;
  const testTimeoutMs = 2 * timeoutMs + 5_000;
  const run = new TestRun(forCaller.session, {
    problem,
    modules,
    packedTests,
    timeoutMs: testTimeoutMs,
    timeScales,
    signal,
  });
  const timeScale = timeScales.callee;
  const candidate = new Candidate(forCallee.session, { modules, timeoutMs, timeScale, signal });
  await modules.ofCandidate.detectIn(forCallee.session, { timeoutMs, signal });
  const { lookup } = await run.prepare();
  await candidate.load(problem, { program, lookup });
  if (candidate.isLost) return scoreOf(ofPrograms, problem);
  let passed = 0;
  for (const index of problem.codeTests.keys()) {
    const verdict = await run.runTest(index, candidate);
    if (verdict.verdict === "unscored") return unscored(verdict.reason);
    if (verdict.verdict === "passed") passed++;
    if (candidate.isLost) break;
  }
  const score = scoreOf(ofPrograms + passed, problem);
  if (candidate.calls > 0) return score;
  // Without a call, the tests are broken, unless the program has nothing that they could call.
  const isOfProgram = passed < problem.codeTests.length || await run.lacksNames();
  if (isOfProgram && await run.usesCandidate()) return score;
  throw new Error(`Cannot test task '${task.id}' as its tests must call the candidate: found no call`);
}

/** Returns the number of passed tests that run the whole program. */
async function runProgramTests(
  { problem, program, pair, modules, timeoutMs, owner, signal }: {
    problem: TestProblem;
    program: string;
    pair: SessionPair;
    modules: RerunModules;
    timeoutMs: number;
    owner: string | undefined;
    signal: AbortSignal | undefined;
  },
): Promise<number> {
  const { programTests, programOptions } = problem;
  const [first] = programTests;
  if (!first) return 0;
  const { checker: source, comparison } = programOptions;
  await using leases = new AsyncDisposableStack();
  const { forCallee, forCaller } = source === undefined
    ? { forCallee: await pair.acquireCallee(leases, { owner, signal }), forCaller: undefined }
    : await pair.acquire(leases, { owner, signal });
  const checker = forCaller && source !== undefined
    ? new Checker(forCaller.session, { source, timeoutMs, signal })
    : undefined;
  await checker?.verify(first);
  const whole = await completeProgram(forCallee.session, { problem, program, signal });
  const run = new ProgramRun(forCallee.session, {
    program: whole,
    runs: programTests.length,
    modules,
    timeoutMs,
    timeScale: pair.timeScales.callee,
    signal,
  });
  let passed = 0;
  for (const test of programTests) {
    const output = await run.outputOf(test, programOptions);
    if (output === undefined) continue;
    const isRight = await checker?.accepts(output, test) ?? isSameOutput(output, test.output, comparison);
    if (isRight) passed++;
  }
  return passed;
}

/** Returns why an expected output cannot be compared; `undefined` if each one can. */
function findTooLongOutput({ programTests, programOptions }: TestProblem, limit: number): string | undefined {
  if (programOptions.checker !== undefined) return undefined;
  const lengths = programTests.map(({ output }) => new TextEncoder().encode(output).length);
  const index = lengths.findIndex((length) => length > limit);
  if (index < 0) return undefined;
  return `the expected output of test ${index + 1} must have at most ${limit} bytes ('outputBytes' of the ` +
    `profile): it has ${lengths[index]}`;
}

function scoreOf(passed: number, problem: TestProblem): Score {
  const count = countTests(problem);
  return { score: passed === count ? 1 : 0, parts: { tests_passed: passed / count } };
}

/** Names of the options of {@linkcode checkHiddenTests}. */
const CHECK_HIDDEN_TESTS_OPTIONS: Readonly<
  Record<keyof ({ pool: SessionPool; timeoutMs?: number; signal?: AbortSignal }), true>
> = {
  pool: true,
  timeoutMs: true,
  signal: true,
};
