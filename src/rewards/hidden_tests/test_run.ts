import { z } from "zod";
import { definingModules, moduleCall } from "../../sandbox/apart/python_code.ts";
import type { ExecResult, PythonSession } from "../../sandbox/exec.ts";
import { hostTool } from "../../sandbox/host_tool.ts";
import type { Candidate } from "./candidate.ts";
import prompt from "./prompt.py" with { type: "text" };
import type { TestProblem } from "./test_problem.ts";
import source from "./tests.py" with { type: "text" };

/** What {@linkcode TestRun} needs beside its session. */
export interface TestRunOptions {
  readonly problem: TestProblem;
  /** Milliseconds that one test may take. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const MODULE = "paddock_hidden_tests";
/** What is raised in the tests' session when they call the candidate with what is no plain data. */
const OWN_FAULT = "PlainDataError";

/** The tests in a session that the candidate's program never sees. */
export class TestRun {
  readonly #session: PythonSession;
  readonly #options: TestRunOptions;

  constructor(session: PythonSession, options: TestRunOptions) {
    this.#session = session;
    this.#options = options;
  }

  /**
   * Runs what comes before the tests.
   *
   * @throws {Error} when that fails: the problem is broken, whatever the candidate is.
   */
  async prepare(): Promise<void> {
    const { problem, timeoutMs, signal } = this.#options;
    const { setup, tests, entryPoint } = problem;
    const names = entryPoint === undefined ? [] : [entryPoint];
    const defining = definingModules({ paddock_prompt: prompt, [MODULE]: source });
    const code = `${defining}\n${moduleCall(MODULE, "prepare", [problem.prompt, setup, tests, names])}`;
    const result = await this.#session.exec(code, { timeoutMs, signal });
    if (result.status !== "ok") throw new Error(`Cannot prepare tests: ${faultOf(result)}`);
  }

  /**
   * Whether the candidate passes the test with this number. One that calls it more often than the profile's
   * `hostToolCalls` is failed: it may be the candidate that keeps it going.
   *
   * @throws {Error} when the test calls the candidate with what is no plain data, or the candidate's session fails.
   */
  async passes(index: number, candidate: Candidate): Promise<boolean> {
    const { timeoutMs, signal } = this.#options;
    const code = moduleCall(MODULE, "run", [index]);
    const failures: unknown[] = [];
    const tools = [callOf(candidate, (error) => failures.push(error))];
    const result = await this.#session.exec(code, { timeoutMs, signal, tools });
    if (failures.length > 0) {
      throw new Error(`Cannot run test ${index + 1}: ${failures[0]}`, { cause: failures[0] });
    }
    if (result.status === "error" && result.error.type === OWN_FAULT) {
      throw new Error(`Cannot run test ${index + 1}: ${faultOf(result)}`);
    }
    return result.status === "ok" && !candidate.isLost;
  }
}

function callOf(candidate: Candidate, onFailure: (error: unknown) => void) {
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

function faultOf(result: ExecResult): string {
  return "error" in result
    ? `${result.error.type}: ${result.error.message}`
    : `it ended as '${result.status}'`;
}
