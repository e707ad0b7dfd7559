import type { z } from "zod";
import type { LiveSession } from "../../live_session.ts";
import { getFiles, putFiles } from "./files.ts";
import { commandResult, type CommandRunResult, type programRequest, refusal, runStatus } from "./messages.ts";

/** The answer of `/run_code`. */
export interface ProgramAnswer extends Omit<ReturnType<typeof refusal>, "run_result"> {
  readonly run_result: CommandRunResult | null;
}

/** Runs one program. */
export async function runProgram(
  session: LiveSession,
  request: z.output<typeof programRequest>,
  signal: AbortSignal,
): Promise<ProgramAnswer> {
  if (request.language !== "python") {
    return refusal(`language '${request.language}' is not available here: it must be python`);
  }
  await putFiles(session, request.files);
  const run = commandResult(
    await session.exec(request.code, {
      timeoutMs: request.run_timeout * 1000,
      stdin: request.stdin ?? undefined,
      signal,
    }),
  );
  const files = await getFiles(session, request.fetch_files);
  return { ...refusal(""), status: runStatus(run), run_result: run, files };
}
