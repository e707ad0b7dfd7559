import * as z from "zod";
import { pythonString } from "../../sandbox/isolated/callee.ts";
import type { Task } from "../../task.ts";

/** A problem with tests for its solution. */
export interface TestProblem {
  /** Beginning of the program, or prose. */
  readonly prompt: string;
  /**
   * Name that the candidate must define. Without it, each name that the tests call and do not define; if
   * there is none, the only built-in that they call.
   */
  readonly entryPoint?: string | undefined;
  /** Code that runs before the tests. */
  readonly setup: string;
  readonly tests: readonly string[];
  /** False if all tests run the whole program, so that it must not run as a module before. */
  readonly isModule: boolean;
}

/** Maximum length of an entry point, in characters. */
const MAX_NAME_CHARACTERS = 1_000;

const ioTestSchema = z.object({ input: z.string(), output: z.string() });

const fieldsSchema = z.object({
  prompt: z.string().nullish(),
  entry_point: z.string().max(MAX_NAME_CHARACTERS).regex(/^[\p{L}_]/u, "must begin with a Python name")
    .nullish(),
  test: z.string().min(1).nullish(),
  tests: z.array(z.union([z.string().min(1), ioTestSchema])).min(1).nullish(),
  test_list: z.array(z.string().min(1)).min(1).nullish(),
  test_setup_code: z.string().nullish(),
});

/**
 * Reads the problem from a task's fields: those of HumanEval (`prompt`, `entry_point`, `test`), or a list of
 * tests (`tests`, or MBPP's `test_list` with `test_setup_code`). A test is code, or the `input` and `output` of the
 * whole program. Without a `prompt`, the query is used.
 * Returns `null` if the task has no tests.
 *
 * @throws {TypeError} when a field has the wrong type, or HumanEval's `check` has no `entry_point`.
 */
export function readTestProblem({ id, query, fields = {} }: Task): TestProblem | null {
  const parsed = fieldsSchema.safeParse(fields);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
    throw new TypeError(
      `Cannot test task '${id}' as its fields are invalid: ${faults.join("; ")}`,
    );
  }
  const { prompt, entry_point, test, tests, test_list, test_setup_code } = parsed.data;
  const question = typeof query === "string" ? query : "";
  const common = { prompt: prompt ?? question, entryPoint: entry_point ?? undefined };
  const isModule = tests?.some((entry) => typeof entry === "string") ?? true;
  const list = tests?.map((entry) => typeof entry === "string" ? entry : programTest(entry)) ?? test_list;
  if (list) return { ...common, setup: test_setup_code ?? "", tests: list, isModule };
  if (!test) return null;
  const isCalledFor = /^def check\b/m.test(test) && !/^check\(/m.test(test);
  if (!isCalledFor) return { ...common, setup: test_setup_code ?? "", tests: [test], isModule };
  if (common.entryPoint !== undefined) {
    return { ...common, setup: test, tests: ["check(candidate)"], isModule };
  }
  throw new TypeError(`Cannot test task '${id}' as its fields must have an 'entry_point': found none`);
}

/** Returns a test that runs the program with an input and compares its output, without spaces at the ends of lines. */
function programTest({ input, output }: { readonly input: string; readonly output: string }): string {
  return `assert run_program(${pythonString(input)}) == output_lines(${pythonString(output)})`;
}
