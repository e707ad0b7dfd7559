import type { z } from "zod";
import type { ExecResult } from "../../../sandbox/exec.ts";
import { MAX_BATCH_CHARACTERS } from "../../../wire/limits.ts";
import type { LiveSession } from "../../live_session.ts";
import { ServerError } from "../../server_error.ts";
import { dedentCell } from "../adapter.ts";
import { getFiles, putFiles } from "./files.ts";
import { type cellsRequest, type CommandRunResult, type RunStatus, runStatusOf } from "./messages.ts";

/** Result of one cell. */
interface CellResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly display: readonly Record<string, string>[];
  readonly error: readonly { ename: string; evalue: string; traceback: readonly string[] }[];
}

/** Response of `/run_jupyter`. */
export interface CellsResponse {
  readonly status: RunStatus;
  readonly message: string;
  readonly driver: CommandRunResult | null;
  readonly cells: readonly CellResult[];
  readonly executor_pod_name: null;
  readonly files: Readonly<Record<string, string>>;
}

/** Runs cells in order until the total timeout, even if a cell raises. */
export async function runCells(
  session: LiveSession,
  request: z.output<typeof cellsRequest>,
  signal: AbortSignal,
): Promise<CellsResponse> {
  if (request.kernel !== "python3") {
    return toCellsRefusal(`kernel '${request.kernel}' is not available here: it must be python3`);
  }
  await putFiles(session, request.files);
  const cells: CellResult[] = [];
  const startedAt = performance.now();
  let isTimeout = false;
  let characters = 0;
  for (const code of request.cells) {
    const timeoutMs = request.total_timeout * 1000 - (performance.now() - startedAt);
    isTimeout = timeoutMs <= 0;
    if (isTimeout) break;
    const result = await session.exec(dedentCell(code), { timeoutMs, signal });
    cells.push(cellResult(result));
    characters += result.stdout.length + result.stderr.length;
    if (characters > MAX_BATCH_CHARACTERS) {
      throw new ServerError(
        "invalid",
        `All cells together must print at most ${MAX_BATCH_CHARACTERS} characters`,
      );
    }
    isTimeout = result.status === "timeout";
    if (isTimeout) break;
  }
  const driver = driverResult(isTimeout, (performance.now() - startedAt) / 1000);
  const files = await getFiles(session, request.fetch_files);
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
