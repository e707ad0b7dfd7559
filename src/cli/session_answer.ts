import { SandboxError } from "../errors.ts";
import type { ExecResult, PythonSession, ShellResult } from "../sandbox/exec.ts";
import { checkPath } from "../sandbox/exec_check.ts";
import type { Line } from "../read_lines.ts";
import { parseRequest, RequestError, type RequestId, type SessionRequest } from "./session_request.ts";

/** What a request led to; each with the request's id. */
type Answer =
  | ExecResult
  | ShellResult
  | { status: "ok"; files?: Record<string, string> }
  /** It cannot be done, whoever is asked: the session is as it was. */
  | { status: "invalid"; error: { type: string; message: string } }
  /** The sandbox failed; a later request may find a new one. */
  | { status: "failed"; error: { type: string; message: string } };

/**
 * Does what one line asks for and gives the line that answers it, as JSON.
 *
 * @throws the signal's reason, and nothing else.
 */
export async function respondToLine(
  session: PythonSession,
  line: Line,
  signal: AbortSignal,
): Promise<string> {
  let id: RequestId = null;
  try {
    if ("fault" in line) throw new RequestError(line.fault, null);
    const request = parseRequest(line.text);
    id = request.id;
    return answerText(id, await answer(session, request, signal));
  } catch (error) {
    signal.throwIfAborted();
    return answerText(error instanceof RequestError ? error.id : id, refusal(error));
  }
}

function answerText(id: RequestId, answer: Answer): string {
  const { status, ...rest } = answer;
  return JSON.stringify({ id, status, ...rest });
}

async function answer(session: PythonSession, request: SessionRequest, signal: AbortSignal): Promise<Answer> {
  if ("code" in request) {
    const { code, timeoutMs, stdin } = request;
    return await session.exec(code, { timeoutMs, stdin, signal });
  }
  if ("shell" in request) {
    const { shell, timeoutMs, silenceMs, stdin } = request;
    return await session.shell(shell, { timeoutMs, silenceMs, stdin, signal });
  }
  if ("reset" in request) {
    await session.reset({ mode: request.reset, seed: request.seed, signal });
    return { status: "ok" };
  }
  if ("get" in request) return { status: "ok", files: await readFiles(session, request.get) };
  await writeFiles(session, request.put);
  return { status: "ok" };
}

async function writeFiles(session: PythonSession, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  files.keys().forEach(checkPath);
  for (const [path, contents] of files) {
    try {
      await session.writeFile(path, contents);
    } catch (error) {
      if (error instanceof SandboxError || !(error instanceof Error)) throw error;
      throw new Error(`Cannot write '${path}': ${error.message}`, { cause: error });
    }
  }
}

async function readFiles(session: PythonSession, paths: readonly string[]): Promise<Record<string, string>> {
  paths.forEach(checkPath);
  const files = new Map<string, string>();
  for (const path of paths) {
    try {
      files.set(path, (await session.readFile(path)).toBase64());
    } catch (error) {
      if (error instanceof SandboxError) throw error; // a file that is missing is left out
    }
  }
  return Object.fromEntries(files);
}

function refusal(error: unknown): Answer {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { status: error instanceof SandboxError ? "failed" : "invalid", error: { type: name, message } };
}
