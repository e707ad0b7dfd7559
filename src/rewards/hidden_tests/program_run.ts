import { ArgumentTypeError } from "../../errors.ts";
import type { ExecOptions, ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { moduleCall, moduleDefinitions } from "../../sandbox/isolated/callee.ts";
import prompt from "./python/prompt.py" with { type: "text" };
import { type RerunModules, Reruns } from "./reruns.ts";
import type { ProgramTest, TestProblem } from "./test_problem.ts";

/** Options of a {@linkcode ProgramRun}. */
export interface ProgramRunOptions {
  /** Source of the program. */
  readonly program: string;
  /** Number of runs. */
  readonly runs: number;
  readonly modules: RerunModules;
  /** Time limit of all runs together, in milliseconds. */
  readonly timeoutMs: number;
  /** Factor of the limits of time of the session. */
  readonly timeScale: number;
  readonly signal?: AbortSignal | undefined;
}

/** Number of runs from which on it takes less time to examine a program than to rewind the interpreter after each run. */
const MIN_RERUNS = 4;
/** Path of the program in the session. */
const FILE = "main.py";
/** Code that runs the file of the program, where a session cannot do that itself. */
const AS_FILE =
  `import runpy, sys; sys.argv[:] = ["${FILE}"]; runpy.run_path("${FILE}", run_name="__main__"); None`;

/**
 * Runs a candidate as `python main.py < input`, each time in an interpreter without a trace of the earlier run: a rewound
 * interpreter, or the same interpreter if the program can leave no trace. Everything that the program prints, in any
 * way, is output. Nothing of the tests is in the program's session.
 */
export class ProgramRun {
  readonly #session: PythonSession;
  readonly #options: ProgramRunOptions;
  #leftMs: number;
  #reruns: Reruns | undefined;

  /** No program may have run in the session since the start or the rewind. */
  constructor(session: PythonSession, options: ProgramRunOptions) {
    this.#session = session;
    this.#options = options;
    this.#leftMs = options.timeoutMs;
  }

  /**
   * Runs the program with the input of a test. Returns its output; `undefined` after a failure: by an exception, a limit,
   * or, if `checksExitCode`, an exit code other than 0.
   */
  async outputOf(test: ProgramTest, options: { checksExitCode: boolean }): Promise<string | undefined> {
    const { program, runs, modules, signal } = this.#options;
    if (runs >= MIN_RERUNS) {
      this.#reruns ??= await Reruns.prepare(this.#session, { program, modules, signal });
    }
    let result: ExecResult | undefined;
    if (this.#reruns?.isUsable) {
      result = await this.#timed((limits) => this.#reruns?.run({ ...limits, stdin: test.input }));
    }
    // A limit may be due to the runs before.
    if (result === undefined || !isEnd(result)) {
      result = await this.#timed((limits) => this.#runAlone({ ...limits, stdin: test.input }));
    }
    return result && hasEnded(result, options) && !result.truncated ? result.stdout : undefined;
  }

  /** Runs the program if there is time left. */
  async #timed(
    run: (limits: Pick<ExecOptions, "timeoutMs" | "signal">) => Promise<ExecResult> | undefined,
  ): Promise<ExecResult | undefined> {
    if (this.#leftMs <= 0) return undefined;
    const result = await run({ timeoutMs: this.#leftMs, signal: this.#options.signal });
    this.#leftMs -= (result?.durationMs ?? 0) / this.#options.timeScale;
    return result;
  }

  async #runAlone(given: Pick<ExecOptions, "stdin" | "timeoutMs" | "signal">): Promise<ExecResult> {
    const { program, signal } = this.#options;
    try {
      return await this.#session.exec(program, { ...given, argv: [FILE], then: "rewind" });
    } catch (error) {
      if (!(error instanceof ArgumentTypeError)) throw error;
    }
    // A session of a server takes no arguments and does not rewind with an exec.
    const result = await this.#session.exec(AS_FILE, { ...given, files: { [FILE]: program } });
    await this.#session.reset({ mode: "rewind", signal });
    return result;
  }
}

/** True if a program ended by the program's own code. */
function isEnd({ status }: ExecResult): boolean {
  return status === "ok" || status === "error" || status === "exited";
}

/** True if a program ended by itself. An interpreter that the program ended with an exit code has ended, too. */
function hasEnded(result: ExecResult, { checksExitCode }: { checksExitCode: boolean }): boolean {
  if (result.status === "ok") return true;
  if (result.status === "exited") return !checksExitCode;
  return result.status === "crashed" && result.exitCode !== undefined &&
    (result.exitCode === 0 || !checksExitCode);
}

/** A line that begins code. Prose has such a line only by chance. */
const CODE = /^(?:async def|def|class|import|from|@\w+)\b/m;
const PROMPT_MODULE = "paddock_prompt";
const PROMPT_MS = 10_000;

/**
 * Returns the source of the whole program: the prompt, if that is the beginning of a program, and the candidate's part.
 * Asks the session whether the prompt is code, so that no program may have run there.
 */
export async function completeProgram(
  session: PythonSession,
  { problem, program, signal }: { problem: TestProblem; program: string; signal?: AbortSignal | undefined },
): Promise<string> {
  const beginning = problem.prompt;
  if (!CODE.test(beginning) || program.startsWith(beginning) || /^from __future__/m.test(program)) {
    return program;
  }
  const code = `${moduleDefinitions({ [PROMPT_MODULE]: prompt })}\n${
    moduleCall(PROMPT_MODULE, "body_of", [beginning])
  }`;
  const result = await session.exec(code, { timeoutMs: PROMPT_MS, then: "rewind", signal });
  const body = result.status === "ok" ? result.valueJson : undefined;
  return typeof body === "string" ? `${beginning}${body}\n${program}` : program;
}
