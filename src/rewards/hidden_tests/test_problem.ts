import * as z from "zod";
import type { Task } from "../../task.ts";
import { pythonString } from "../../sandbox/isolated/callee.ts";
import { COMPARISONS, type OutputComparison } from "./output_comparison.ts";

/** A test that runs the whole program. */
export interface ProgramTest {
  /** Text of the program's stdin. */
  readonly input: string;
  /** Expected text of the program's stdout, or what a checker needs as the answer. */
  readonly output: string;
}

/** A problem with tests for the solution. */
export interface TestProblem {
  /** Beginning of the program, or prose. */
  readonly prompt: string;
  /**
   * Name that the candidate must define. By default, each name that the tests call and do not
   * define; if there is no such name, the only built-in that they call.
   */
  readonly entryPoint?: string | undefined;
  /** Code that runs before the code tests. */
  readonly setup: string;
  /** Tests that are Python code. The program runs as a module before the first of them. */
  readonly codeTests: readonly string[];
  readonly programTests: readonly ProgramTest[];
  readonly programOptions: ProgramTestOptions;
}

/** Rules by which the program tests of a task are judged. */
export interface ProgramTestOptions {
  readonly comparison: OutputComparison;
  /** True if a program that calls `sys.exit` or `os._exit` with another code than 0 fails. */
  readonly checksExitCode: boolean;
  /** Source of a program that judges the output instead of the comparison. */
  readonly checker?: string | undefined;
}

/** Maximum length of an entry point, in characters. */
const MAX_NAME_CHARACTERS = 1_000;

const TEST_TYPES = ["stdin", "functional"] as const;

/** A test of a whole program, or, in the form of LiveCodeBench, of a function. */
const ioTestSchema = z.object({
  input: z.string(),
  output: z.string(),
  testtype: z.enum(TEST_TYPES).nullish(),
});
type IoTest = z.infer<typeof ioTestSchema>;

const functionName = z.string().max(MAX_NAME_CHARACTERS).regex(
  /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u,
  "must be a Python name",
);

/** `metadata` of LiveCodeBench, whose rows have JSON text. */
const metadataSchema = z.preprocess((metadata, context) => {
  if (typeof metadata !== "string") return metadata;
  try {
    return JSON.parse(metadata);
  } catch {
    context.addIssue({ code: "custom", message: "must be JSON" });
    return z.NEVER;
  }
}, z.object({ func_name: functionName.nullish() }));

const fieldsSchema = z.object({
  prompt: z.string().nullish(),
  entry_point: z.string().max(MAX_NAME_CHARACTERS).regex(/^[\p{L}_]/u, "must begin with a Python name")
    .nullish(),
  test: z.string().min(1).nullish(),
  tests: z.array(z.union([z.string().min(1), ioTestSchema])).min(1).nullish(),
  starter_code: z.string().nullish(),
  metadata: z.unknown().optional(),
  test_list: z.array(z.string().min(1)).min(1).nullish(),
  test_setup_code: z.string().nullish(),
  test_imports: z.array(z.string()).nullish(),
  output_comparison: z.enum(COMPARISONS).nullish(),
  check_exit_code: z.boolean().nullish(),
  checker: z.string().min(1).nullish(),
});

/**
 * Reads the problem from a task's fields: the fields of HumanEval (`prompt`, `entry_point`, `test`), or a list of tests
 * (`tests`, or MBPP's `test_list` with `test_setup_code` and `test_imports`). A test is code, or the `input` and `output`
 * of the whole program, or, with the `testtype` `functional` of LiveCodeBench, the arguments and the result of a
 * function. `output_comparison`, `check_exit_code` and `checker` say how output is judged. Without a `prompt`, the query
 * is used. Returns `null` if the task has no tests.
 *
 * @throws {TypeError} when a field has the wrong type, HumanEval's `check` has no `entry_point`, or a functional test no
 * function.
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
  const ioTests = tests?.filter((entry) => typeof entry !== "string") ?? [];
  const functional = ioTests.filter(isFunctional);
  const target = functional.length > 0 ? functionOf(id, parsed.data) : undefined;
  const question = typeof query === "string" ? query : "";
  const common = {
    prompt: target ? FUNCTIONAL_PROMPT : prompt ?? question,
    entryPoint: target?.entryPoint ?? entry_point ?? undefined,
    setup: [...test_imports ?? [], test_setup_code ?? "", target ? FUNCTIONAL_SETUP : ""].join("\n"),
    programTests: ioTests.filter((test) => !isFunctional(test)),
    programOptions: {
      comparison: parsed.data.output_comparison ?? "lines",
      checksExitCode: parsed.data.check_exit_code ?? false,
      checker: parsed.data.checker ?? undefined,
    },
  };
  const codeTests = tests
    ? [
      ...tests.filter((entry) => typeof entry === "string"),
      ...functional.map((test) => functionalTest(test, target?.expression ?? "")),
    ]
    : test_list;
  if (codeTests) return { ...common, codeTests };
  if (!test) return null;
  const isCalledFor = /^def check\b/m.test(test) && !/^check\(/m.test(test);
  if (!isCalledFor) return { ...common, codeTests: [test] };
  if (common.entryPoint !== undefined) {
    return { ...common, setup: [...test_imports ?? [], test].join("\n"), codeTests: ["check(candidate)"] };
  }
  throw new TypeError(`Cannot test task '${id}' as its fields must have an 'entry_point': found none`);
}

function isFunctional({ testtype }: IoTest): boolean {
  return testtype === "functional";
}

/**
 * Begins the program of functional tests. LiveCodeBench imports all names of these modules, so that signatures such as
 * `def add(self, numbers: List[int])` need no import.
 */
const FUNCTIONAL_PROMPT = [
  ..."string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json"
    .split(" "),
  "builtins",
  "typing",
].map((name) => `from ${name} import *`).join("\n") +
  "\nimport string, re, datetime, collections, heapq, bisect, copy, math, random, statistics\n" +
  "import itertools, functools, operator, io, sys, json\n";

/** A tuple is equal to the list of the same items, as in LiveCodeBench. */
const FUNCTIONAL_SETUP = "import json\n" +
  "def paddock_is_result(result, expected):\n" +
  "    return (list(result) if isinstance(result, tuple) else result) == json.loads(expected)\n";

/** Returns the code of a functional test. Each line of the input is an argument as JSON, and the output the result. */
function functionalTest({ input, output }: IoTest, target: string): string {
  const lines = input.split("\n").map((line) => `json.loads(${pythonString(line)})`).join(", ");
  return `assert paddock_is_result(${target}(${lines}), ${pythonString(output)})`;
}

/** Returns the function that functional tests call, and the name that the program must define for that. */
function functionOf(
  id: string,
  fields: Pick<z.infer<typeof fieldsSchema>, "metadata" | "starter_code" | "entry_point">,
): { entryPoint: string; expression: string } {
  const metadata = metadataSchema.nullish().safeParse(fields.metadata);
  const name = functionName.safeParse(metadata.data?.func_name ?? fields.entry_point);
  if (!metadata.success || !name.success) {
    const found = JSON.stringify(fields.metadata ?? null);
    throw new TypeError(
      `Cannot test task '${id}' as a functional test needs 'metadata' with 'func_name', or an 'entry_point' that is a ` +
        `name: found ${found.slice(0, 100)}`,
    );
  }
  const isMethod = /^class\s+Solution\b/m.test(fields.starter_code ?? "class Solution");
  if (!isMethod) return { entryPoint: name.data, expression: name.data };
  return { entryPoint: "Solution", expression: `Solution().${name.data}` };
}

/** Returns the number of tests of a problem. */
export function countTests({ codeTests, programTests }: TestProblem): number {
  return codeTests.length + programTests.length;
}
