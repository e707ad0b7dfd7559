import type { z } from "zod";
import type { ExecResult } from "../../../sandbox/exec.ts";
import { MAX_BATCH_CHARACTERS } from "../../../wire/limits.ts";
import type { LiveSession } from "../../live_session.ts";
import { ServerError } from "../../server_error.ts";
import { cellSource } from "../adapter.ts";
import { getFiles, putFiles } from "./files.ts";
import { type cellsRequest, type CommandRunResult, type RunStatus, runStatus } from "./messages.ts";

/** What became of one cell. */
interface CellResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly display: readonly Record<string, string>[];
  readonly error: readonly { ename: string; evalue: string; traceback: readonly string[] }[];
}

/** The answer of `/run_jupyter`. */
export interface CellsAnswer {
  readonly status: RunStatus;
  readonly message: string;
  readonly driver: CommandRunResult | null;
  readonly cells: readonly CellResult[];
  readonly executor_pod_name: null;
  readonly files: Readonly<Record<string, string>>;
}

/** Runs cells one after the other, whether or not one raises, until their time is over. */
export async function runCells(
  session: LiveSession,
  request: z.output<typeof cellsRequest>,
  signal: AbortSignal,
): Promise<CellsAnswer> {
  if (request.kernel !== "python3") {
    return cellsRefusal(`kernel '${request.kernel}' is not available here: it must be python3`);
  }
  await putFiles(session, request.files);
  const cells: CellResult[] = [];
  const startedAt = performance.now();
  let late = false;
  let characters = 0;
  for (const code of request.cells) {
    const timeoutMs = request.total_timeout * 1000 - (performance.now() - startedAt);
    late = timeoutMs <= 0;
    if (late) break;
    const result = await session.exec(cellSource(code), { timeoutMs, signal });
    cells.push(cellResult(result));
    characters += result.stdout.length + result.stderr.length;
    if (characters > MAX_BATCH_CHARACTERS) {
      throw new ServerError("invalid", `Cells may print ${MAX_BATCH_CHARACTERS} characters in all`);
    }
    late = result.status === "timeout";
    if (late) break;
  }
  const driver = driverResult(late, (performance.now() - startedAt) / 1000);
  const files = await getFiles(session, request.fetch_files);
  return { status: runStatus(driver), message: "", driver, cells, executor_pod_name: null, files };
}

/** The answer to cells that cannot be run here. */
export function cellsRefusal(message: string): CellsAnswer {
  const nothing = { driver: null, cells: [], executor_pod_name: null, files: {} };
  return { status: "SandboxError", message, ...nothing };
}

function driverResult(late: boolean, seconds: number): CommandRunResult {
  return {
    status: late ? "TimeLimitExceeded" : "Finished",
    execution_time: seconds,
    return_code: late ? null : 0,
    stdout: "",
    stderr: "",
  };
}

function cellResult(result: ExecResult): CellResult {
  const { stdout, stderr } = result;
  const shown = result.status === "ok" && result.value !== undefined ? [{ "text/plain": result.value }] : [];
  return { stdout, stderr, display: shown, error: cellError(result) };
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
