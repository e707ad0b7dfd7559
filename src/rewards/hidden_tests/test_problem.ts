import { z } from "zod";
import type { Task } from "../../task.ts";

/** A problem whose solution is tested. */
export interface TestProblem {
  /** The beginning of the program, or prose. */
  readonly prompt: string;
  /** What the candidate must define; without it, what the tests call and nobody defines, if need be as a built-in. */
  readonly entryPoint?: string | undefined;
  /** Runs before the tests. */
  readonly setup: string;
  readonly tests: readonly string[];
}

const fieldsSchema = z.object({
  prompt: z.string().nullish(),
  entry_point: z.string().min(1).nullish(),
  test: z.string().min(1).nullish(),
  tests: z.array(z.string().min(1)).min(1).nullish(),
  test_list: z.array(z.string().min(1)).min(1).nullish(),
  test_setup_code: z.string().nullish(),
});

/**
 * The problem in a task's fields: those of HumanEval (`prompt`, `entry_point`, `test`), or asserts in a list
 * (`tests`, or MBPP's `test_list` with its `test_setup_code`). Without a `prompt` the query is one. `null` when the
 * task has no tests.
 *
 * @throws {TypeError} when a field is not of its type, or HumanEval's `check` has no `entry_point`.
 */
export function testProblem({ id, query, fields = {} }: Task): TestProblem | null {
  const parsed = fieldsSchema.safeParse(fields);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
    throw new TypeError(
      `Cannot test task '${id}' as its fields must be those of tests: ${faults.join("; ")}`,
    );
  }
  const { prompt, entry_point, test, tests, test_list, test_setup_code } = parsed.data;
  const asked = typeof query === "string" ? query : "";
  const common = { prompt: prompt ?? asked, entryPoint: entry_point ?? undefined };
  const list = tests ?? test_list;
  if (list) return { ...common, setup: test_setup_code ?? "", tests: list };
  if (!test) return null;
  const isCalledFor = /^def check\b/m.test(test) && !/^check\(/m.test(test);
  if (!isCalledFor) return { ...common, setup: test_setup_code ?? "", tests: [test] };
  if (common.entryPoint !== undefined) return { ...common, setup: test, tests: ["check(candidate)"] };
  throw new TypeError(`Cannot test task '${id}' as its fields must have an 'entry_point': there is none`);
}
