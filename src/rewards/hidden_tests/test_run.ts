import * as z from "zod";
import type { ExecResult, PythonSession } from "../../sandbox/exec.ts";
import { hostTool } from "../../sandbox/host_tool.ts";
import { Callee, type CalleeReply, moduleCall, moduleDefinitions } from "../../sandbox/isolated/callee.ts";
import candidateSource from "./candidate.py" with { type: "text" };
import channel from "./channel.py" with { type: "text" };
import crossing from "./crossing.py" with { type: "text" };
import decoys from "./decoys.py" with { type: "text" };
import operations from "./operations.py" with { type: "text" };
import prompt from "./prompt.py" with { type: "text" };
import references from "./references.py" with { type: "text" };
import standIns from "./stand_ins.py" with { type: "text" };
import testCheck from "./test_check.py" with { type: "text" };
import type { TestProblem } from "./test_problem.ts";
import testsSource from "./tests.py" with { type: "text" };

/** Options of a {@linkcode TestRun}. */
export interface TestRunOptions {
  readonly problem: TestProblem;
  /** Maximum run time of one test, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const MODULE = "paddock_hidden_tests";
/** Modules of the tests' session, in dependency order. */
const TEST_MODULES = {
  paddock_prompt: prompt,
  paddock_channel: channel,
  paddock_decoys: decoys,
  paddock_stand_ins: standIns,
  paddock_crossing: crossing,
  paddock_test_check: testCheck,
};
/** Exceptions in the tests' session when a test requires something that cannot be judged. */
const UNJUDGED = new Set(["PlainDataError", "NotJudgedError"]);

/** Runs tests in a session that the candidate's program cannot reach. */
export class TestRun {
  readonly #session: PythonSession;
  readonly #options: TestRunOptions;

  constructor(session: PythonSession, options: TestRunOptions) {
    this.#session = session;
    this.#options = options;
  }

  /**
   * Runs the setup code.
   *
   * @throws {Error} when the setup fails, which means that the problem itself is broken.
   */
  async prepare(): Promise<void> {
    const { problem, timeoutMs, signal } = this.#options;
    const { setup, tests, entryPoint } = problem;
    const names = entryPoint === undefined ? [] : [entryPoint];
    const defining = moduleDefinitions({ ...TEST_MODULES, [MODULE]: testsSource });
    const code = `${defining}\n${moduleCall(MODULE, "prepare", [problem.prompt, setup, tests, names])}`;
    const result = await this.#session.exec(code, { timeoutMs, signal });
    if (result.status !== "ok") throw new Error(`Cannot prepare tests: ${errorOf(result)}`);
  }

  /**
   * Runs one test and returns true if the candidate passes it. A test that calls the candidate more often
   * than the profile's `hostToolCalls` allows fails: the candidate may be the cause.
   *
   * @throws {Error} when the test calls the candidate with other than plain data, or when the candidate's
   * session fails.
   */
  async runTest(index: number, candidate: Candidate): Promise<boolean> {
    const { timeoutMs, signal } = this.#options;
    const code = moduleCall(MODULE, "run", [index]);
    const failures: unknown[] = [];
    const tools = [callTool(candidate, (error) => failures.push(error))];
    const result = await this.#session.exec(code, { timeoutMs, signal, tools });
    if (failures.length > 0) {
      throw new Error(`Cannot run test ${index + 1}: ${failures[0]}`, { cause: failures[0] });
    }
    if (result.status === "error" && UNJUDGED.has(result.error.type)) {
      throw new Error(`Cannot run test ${index + 1}: ${errorOf(result)}`);
    }
    return result.status === "ok" && !candidate.isLost;
  }
}

function callTool(candidate: Candidate, onFailure: (error: unknown) => void) {
  return hostTool({
    name: "call_candidate",
    description: "Calls the candidate with plain data.",
    parameters: z.object({ name: z.string(), arguments: z.string() }),
    async run({ name, arguments: args }) {
      try {
        return await candidate.call(name, args);
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

const CANDIDATE_MODULE = "paddock_candidate";
/** Modules of the candidate's session, in dependency order. */
const CANDIDATE_MODULES = {
  paddock_prompt: prompt,
  paddock_references: references,
  paddock_operations: operations,
};

/** A candidate's program in its own session. */
export class Candidate {
  readonly #callee: Callee;
  #lookups = 0;

  constructor(session: PythonSession, options: { timeoutMs: number; signal: AbortSignal | undefined }) {
    this.#callee = new Callee(session, { ...options, name: "candidate" });
  }

  /** Number of requests of the tests, apart from those that look up names or seed random numbers. */
  get calls(): number {
    return this.#callee.calls - this.#lookups;
  }

  /** True if the program has ended or broken its interpreter. */
  get isLost(): boolean {
    return this.#callee.failure !== undefined;
  }

  /** Runs the program, unless tests only run it as a whole. Afterwards it can be called, unless it is lost. */
  async load({ prompt: beginning, isModule }: TestProblem, program: string): Promise<void> {
    const defining = moduleDefinitions({ ...CANDIDATE_MODULES, [CANDIDATE_MODULE]: candidateSource });
    await this.#callee.load(
      `${defining}\n${moduleCall(CANDIDATE_MODULE, "load", [beginning, program, Number(isModule)])}`,
    );
  }

  /** Carries out a request of the tests, such as `call` or `get`. `args` are plain data as JSON. */
  async call(name: string, args: string): Promise<CalleeReply> {
    if (name === "name" || name === "seed") this.#lookups++;
    return await this.#callee.call(moduleCall(CANDIDATE_MODULE, "call", [name, args]));
  }
}
