import { displayCharacters, shownBundlesOf } from "../../../sandbox/display.ts";
import type { ExecOptions, ExecResult } from "../../../sandbox/contract/exec.ts";
import type { ShellResult } from "../../../sandbox/contract/shell.ts";
import { MAX_FETCHED_BYTES } from "../../../sandbox/guest_files.ts";
import { pythonStr } from "../../../tools/python_repr.ts";
import { MAX_BATCH_CHARACTERS } from "../../../wire/limits.ts";
import { ServerError } from "../../http/http_errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import { jailPath, runScript, toScriptOutcome } from "../script.ts";
import BUILT_IN_FIXTURES from "./built_in_fixtures.py" with { type: "text" };
import FIXTURES from "./fixtures.py" with { type: "text" };
import type {
  CellResult,
  CellsRequest,
  CellsResponse,
  CommandRunResult,
  FusionRequest,
  ProgramResponse,
  RunStatus,
} from "./contract.ts";
import RUN_TESTS from "./run_tests.py" with { type: "text" };
import SMALL_PYTEST from "./small_pytest.py" with { type: "text" };

const LANGUAGES = ["python", "pytest", "bash"] as const;
/** File that the tests are written to and run from. */
const TESTS = "test_program";

const MIB = 1024 * 1024;
/** Files whose name contains this text are not written. */
const IGNORED = "IGNORE_THIS_FILE";

type ProgramLanguage = (typeof LANGUAGES)[number];

/** Runs a program. */
export async function runProgram(
  session: LiveSession,
  request: FusionRequest,
  signal: AbortSignal,
): Promise<ProgramResponse> {
  const { code, language, stdin } = request;
  if (!isKnown(language)) {
    return toRefusal(`language '${language}' is not available here: it must be python, pytest or bash`);
  }
  await putRequestFiles(session, request.files);
  const { run_timeout: seconds, memory_limit_MB: mebibytes } = request;
  const memoryBytes = mebibytes > 0 ? mebibytes * MIB : undefined;
  const options = { timeoutMs: seconds * 1000, memoryBytes, stdin: stdin ?? undefined, signal };
  const run = toCommandResult(await RUNS[language](session, code, options));
  const files = await fetchFiles(session, request.fetch_files);
  return { ...toRefusal(""), status: runStatusOf(run), run_result: run, files };
}

/** Converts a result to SandboxFusion's format. */
function toCommandResult(result: ExecResult | ShellResult): CommandRunResult {
  const { stdout, stderr, exitCode } = toScriptOutcome(result);
  return {
    status: exitCode === null ? "TimeLimitExceeded" : "Finished",
    execution_time: result.durationMs / 1000,
    return_code: exitCode,
    stdout,
    stderr,
  };
}

/** Returns the status of a request from the run. */
function runStatusOf({ status, return_code }: CommandRunResult): RunStatus {
  if (status === "Error") return "SandboxError";
  return status === "Finished" && return_code === 0 ? "Success" : "Failed";
}

/** Returns the response to a program that cannot run on this server. */
export function toRefusal(message: string): ProgramResponse {
  return {
    status: "SandboxError",
    message,
    compile_result: null,
    run_result: null,
    executor_pod_name: null,
    files: {},
  };
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
  bash: (session, code, { timeoutMs, memoryBytes, stdin, signal }) =>
    session.shell(code, { timeoutMs, memoryBytes, stdin, signal }),
};

/** Runs tests in the manner of pytest. Tests and what they test share an interpreter, as they do there. */
async function runTests(session: LiveSession, code: string, options: ExecOptions): Promise<ExecResult> {
  await session.writeFile(`${TESTS}.py`, code);
  const runner = [SMALL_PYTEST, FIXTURES, BUILT_IN_FIXTURES, RUN_TESTS].join("\n");
  return await session.exec(`${runner}\nraise SystemExit(main("${TESTS}"))`, options);
}

/** Runs cells in order until the total timeout, even if a cell raises. */
export async function runCells(
  session: LiveSession,
  request: CellsRequest,
  signal: AbortSignal,
): Promise<CellsResponse> {
  if (request.kernel !== "python3") {
    return toCellsRefusal(`kernel '${request.kernel}' is not available here: it must be python3`);
  }
  await putRequestFiles(session, request.files);
  const cells: CellResult[] = [];
  const startedAt = performance.now();
  let isTimeout = false;
  let characters = 0;
  for (const code of request.cells) {
    const timeoutMs = request.total_timeout * 1000 - (performance.now() - startedAt);
    isTimeout = timeoutMs <= 0;
    if (isTimeout) break;
    const result = await session.exec(code, { timeoutMs, signal, cell: true });
    cells.push(cellResult(result));
    characters += result.stdout.length + result.stderr.length + displayCharacters(result);
    if (characters > MAX_BATCH_CHARACTERS) {
      throw new ServerError(
        "invalid",
        `All cells together must print and show at most ${MAX_BATCH_CHARACTERS} characters`,
      );
    }
    isTimeout = result.status === "timeout";
    if (isTimeout) break;
  }
  const driver = driverResult(isTimeout, (performance.now() - startedAt) / 1000);
  const files = await fetchFiles(session, request.fetch_files);
  return { status: runStatusOf(driver), message: "", driver, cells, executor_pod_name: null, files };
}

/** Returns the response to cells that cannot run on this server. */
export function toCellsRefusal(message: string): CellsResponse {
  const nothing = { driver: null, cells: [], executor_pod_name: null, files: {} };
  return { status: "SandboxError", message, ...nothing };
}

function driverResult(isTimeout: boolean, seconds: number): CommandRunResult {
  return {
    status: isTimeout ? "TimeLimitExceeded" : "Finished",
    execution_time: seconds,
    return_code: isTimeout ? null : 0,
    stdout: "",
    stderr: "",
  };
}

function cellResult(result: ExecResult): CellResult {
  const { stdout, stderr } = result;
  const display = shownBundlesOf(result).map(({ bundle }) => bundle);
  return { stdout, stderr, display, error: cellError(result) };
}

function cellError(result: ExecResult): CellResult["error"] {
  if (result.status === "exited") {
    const evalue = String(result.exitCode);
    return [{ ename: "SystemExit", evalue, traceback: [`SystemExit: ${evalue}`] }];
  }
  if (!("error" in result)) return [];
  const { type, message, traceback } = result.error;
  return [{ ename: type, evalue: message, traceback: traceback.trimEnd().split("\n") }];
}

const HOME = "/home/pyodide";
/** Name of the temporary copy of a file outside the working directory. */
const COPY = ".paddock-fetched";
const COPY_MS = 5_000;

/**
 * Writes the files of a request.
 *
 * @throws {ServerError} `invalid` if a path leads outside the working directory.
 */
async function putRequestFiles(
  session: LiveSession,
  files: Readonly<Record<string, string | null>>,
): Promise<void> {
  for (const [path, contents] of filesToWrite(files)) {
    const inside = jailPath(path);
    if (inside === undefined) {
      throw new ServerError("invalid", `Cannot write '${path}' as it must be inside the working directory`);
    }
    await session.writeFile(inside, Uint8Array.fromBase64(contents));
  }
}

/** Returns the files of a request to write. */
function filesToWrite(files: Readonly<Record<string, string | null>>): [string, string][] {
  return Object.entries(files).flatMap(([path, contents]) =>
    contents === null || path.includes(IGNORED) ? [] : [[path, contents] as [string, string]]
  );
}

/**
 * Reads files as base64 by their requested names, each once. Missing files are left out.
 *
 * @throws {ServerError} `invalid` if the files have too many bytes together.
 */
export async function fetchFiles(
  session: LiveSession,
  paths: readonly string[],
): Promise<Record<string, string>> {
  const found: [string, string][] = [];
  let bytes = 0;
  for (const path of new Set(paths)) {
    const inside = jailPath(path) ?? await copyIn(session, path);
    const contents = inside && await session.readFile(inside).catch(missing);
    if (!contents) continue;
    bytes += contents.length;
    if (bytes > MAX_FETCHED_BYTES) {
      throw new ServerError(
        "invalid",
        `The fetched files must have at most ${MAX_FETCHED_BYTES} bytes together`,
      );
    }
    found.push([path, contents.toBase64()]);
  }
  return Object.fromEntries(found);
}

/**
 * Copies a guest file from outside the working directory into the working directory. Returns the copy's path, if the file
 * exists.
 */
async function copyIn(session: LiveSession, path: string): Promise<string | undefined> {
  const from = path.startsWith("/") ? path : `${HOME}/${path}`;
  const copy = `__import__("shutil").copyfile(*${pythonStr([from, `${HOME}/${COPY}`])})`;
  const { status } = await session.exec(copy, { timeoutMs: COPY_MS });
  return status === "ok" ? COPY : undefined;
}

function missing(error: unknown): undefined {
  if (!(error instanceof ServerError) || error.code !== "not_found") throw error;
}
