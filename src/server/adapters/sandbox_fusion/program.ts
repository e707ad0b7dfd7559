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
  const { code, language, stdin } = request;
  if (language !== "python" && language !== "bash") {
    return refusal(
      `language '${language}' is not available here: it must be python or bash`,
    );
  }
  await putFiles(session, request.files);
  const options = { timeoutMs: request.run_timeout * 1000, stdin: stdin ?? undefined, signal };
  const run = commandResult(
    language === "bash" ? await session.shell(code, options) : await session.exec(code, options),
  );
  const files = await getFiles(session, request.fetch_files);
  return { ...refusal(""), status: runStatus(run), run_result: run, files };
}
