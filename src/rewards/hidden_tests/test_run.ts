import * as z from "zod";
import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { hostTool } from "../../sandbox/host_tool.ts";
import { Callee, type CalleeOptions, type CalleeReply, moduleCall } from "../../sandbox/isolated/callee.ts";
import { CompiledModules, preloadOf } from "../../sandbox/isolated/compiled_modules.ts";
import type { Preload } from "../../sandbox/profile/profile.ts";
import ahead from "./python/ahead.py" with { type: "text" };
import batches from "./python/batches.py" with { type: "text" };
import candidateSource from "./python/candidate.py" with { type: "text" };
import channel from "./python/channel.py" with { type: "text" };
import crossing from "./python/crossing.py" with { type: "text" };
import decoys from "./python/decoys.py" with { type: "text" };
import deferral from "./python/deferral.py" with { type: "text" };
import names from "./python/names.py" with { type: "text" };
import operations from "./python/operations.py" with { type: "text" };
import prompt from "./python/prompt.py" with { type: "text" };
import references from "./python/references.py" with { type: "text" };
import scopes from "./python/scopes.py" with { type: "text" };
import standIns from "./python/stand_ins.py" with { type: "text" };
import syntax from "./python/syntax.py" with { type: "text" };
import taint from "./python/taint.py" with { type: "text" };
import testCheck from "./python/test_check.py" with { type: "text" };
import { type PackedTests, parsePreparedTests, type PreparedTests } from "./prepared_tests.ts";
import { RERUN_SOURCES } from "./reruns.ts";
import type { TestProblem } from "./test_problem.ts";
import testsSource from "./python/tests.py" with { type: "text" };

/** Options of a {@linkcode TestRun}. */
export interface TestRunOptions {
  readonly problem: TestProblem;
  readonly modules: TestModules;
  /**
   * Tests that were prepared before.
   *
   * @default the tests are prepared without them
   */
  readonly packedTests?: PackedTests | undefined;
  /** Maximum run time of a test, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Factors of the limits of time of the sessions of the candidate and of the tests.
   *
   * @default 1
   */
  readonly timeScales?: { readonly callee: number; readonly caller: number } | undefined;
  readonly signal?: AbortSignal | undefined;
}

const MODULE = "paddock_hidden_tests";
/** Modules of the tests' session, in dependency order. */
const TEST_SOURCES = {
  paddock_prompt: prompt,
  paddock_channel: channel,
  paddock_decoys: decoys,
  paddock_stand_ins: standIns,
  paddock_crossing: crossing,
  paddock_syntax: syntax,
  paddock_taint: taint,
  paddock_ahead: ahead,
  paddock_deferral: deferral,
  paddock_batches: batches,
  paddock_test_check: testCheck,
  paddock_scopes: scopes,
  paddock_names: names,
  [MODULE]: testsSource,
};

const CANDIDATE_MODULE = "paddock_candidate";
/** Modules of the candidate's session, in dependency order. */
const CANDIDATE_SOURCES = {
  paddock_prompt: prompt,
  paddock_references: references,
  paddock_operations: operations,
  [CANDIDATE_MODULE]: candidateSource,
};

/**
 * The modules of hidden tests as part of a base image. A grade whose `testPool` has a profile with this `preload` needs
 * about a third of the time less.
 */
export const HIDDEN_TESTS_PRELOAD: Preload = preloadOf(TEST_SOURCES);

/** The modules that hold a candidate as part of a base image, for the profile of the `pool` of hidden tests. */
export const CANDIDATE_PRELOAD: Preload = preloadOf({ ...RERUN_SOURCES, ...CANDIDATE_SOURCES });

/** The modules of both sessions. A grader compiles them once. */
export class TestModules {
  readonly ofTests: CompiledModules = new CompiledModules(TEST_SOURCES);
  readonly ofCandidate: CompiledModules = new CompiledModules(CANDIDATE_SOURCES);
}

/** End of a test. `unscored`: the test itself reached a limit, so that there is no verdict. */
export type TestVerdict =
  | { readonly verdict: "passed" | "failed" }
  | { readonly verdict: "unscored"; readonly reason: string };

/** Result of `run` of `tests.py`. The session is the tests' own, so that no program can forge it. */
const verdictSchema = z.tuple([
  z.enum(["passed", "failed", "unprepared", "unjudged", "too many calls", "too large"]),
  z.string(),
]);

/** Runs tests in a session that the candidate's program cannot reach. */
export class TestRun {
  readonly #session: PythonSession;
  readonly #options: TestRunOptions;
  /** Tests that were prepared in another session, until the first one runs. */
  #packed: PreparedTests | undefined;

  constructor(session: PythonSession, options: TestRunOptions) {
    this.#session = session;
    this.#options = options;
  }

  /**
   * Runs the setup code. The setup code of tests which were prepared before runs with the first test.
   *
   * @throws {Error} when the setup fails, which means that the problem itself is broken.
   */
  async prepare(): Promise<PreparedTests> {
    const { problem, modules: { ofTests, ofCandidate }, packedTests, timeoutMs, signal } = this.#options;
    await ofTests.detectIn(this.#session, { timeoutMs, signal });
    await CompiledModules.compileIn(this.#session, [ofTests, ofCandidate], { timeoutMs, signal });
    this.#packed = packedTests?.get(problem);
    if (this.#packed) return this.#packed;
    const prepared = await this.#prepareHere();
    packedTests?.set(problem, prepared);
    return prepared;
  }

  async #prepareHere(): Promise<PreparedTests> {
    const { problem, modules, timeoutMs, signal } = this.#options;
    const { prompt, setup, codeTests, entryPoint } = problem;
    const args = [prompt, setup, codeTests, entryPoint === undefined ? [] : [entryPoint]];
    const code = `${modules.ofTests.definitions}\n${moduleCall(MODULE, "prepare", args)}`;
    const result = await this.#session.exec(code, { timeoutMs, signal });
    if (result.status !== "ok") throw new Error(`Cannot prepare tests: ${errorOf(result)}`);
    return parsePreparedTests(result.value);
  }

  /** Returns code that runs a test. */
  #codeOf(index: number): string {
    if (!this.#packed) return moduleCall(MODULE, "run", [index]);
    const { problem: { setup, codeTests }, modules } = this.#options;
    const args = [this.#packed.packed, setup, codeTests, index];
    return `${modules.ofTests.definitions}\n${moduleCall(MODULE, "run_packed", args)}`;
  }

  /**
   * Runs a code test. If the test reaches a limit of time or of calls, and the candidate can be the cause, the candidate
   * fails.
   *
   * @throws {Error} when the test calls the candidate with other than plain data, or when the candidate's
   * session fails.
   */
  async runTest(index: number, candidate: Candidate): Promise<TestVerdict> {
    const { timeoutMs, timeScales = { callee: 1, caller: 1 }, signal } = this.#options;
    const code = this.#codeOf(index);
    const failures: unknown[] = [];
    candidate.beginTest();
    const tools = [callTool(candidate, (error) => failures.push(error))];
    const limit = new CrossingTimeout(timeoutMs * Math.max(timeScales.callee, timeScales.caller), candidate);
    const result = await limit.run((limits) =>
      this.#session.exec(code, {
        timeoutMs: limits.timeoutMs / timeScales.caller,
        tools,
        signal: AbortSignal.any([limits.signal, ...(signal ? [signal] : [])]),
      })
    );
    this.#packed = undefined;
    if (failures.length > 0) {
      throw new Error(`Cannot run test ${index + 1}: ${failures[0]}`, { cause: failures[0] });
    }
    if (candidate.isLost) return FAILED;
    if (result === undefined || result.status === "timeout") {
      return await this.#verdictOfTimeout(index, candidate);
    }
    const [verdict, reason] = result.status === "ok" ? parseVerdict(result.value) : ["failed" as const, ""];
    if (verdict === "unprepared") {
      await this.#session.reset({ mode: "rewind", signal });
      await this.#prepareHere();
      return await this.runTest(index, candidate);
    }
    if (verdict === "unjudged") throw new Error(`Cannot run test ${index + 1}: ${reason}`);
    if (verdict === "too many calls" && !candidate.isMainlyCalled) return FAILED;
    if (verdict === "passed" || verdict === "failed") return { verdict };
    return { verdict: "unscored", reason: `test ${index + 1}: ${reason}` };
  }

  /** Returns whether the tests use a name of the candidate. */
  async usesCandidate(): Promise<boolean> {
    return await this.#ask("uses_candidate");
  }

  /** Returns whether a name that the tests use is missing in the program, or is a plain value there. */
  async lacksNames(): Promise<boolean> {
    return await this.#ask("lacks_names");
  }

  /**
   * A test that was still making calls when its time was over, and whose number of calls the candidate cannot influence,
   * makes too many.
   */
  async #verdictOfTimeout(index: number, candidate: Candidate): Promise<TestVerdict> {
    const { timeoutMs } = this.#options;
    const isOfTest = candidate.isMainlyCalled && candidate.isInUse && await this.#ask("is_bounded", index);
    if (!isOfTest) return FAILED;
    const reason = `test ${index + 1}: its calls of the candidate took more than ${timeoutMs} ms, ` +
      `and ${Math.round(candidate.crossingMs)} ms between the sessions`;
    return { verdict: "unscored", reason };
  }

  async #ask(name: string, ...args: readonly number[]): Promise<boolean> {
    const { timeoutMs, signal } = this.#options;
    const result = await this.#session.exec(moduleCall(MODULE, name, args), { timeoutMs, signal });
    return result.status === "ok" && result.value === "True";
  }
}

/** The time limit of a test, which grows by the time that its calls spend between the sessions. */
class CrossingTimeout {
  readonly #timeoutMs: number;
  readonly #candidate: Candidate;
  readonly #controller = new AbortController();
  readonly #startedAt = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number, candidate: Candidate) {
    this.#timeoutMs = timeoutMs;
    this.#candidate = candidate;
  }

  /** Runs a test. Returns `undefined` if it reached the limit. */
  async run<T>(
    test: (limits: { timeoutMs: number; signal: AbortSignal }) => Promise<T>,
  ): Promise<T | undefined> {
    const { signal } = this.#controller;
    this.#check();
    try {
      return await test({ timeoutMs: this.#timeoutMs + MAX_CROSSING_MS, signal });
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    } finally {
      clearTimeout(this.#timer);
    }
  }

  #check(): void {
    const { isMainlyCalled, crossingMs } = this.#candidate;
    const freeMs = isMainlyCalled ? Math.min(crossingMs, MAX_CROSSING_MS) : 0;
    const leftMs = this.#startedAt + this.#timeoutMs + freeMs - performance.now();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#check(), leftMs);
    else this.#controller.abort();
  }
}

const FAILED = { verdict: "failed" } as const;

function parseVerdict(value: string | undefined): z.output<typeof verdictSchema> {
  return verdictSchema.parse(JSON.parse(value ?? '["failed", ""]'));
}

const callSchema = z.object({
  name: z.string(),
  arguments: z.string(),
  count: z.int().min(1),
  stdin: z.string().optional(),
});

function callTool(candidate: Candidate, onFailure: (error: unknown) => void) {
  return hostTool({
    name: "call_candidate",
    description: "Calls the candidate with plain data.",
    parameters: callSchema,
    async run({ name, arguments: args, count, stdin }) {
      try {
        return await candidate.call(name, args, { count, stdin });
      } catch (error) {
        onFailure(error);
        throw error;
      }
    },
  });
}

function errorOf(result: ExecResult): string {
  return "error" in result
    ? `${result.error.type}: ${result.error.message}`
    : `it ended as '${result.status}'`;
}

/**
 * Requests that a test makes by its own code: calls, and reads of attributes. The candidate's objects can cause others,
 * such as an iterator without an end.
 */
const CALLS = new Set(["call", "call_in_place", "calls", "method", "made", "get", "get_linked"]);

/** Options of {@linkcode Candidate.call}. */
interface RequestOptions {
  /** Number of requests. */
  readonly count: number;
  /** Input that the program may read. */
  readonly stdin?: string | undefined;
}

/** A program, and the first request of its tests. */
interface CandidateProgram extends Pick<PreparedTests, "lookup"> {
  readonly program: string;
}

/** Time of a crossing on the side of the tests, in milliseconds. */
const TEST_SIDE_MS = 1;
/** Maximum time of the crossings of one test that is not charged to the test, in milliseconds. */
const MAX_CROSSING_MS = 60_000;
/** Time after which a test that makes no request is busy with something else, in milliseconds. */
const IDLE_MS = 1_000;

/** A candidate's program in its own session. */
export class Candidate {
  readonly #callee: Callee;
  readonly #modules: TestModules;
  #lookups = 0;
  /** The tests' first request and its reply, which come with the load. */
  #first: { readonly args: string; readonly reply: CalleeReply } | undefined;
  /** Requests of the running test. */
  #requests = { calls: 0, others: 0, lastAt: -Infinity, crossings: 0, crossedMs: 0 };

  constructor(
    session: PythonSession,
    { modules, ...options }: Omit<CalleeOptions, "name"> & { modules: TestModules },
  ) {
    this.#modules = modules;
    this.#callee = new Callee(session, { ...options, name: "candidate" });
  }

  /** Number of requests of the tests, apart from those that look up names or seed random numbers. */
  get calls(): number {
    return this.#callee.calls - this.#lookups;
  }

  /** Begins to count the requests of a test. */
  beginTest(): void {
    const crossedMs = this.#callee.crossingMs;
    this.#requests = { calls: 0, others: 0, lastAt: -Infinity, crossings: 0, crossedMs };
  }

  /** Time that the calls of the running test have spent between the sessions, in milliseconds. */
  get crossingMs(): number {
    const { crossings, crossedMs } = this.#requests;
    return this.#callee.crossingMs - crossedMs + crossings * TEST_SIDE_MS;
  }

  /** True if most requests of the running test are calls, which the candidate's objects do not cause. */
  get isMainlyCalled(): boolean {
    return this.#requests.calls > this.#requests.others;
  }

  /** True if the running test has just made a request. */
  get isInUse(): boolean {
    return performance.now() - this.#requests.lastAt < IDLE_MS;
  }

  /** True if the program has ended or broken its interpreter. */
  get isLost(): boolean {
    return this.#callee.failure !== undefined;
  }

  /**
   * Runs the program as a module, and looks up the names of the tests there. Afterwards it can be called, unless it is
   * lost.
   */
  async load({ prompt: beginning }: TestProblem, { program, lookup: args }: CandidateProgram): Promise<void> {
    const code = [
      this.#modules.ofCandidate.definitions,
      moduleCall(CANDIDATE_MODULE, "load", [beginning, program]),
      moduleCall(CANDIDATE_MODULE, "call", ["name", args, 0]),
    ];
    const reply = await this.#callee.loadAndCall(code.join("\n"));
    if (reply !== undefined) this.#first = { args, reply };
  }

  /**
   * Carries out a request of the tests, such as `call` or `get`, or `count` of them. `args` are plain data as JSON.
   */
  async call(name: string, args: string, options: RequestOptions): Promise<CalleeReply> {
    if (name === "name" && args === this.#first?.args) return this.#first.reply;
    this.#requests.crossings++;
    if (name === "name" || name === "seed") this.#lookups++;
    else if (CALLS.has(name)) this.#requests.calls += options.count;
    else this.#requests.others++;
    try {
      return await this.#send(name, args, options);
    } finally {
      this.#requests.lastAt = performance.now();
    }
  }

  async #send(name: string, args: string, { count, stdin }: RequestOptions): Promise<CalleeReply> {
    if (name === "calls") {
      return await this.#callee.call(moduleCall(CANDIDATE_MODULE, "calls", [args]), { batchSize: count });
    }
    const characters = stdin === undefined ? 0 : [...stdin].length;
    return await this.#callee.call(moduleCall(CANDIDATE_MODULE, "call", [name, args, characters]), { stdin });
  }
}
