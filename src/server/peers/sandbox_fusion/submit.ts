import * as z from "zod";
import { mapConcurrently } from "../../../async/map_concurrently.ts";
import { parseUntrustedJson } from "../../../json.ts";
import { ServerError } from "../../http/http_errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import { programRequest, type SubmitRequest, type SubmitResponse, type TestOutcome } from "./contract.ts";
import { runProgram } from "./run.ts";

const DATASET_TYPE = "CommonOJDataset";
const LANGUAGES = ["python", "bash"];
const RUN_TIMEOUT = 20;
const MAX_TESTS = 1_000;
/** Maximum number of characters of a passed test in the response. */
const MAX_SHOWN = 1_000;

const streams = z.record(z.string(), z.string());
const test = z.object({
  input: streams.and(z.object({ stdin: z.string() })),
  output: streams.and(z.object({ stdout: z.string() })),
});
const row = z.object({ test: z.union([z.string().transform(parseJson), z.unknown()]) });

type StdioTest = z.output<typeof test>;

/** Runs a function in a new session. */
export type InSession = <T>(run: (session: LiveSession) => Promise<T>, signal: AbortSignal) => Promise<T>;

/**
 * Runs the program of a completion against the tests of the request, each in a separate interpreter. Stops at
 * the first failure unless `run_all_cases` is set.
 *
 * @throws {ServerError} `malformed` if the request is not supported; also the errors of sessions.
 */
export async function submit(
  { id, completion, config, dataset }: SubmitRequest,
  options: { inSession: InSession; concurrency: number; signal: AbortSignal },
): Promise<SubmitResponse> {
  const { language, cases } = readCases(config, dataset);
  const code = extractFencedCode(completion, language);
  const run_timeout = config.run_timeout ?? RUN_TIMEOUT;
  const { inSession, concurrency, signal } = options;
  const runTest = async (test: StdioTest, signal: AbortSignal): Promise<TestOutcome> => {
    const request = programRequest.parse({ code, language, run_timeout, stdin: test.input.stdin });
    const exec_info = await inSession((session) => runProgram(session, request, signal), signal);
    const { status, run_result } = exec_info;
    const passed = status === "Success" && isSameOutput(run_result?.stdout ?? "", test.output.stdout);
    return { passed, exec_info, test_info: passed && !config.extra.return_full_case ? shorten(test) : test };
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

function readCases(
  config: SubmitRequest["config"],
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

/** Shortens a passed test for the response. */
function shorten({ input, output }: StdioTest): StdioTest {
  const shortenAll = (texts: Record<string, string>) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, keepEnds(text)]));
  return {
    input: { ...shortenAll(input), stdin: keepEnds(input.stdin) },
    output: { ...shortenAll(output), stdout: keepEnds(output.stdout) },
  };
}

function keepEnds(text: string): string {
  if (text.length <= MAX_SHOWN) return text;
  const half = Math.floor(MAX_SHOWN / 2);
  return `${text.slice(0, half)}...${text.slice(-half)}`.toWellFormed();
}

function parseJson(text: string): unknown {
  try {
    return parseUntrustedJson(text);
  } catch {
    return undefined; // the schema refuses a value that is not a list
  }
}

function malformed(message: string): ServerError {
  return new ServerError("malformed", message);
}

interface Block {
  readonly language: string;
  readonly code: string;
  readonly isClosed: boolean;
}

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  python: ["python", "python3", "py"],
  bash: ["bash", "sh", "shell"],
};

/**
 * Returns the program of a completion: the first closed block in the language, else the first closed block, else an
 * unclosed block, else an empty string.
 */
export function extractFencedCode(completion: string, language: string): string {
  const blocks = fencedBlocks(completion);
  const closed = blocks.filter(({ isClosed }) => isClosed);
  const found = closed.length > 0 ? closed : blocks;
  const names = ALIASES[language] ?? [language];
  return (found.find((block) => names.includes(block.language)) ?? found[0])?.code ?? "";
}

function fencedBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; lines: string[] } | undefined;
  for (const line of text.split("\n")) {
    const fence = line.indexOf("```");
    if (open === undefined && fence >= 0) {
      open = { language: line.slice(fence + 3).trim().toLowerCase(), lines: [] };
    } else if (open !== undefined && line.trimStart().startsWith("```")) {
      blocks.push({ language: open.language, code: open.lines.join("\n"), isClosed: true });
      open = undefined;
    } else open?.lines.push(line);
  }
  if (open !== undefined) {
    blocks.push({ language: open.language, code: open.lines.join("\n"), isClosed: false });
  }
  return blocks;
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;
const TOLERANCE = 1e-5;

/** Compares output line by line, ignoring case and outer blanks; numbers may differ by a relative 1e-5. */
export function isSameOutput(printed: string, expected: string): boolean {
  const [lines, wanted] = [linesOf(printed), linesOf(expected)];
  return lines.length === wanted.length && lines.every((line, at) => sameLine(line, wanted[at] ?? ""));
}

function linesOf(text: string): string[] {
  return text.trim().split("\n").map((line) => line.trim().toLowerCase());
}

function sameLine(line: string, wanted: string): boolean {
  if (line === wanted) return true;
  if (!NUMBER.test(line) || !NUMBER.test(wanted)) return false;
  const [found, expected] = [Number(line), Number(wanted)];
  return Math.abs(found - expected) / Math.max(Math.abs(expected), 1e-10) < TOLERANCE;
}
