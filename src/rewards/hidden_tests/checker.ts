import type { ExecResult, PythonSession } from "../../sandbox/exec.ts";
import { pythonString } from "../../sandbox/isolated/callee.ts";
import checkCall from "./check_call.py" with { type: "text" };
import type { ProgramTest } from "./test_problem.ts";

/** Options of a {@linkcode Checker}. */
export interface CheckerOptions {
  /** Source of the checker. */
  readonly source: string;
  /** Time limit of one check, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const FILE = "checker.py";
/** Files of a check, in the order of testlib's arguments. */
const FILES = { input: "input.txt", output: "output.txt", answer: "answer.txt" };
const ARGV = [FILE, FILES.input, FILES.output, FILES.answer] as const;
/** Exit code by which a checker of testlib reports that the checker or the answer is broken. */
const FAIL = 3;
const FUNCTION = /^(?:async[ \t]+)?def[ \t]+check\b/m;

/**
 * A program of the tests that judges output, in a session that no program of a model enters. It is Python in one of two
 * forms: a function `check(input, output, answer)` that returns whether the output is right, or a program in the manner
 * of testlib, whose arguments are the paths of these three texts, and which accepts by the exit code 0.
 */
export class Checker {
  readonly #session: PythonSession;
  readonly #options: CheckerOptions;
  readonly #program: string;

  constructor(session: PythonSession, options: CheckerOptions) {
    this.#session = session;
    this.#options = options;
    this.#program = FUNCTION.test(options.source) ? `${options.source}\n${checkCall}` : options.source;
  }

  /**
   * Returns whether the output of a program is right. A checker that fails on an output cannot read the output, which is
   * wrong then: a program must not leave its episode without a score. The checker is broken only if its failure also
   * comes for the answer, and does not depend on either: an unknown name or module, or testlib's exit code 3.
   *
   * @throws {Error} if the checker itself is broken.
   */
  async accepts(output: string, test: ProgramTest): Promise<boolean> {
    const result = await this.#run(output, test);
    if (hasVerdict(result)) return result.status === "ok";
    if (!isOfChecker(result)) return false;
    const ofAnswer = await this.#run(test.output, test);
    if (isOfChecker(ofAnswer)) throw new Error(`Cannot check output as ${failureOf(ofAnswer)}`);
    return false;
  }

  /**
   * Compiles the checker.
   *
   * @throws {Error} if the checker is not Python.
   */
  async compile(): Promise<void> {
    const { source, timeoutMs, signal } = this.#options;
    const code = `compile(${pythonString(source)}, "${FILE}", "exec"); None`;
    const result = await this.#session.exec(code, { timeoutMs, signal });
    if (result.status !== "ok") throw new Error(`Cannot check output as ${failureOf(result)}`);
  }

  async #run(output: string, test: ProgramTest): Promise<ExecResult> {
    const { timeoutMs, signal } = this.#options;
    const files = { [FILES.input]: test.input, [FILES.output]: output, [FILES.answer]: test.output };
    return await this.#session.exec(this.#program, { argv: ARGV, files, timeoutMs, signal, then: "rewind" });
  }
}

function hasVerdict(result: ExecResult): boolean {
  return result.status === "ok" || (result.status === "exited" && result.exitCode !== FAIL);
}

/** Exceptions of a checker that no output causes. An `UnboundLocalError` can depend on the output. */
const OWN_ERRORS: ReadonlySet<string> = new Set([
  "NameError",
  "ImportError",
  "ModuleNotFoundError",
  "SyntaxError",
]);

/** True if a failure can be the checker's own. */
function isOfChecker(result: ExecResult): boolean {
  if (result.status === "exited") return result.exitCode === FAIL;
  return result.status === "error" && OWN_ERRORS.has(result.error.type);
}

function failureOf(result: ExecResult): string {
  if (result.status === "exited") return `the checker ended with the exit code ${result.exitCode}`;
  return "error" in result
    ? `the checker raised ${result.error.type}: ${result.error.message}`
    : `the checker ended as '${result.status}'`;
}
