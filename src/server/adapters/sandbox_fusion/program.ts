import type { z } from "zod";
import type { LiveSession } from "../../live_session.ts";
import type { ExecOptions, ExecResult, ShellResult } from "../../../sandbox/exec.ts";
import { runScript } from "../adapter.ts";
import { getFiles, putFiles } from "./files.ts";
import BUILT_IN_FIXTURES from "./built_in_fixtures.py" with { type: "text" };
import FIXTURES from "./fixtures.py" with { type: "text" };
import RUN_TESTS from "./run_tests.py" with { type: "text" };
import SMALL_PYTEST from "./small_pytest.py" with { type: "text" };
import {
  type CommandRunResult,
  type programRequest,
  runStatusOf,
  toCommandResult,
  toRefusal,
} from "./messages.ts";

const LANGUAGES = ["python", "pytest", "bash"] as const;
/** File that the tests are written to and run from. */
const TESTS = "test_program";

type ProgramLanguage = (typeof LANGUAGES)[number];

/** Response of `/run_code`. */
export interface ProgramResponse extends Omit<ReturnType<typeof toRefusal>, "run_result"> {
  readonly run_result: CommandRunResult | null;
}

/** Runs one program. */
export async function runProgram(
  session: LiveSession,
  request: z.output<typeof programRequest>,
  signal: AbortSignal,
): Promise<ProgramResponse> {
  const { code, language, stdin } = request;
  if (!isKnown(language)) {
    return toRefusal(`language '${language}' is not available here: it must be python, pytest or bash`);
  }
  await putFiles(session, request.files);
  const options = { timeoutMs: request.run_timeout * 1000, stdin: stdin ?? undefined, signal };
  const run = toCommandResult(await RUNS[language](session, code, options));
  const files = await getFiles(session, request.fetch_files);
  return { ...toRefusal(""), status: runStatusOf(run), run_result: run, files };
}

function isKnown(language: string): language is ProgramLanguage {
  return LANGUAGES.some((known) => known === language);
}

const RUNS: Readonly<
  Record<
    ProgramLanguage,
    (session: LiveSession, code: string, options: ExecOptions) => Promise<ExecResult | ShellResult>
  >
> = {
  python: runScript,
  pytest: runTests,
  bash: (session, code, { timeoutMs, stdin, signal }) => session.shell(code, { timeoutMs, stdin, signal }),
};

/** Runs tests in the manner of pytest. Tests and what they test share an interpreter, as they do there. */
async function runTests(session: LiveSession, code: string, options: ExecOptions): Promise<ExecResult> {
  await session.writeFile(`${TESTS}.py`, code);
  const runner = [SMALL_PYTEST, FIXTURES, BUILT_IN_FIXTURES, RUN_TESTS].join("\n");
  return await session.exec(`${runner}\nraise SystemExit(main("${TESTS}"))`, options);
}
