import * as z from "zod";
import type { Task } from "../../task.ts";
import { COMPARISONS, type OutputComparison } from "./output_comparison.ts";

/** A test that runs the whole program. */
export interface ProgramTest {
  /** Text of the program's stdin. */
  readonly input: string;
  /** Expected text of the program's stdout, or what a checker needs as the answer. */
  readonly output: string;
}

/** A problem with tests for its solution. */
export interface TestProblem {
  /** Beginning of the program, or prose. */
  readonly prompt: string;
  /**
   * Name that the candidate must define. Without it, each name that the tests call and do not define; if
   * there is none, the only built-in that they call.
   */
  readonly entryPoint?: string | undefined;
  /** Code that runs before the code tests. */
  readonly setup: string;
  /** Tests that are Python code. The program runs as a module before the first of them. */
  readonly codeTests: readonly string[];
  readonly programTests: readonly ProgramTest[];
  readonly programOptions: ProgramTestOptions;
}

/** How the program tests of a task are judged. */
export interface ProgramTestOptions {
  readonly comparison: OutputComparison;
  /** True if a program that calls `sys.exit` or `os._exit` with another code than 0 fails. */
  readonly checksExitCode: boolean;
  /** Source of a program that judges the output instead of the comparison. */
  readonly checker?: string | undefined;
}

/** Maximum length of an entry point, in characters. */
const MAX_NAME_CHARACTERS = 1_000;

const programTestSchema = z.object({ input: z.string(), output: z.string(), testtype: z.string().nullish() });

const fieldsSchema = z.object({
  prompt: z.string().nullish(),
  entry_point: z.string().max(MAX_NAME_CHARACTERS).regex(/^[\p{L}_]/u, "must begin with a Python name")
    .nullish(),
  test: z.string().min(1).nullish(),
  tests: z.array(z.union([z.string().min(1), programTestSchema])).min(1).nullish(),
  test_list: z.array(z.string().min(1)).min(1).nullish(),
  test_setup_code: z.string().nullish(),
  test_imports: z.array(z.string()).nullish(),
  output_comparison: z.enum(COMPARISONS).nullish(),
  check_exit_code: z.boolean().nullish(),
  checker: z.string().min(1).nullish(),
});

/**
 * Reads the problem from a task's fields: those of HumanEval (`prompt`, `entry_point`, `test`), or a list of
 * tests (`tests`, or MBPP's `test_list` with `test_setup_code`
 * and `test_imports`). A test is code, or the `input` and `output` of the
 * whole program. `output_comparison`, `check_exit_code` and `checker` say how output is judged. Without a `prompt`,
 * the query is used.
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
  const { prompt, entry_point, test, tests, test_list, test_setup_code, test_imports } = parsed.data;
  requireStdinTests(id, tests ?? []);
  const question = typeof query === "string" ? query : "";
  const common = {
    prompt: prompt ?? question,
    entryPoint: entry_point ?? undefined,
    setup: [...test_imports ?? [], test_setup_code ?? ""].join("\n"),
    programTests: tests?.filter((entry) => typeof entry !== "string") ?? [],
    programOptions: {
      comparison: parsed.data.output_comparison ?? "lines",
      checksExitCode: parsed.data.check_exit_code ?? false,
      checker: parsed.data.checker ?? undefined,
    },
  };
  const codeTests = tests?.filter((entry) => typeof entry === "string") ?? test_list;
  if (codeTests) return { ...common, codeTests };
  if (!test) return null;
  const isCalledFor = /^def check\b/m.test(test) && !/^check\(/m.test(test);
  if (!isCalledFor) return { ...common, codeTests: [test] };
  if (common.entryPoint !== undefined) {
    return { ...common, setup: [...test_imports ?? [], test].join("\n"), codeTests: ["check(candidate)"] };
  }
  throw new TypeError(`Cannot test task '${id}' as its fields must have an 'entry_point': found none`);
}

/** Throws if a test in the form of LiveCodeBench is not one that runs the program with a text on stdin. */
function requireStdinTests(id: string, tests: readonly (string | z.infer<typeof programTestSchema>)[]): void {
  const types = tests.map((test) => typeof test === "string" ? "stdin" : test.testtype ?? "stdin");
  const index = types.findIndex((type) => type !== "stdin");
  if (index < 0) return;
  throw new TypeError(
    `Cannot test task '${id}' as the 'testtype' of test ${index + 1} must be 'stdin': it is '${
      types[index]
    }'. ` +
      "Write a functional test as code, such as 'assert Solution().add(1, 2) == 3'",
  );
}

/** Returns the number of tests of a problem. */
export function countTests({ codeTests, programTests }: TestProblem): number {
  return codeTests.length + programTests.length;
}
