import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { pythonString } from "../../sandbox/isolated/callee.ts";
import checkCall from "./python/check_call.py" with { type: "text" };
import type { ProgramTest } from "./test_problem.ts";

/** Options of a {@linkcode Checker}. */
export interface CheckerOptions {
  /** Source of the checker. */
  readonly source: string;
  /** Time limit of a check, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const FILE = "checker.py";
/** Files of a check, in the order of testlib's arguments. */
const FILES = { input: "input.txt", output: "output.txt", answer: "answer.txt" };
const ARGV = [FILE, FILES.input, FILES.output, FILES.answer] as const;
const FUNCTION = /^(?:async[ \t]+)?def[ \t]+check\b/m;

/**
 * A program of the tests that judges output, in a session that no program of a model enters. The program is Python in one
 * of two forms: a function `check(input, output, answer)` that returns whether the output is right, or a program in the
 * manner of testlib, whose arguments are the paths of these three texts, and which accepts by the exit code 0.
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
   * Checks the checker with the answer of a test as output, before any program runs, so that no program can choose whether
   * the program's episode has a score.
   *
   * @throws {Error} if the checker is broken: the source is no Python, uses an unknown name or module for the answer, or
   * has a function `check` that does not take three texts.
   */
  async verify(test: ProgramTest): Promise<void> {
    const result = await this.#run(test.output, test);
    if (result.status !== "error") return;
    const { type, message } = result.error;
    const isBroken = OWN_ERRORS.has(type) || (type === "SyntaxError" && !await this.#compiles());
    if (isBroken) throw new Error(`Cannot check output as the checker raised ${type}: ${message}`);
  }

  /** Returns whether the output of a program is right. A checker that fails on an output rejects the output. */
  async accepts(output: string, test: ProgramTest): Promise<boolean> {
    const result = await this.#run(output, test);
    return result.status === "ok";
  }

  async #compiles(): Promise<boolean> {
    const { source, timeoutMs, signal } = this.#options;
    const code = `compile(${pythonString(source)}, "${FILE}", "exec"); None`;
    const result = await this.#session.exec(code, { timeoutMs, signal, then: "rewind" });
    return result.status === "ok";
  }

  async #run(output: string, test: ProgramTest): Promise<ExecResult> {
    const { timeoutMs, signal } = this.#options;
    const files = { [FILES.input]: test.input, [FILES.output]: output, [FILES.answer]: test.output };
    return await this.#session.exec(this.#program, { argv: ARGV, files, timeoutMs, signal, then: "rewind" });
  }
}

/** Exceptions of a checker that the answer of the checker's own task must not cause. */
const OWN_ERRORS: ReadonlySet<string> = new Set([
  "NameError",
  "ImportError",
  "ModuleNotFoundError",
  "CheckerSignatureError",
]);
