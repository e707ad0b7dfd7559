import { z } from "zod";
import { mapConcurrently } from "../../../async/map_concurrently.ts";
import type { LiveSession } from "../../live_session.ts";
import { ServerError } from "../../server_error.ts";
import { fencedCode } from "./fenced_code.ts";
import { programRequest } from "./messages.ts";
import { type ProgramAnswer, runProgram } from "./program.ts";
import { sameOutput } from "./same_output.ts";

const DATASET_TYPE = "CommonOJDataset";
const LANGUAGES = ["python", "bash"];
const RUN_TIMEOUT = 20;
const MAX_TESTS = 1_000;
/** Of a test that was passed no more than this is told back. */
const MAX_TOLD = 1_000;

const seconds = programRequest.shape.run_timeout;

/** The body of `/submit`. What it may hold beside this is passed over. */
export const submitRequest = z.object({
  dataset: z.string(),
  id: z.union([z.string(), z.number()]),
  completion: z.string(),
  config: z.object({
    dataset_type: z.string().nullish(),
    language: z.string().nullish(),
    run_timeout: seconds.nullish(),
    custom_extract_logic: z.string().nullish(),
    provided_data: z.unknown(),
    extra: z.looseObject({ run_all_cases: z.unknown(), return_full_case: z.unknown() }).partial().default({}),
  }),
});

const streams = z.record(z.string(), z.string());
const test = z.object({
  input: streams.and(z.object({ stdin: z.string() })),
  output: streams.and(z.object({ stdout: z.string() })),
});
const row = z.object({ test: z.union([z.string().transform(parsed), z.unknown()]) });

type StdioTest = z.output<typeof test>;

/** What became of one test. */
interface TestOutcome {
  readonly passed: boolean;
  readonly exec_info: ProgramAnswer;
  readonly test_info: StdioTest;
}

/** The answer of `/submit`. */
export interface SubmitAnswer {
  readonly id: string | number;
  readonly accepted: boolean;
  readonly extracted_code: string;
  readonly full_code: null;
  readonly test_code: null;
  readonly tests: readonly TestOutcome[];
  readonly extracted_type: null;
  readonly extra: null;
}

/** Runs something in a session of its own. */
export type InSession = <T>(run: (session: LiveSession) => Promise<T>, signal: AbortSignal) => Promise<T>;

/**
 * Runs the program of a completion against the tests that came with it, each in an interpreter of its own, up to
 * the first that fails unless all are asked for.
 *
 * @throws {ServerError} `malformed` when it asks for what is not here; whatever a session throws.
 */
export async function submit(
  { id, completion, config, dataset }: z.output<typeof submitRequest>,
  options: { inSession: InSession; concurrency: number; signal: AbortSignal },
): Promise<SubmitAnswer> {
  const { language, cases } = checked(config, dataset);
  const code = fencedCode(completion, language);
  const run_timeout = config.run_timeout ?? RUN_TIMEOUT;
  const { inSession, concurrency, signal } = options;
  const runTest = async (test: StdioTest, signal: AbortSignal): Promise<TestOutcome> => {
    const request = programRequest.parse({ code, language, run_timeout, stdin: test.input.stdin });
    const exec_info = await inSession((session) => runProgram(session, request, signal), signal);
    const { status, run_result } = exec_info;
    const passed = status === "Success" && sameOutput(run_result?.stdout ?? "", test.output.stdout);
    return { passed, exec_info, test_info: passed && !config.extra.return_full_case ? brief(test) : test };
  };
  const tests: TestOutcome[] = [];
  for await (const outcome of mapConcurrently(cases, runTest, { concurrency, signal, ordered: true })) {
    tests.push(outcome);
    if (!outcome.passed && !config.extra.run_all_cases) break;
  }
  const accepted = tests.every(({ passed }) => passed);
  const nothing = { full_code: null, test_code: null, extracted_type: null, extra: null };
  return { id, accepted, extracted_code: code, tests, ...nothing };
}

function checked(
  config: z.output<typeof submitRequest>["config"],
  dataset: string,
): { language: string; cases: readonly StdioTest[] } {
  const { dataset_type: type, language, provided_data, custom_extract_logic } = config;
  if (!type) throw malformed(`no eval class found for dataset ${dataset}`);
  if (type !== DATASET_TYPE) throw malformed(`eval class ${type} not found`);
  if (!language) throw malformed(`config.language field must exist for ${DATASET_TYPE}, got None`);
  if (!LANGUAGES.includes(language)) throw malformed(`language '${language}' is not available here`);
  if (custom_extract_logic) throw malformed("config.custom_extract_logic is not available here");
  const { success, data } = row.safeParse(provided_data);
  if (!success) throw malformed("request.config.provided_data should be a dict with str -> str | int");
  const cases = z.array(test).min(1).max(MAX_TESTS).safeParse(data.test);
  if (cases.success) return { language, cases: cases.data };
  throw malformed(
    `provided_data.test must be a list of 1 to ${MAX_TESTS} {input: {stdin}, output: {stdout}}`,
  );
}

/** A test as it is told of when nobody has to look at it. */
function brief({ input, output }: StdioTest): StdioTest {
  const cut = (texts: Record<string, string>) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, ends(text)]));
  return {
    input: { ...cut(input), stdin: ends(input.stdin) },
    output: { ...cut(output), stdout: ends(output.stdout) },
  };
}

function ends(text: string): string {
  if (text.length <= MAX_TOLD) return text;
  const half = Math.floor(MAX_TOLD / 2);
  return `${text.slice(0, half)}...${text.slice(-half)}`.toWellFormed();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // it is refused as what is no list
  }
}

function malformed(message: string): ServerError {
  return new ServerError("malformed", message);
}
