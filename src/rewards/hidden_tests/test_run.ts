import { z } from "zod";
import type { ExecResult, PythonSession } from "../../sandbox/exec.ts";
import { hostTool } from "../../sandbox/host_tool.ts";
import type { Candidate } from "./candidate.ts";
import { definingModule, moduleCall } from "./python_code.ts";
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
/** What is raised in the tests' session when the tests themselves, or its profile, are at fault. */
const OWN_FAULTS = ["ToolError", "PlainDataError"];

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
    const { problem: { prompt, setup, tests, entryPoint }, timeoutMs, signal } = this.#options;
    const names = entryPoint === undefined ? [] : [entryPoint];
    const code = `${definingModule(MODULE, source)}\n${
      moduleCall(MODULE, "prepare", [prompt, setup, tests, names])
    }`;
    const result = await this.#session.exec(code, { timeoutMs, signal });
    if (result.status !== "ok") throw new Error(`Cannot prepare tests: ${faultOf(result)}`);
  }

  /**
   * Whether the candidate passes the test with this number.
   *
   * @throws {Error} when the test calls the candidate more often than its profile's `hostToolCalls`, or with what
   * is no plain data.
   */
  async passes(index: number, candidate: Candidate): Promise<boolean> {
    const { timeoutMs, signal } = this.#options;
    const code = moduleCall(MODULE, "run", [index]);
    const result = await this.#session.exec(code, { timeoutMs, signal, tools: [callOf(candidate)] });
    if (result.status === "error" && OWN_FAULTS.includes(result.error.type)) {
      throw new Error(`Cannot run test ${index + 1}: ${faultOf(result)}`);
    }
    return result.status === "ok" && !candidate.isLost;
  }
}

function callOf(candidate: Candidate) {
  return hostTool({
    name: "call_candidate",
    description: "Calls the candidate with plain data.",
    parameters: z.object({ name: z.string(), arguments: z.string() }),
    run: ({ name, arguments: args }) => candidate.call(name, args),
  });
}

function faultOf(result: ExecResult): string {
  return "error" in result
    ? `${result.error.type}: ${result.error.message}`
    : `it ended as '${result.status}'`;
}
