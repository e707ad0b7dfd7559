import * as z from "zod";
import {
  CheckpointError,
  type CheckpointErrorCode,
  errorMessage,
  SandboxError,
  WaitingExecError,
  type WaitingExecErrorCode,
} from "../../errors.ts";
import { parseWithIntegers, writeIntegers } from "../../numbers/exact_numbers.ts";
import type { Line } from "../../read_lines.ts";
import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { BranchingSession, PythonSession } from "../../sandbox/contract/pool.ts";
import type { ShellResult } from "../../sandbox/contract/shell.ts";
import { checkPath } from "../../sandbox/exec/exec_check.ts";
import { MAX_FORK_COUNT } from "../../wire/limits.ts";
import { fromWireInputs, inputsSchema } from "../../sandbox/contract/wire_forms.ts";
import { callAnswerSchema, sessionToolsSchema } from "../../wire/v1_tools.ts";
import type { HostTool } from "../../sandbox/host_tool.ts";
import { ServerError } from "../../server/http/http_errors.ts";
import { SessionTools } from "../../server/sessions/session_tools.ts";
import type { SessionBranches } from "./session_branches.ts";
import { isJsonObject } from "../../json.ts";

/** Identifier of a request, returned unchanged in the response. */
export type RequestId = string | number | null;

/** Maximum input of a program, in characters. */
const MAX_STDIN_CHARACTERS = 16 * 1024 * 1024;

const id = z.union([z.string(), z.number(), z.null()], { error: "must be a string, a number or null" })
  .default(null);

const common = { id, session: z.string().optional() };

/** Files by path. Not `z.record()`, which silently drops a key such as `__proto__`. */
const filesInBase64 = z.custom<object>(
  (value) => isJsonObject(value),
  { error: "must be an object" },
)
  .transform((value, context) => {
    const files = new Map<string, Uint8Array>();
    for (const [path, text] of Object.entries(value)) {
      const contents = decodeBase64(text);
      if (contents) files.set(path, contents);
      else context.addIssue({ code: "custom", path: [path], message: "must be base64" });
    }
    return files;
  });

const runOptions = {
  timeoutMs: z.number().optional(),
  stdin: z.string().max(MAX_STDIN_CHARACTERS).optional(),
};

const tools = sessionToolsSchema.optional();

const schemas = {
  code: z.strictObject({ ...common, code: z.string(), tools, ...runOptions, ...inputsSchema.shape }),
  resume: z.strictObject({
    ...common,
    resume: callAnswerSchema,
    callId: z.string().optional(),
    timeoutMs: z.number().optional(),
    tools,
  }),
  shell: z.strictObject({ ...common, shell: z.string(), silenceMs: z.number().optional(), ...runOptions }),
  reset: z.strictObject({ ...common, reset: z.enum(["fresh", "rewind"]), seed: z.int().optional() }),
  put: z.strictObject({ ...common, put: filesInBase64 }),
  get: z.strictObject({ ...common, get: z.array(z.string()) }),
  checkpoint: z.strictObject({ ...common, checkpoint: z.literal(true), memory: z.boolean().default(true) }),
  restore: z.strictObject({ ...common, restore: z.string() }),
  fork: z.strictObject({ ...common, fork: z.int().min(1).max(MAX_FORK_COUNT), seed: z.int().optional() }),
  forget: z.strictObject({ id, forget: z.string() }),
  end: z.strictObject({ ...common, session: z.string(), end: z.literal(true) }),
};

type RequestOf<Kind extends keyof typeof schemas> = z.output<(typeof schemas)[Kind]>;
/** A request about a session's programs and files. */
type RunRequest = RequestOf<"code" | "resume" | "shell" | "reset" | "put" | "get">;

/** A request of the program that drives a session. Without an id of a copy, the first session is used. */
export type SessionRequest = { readonly session?: string | undefined } & RequestOf<keyof typeof schemas>;

/** Error of a line that is not a valid request. */
export class RequestError extends SyntaxError {
  override readonly name = "SyntaxError";
  /** Id of the request; `null` without a readable id. */
  readonly id: RequestId;

  constructor(message: string, id: RequestId) {
    super(message);
    this.id = id;
  }
}

/**
 * Parses a request.
 *
 * @throws {RequestError} if the request is invalid.
 */
export function parseRequest(text: string): SessionRequest {
  const value = parseObject(text);
  const requestId = id.safeParse(value.id).data ?? null;
  const kinds = Object.entries(schemas).filter(([kind]) => Object.hasOwn(value, kind));
  const [[, schema] = []] = kinds;
  if (!schema || kinds.length > 1) {
    const found = kinds.length === 0 ? "none" : kinds.map(([kind]) => kind).join(", ");
    throw new RequestError(
      `a request must have one of ${Object.keys(schemas).join(", ")}: found ${found}`,
      requestId,
    );
  }
  const result = z.safeParse(schema, value);
  if (result.success) return result.data;
  throw new RequestError(result.error.issues.map(formatIssue).join("; "), requestId);
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseWithIntegers(text);
  } catch (error) {
    throw new RequestError(`a line must be JSON: ${errorMessage(error)}`, null);
  }
  if (isJsonObject(value)) return { ...value };
  const found = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  throw new RequestError(`a request must be a JSON object: found ${found}`, null);
}

function decodeBase64(text: unknown): Uint8Array | undefined {
  try {
    return typeof text === "string" ? Uint8Array.fromBase64(text) : undefined;
  } catch {
    return undefined; // the caller reports the path
  }
}

function formatIssue({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
}

/** Response to a request, without the id. */
type SessionResponse =
  | ExecResult
  | ShellResult
  | { status: "ok"; files?: Record<string, string> }
  | { status: "ok"; checkpoint: string; bytes: number }
  | { status: "ok"; sessions: string[] }
  /** The request cannot be done, and would fail in any session. The session is unchanged. */
  | {
    status: "invalid";
    error: { type: string; message: string; code?: CheckpointErrorCode | WaitingExecErrorCode };
  }
  /** The sandbox failed. A later request may use a new sandbox. */
  | { status: "failed"; error: { type: string; message: string } };

/**
 * Handles a request line and returns the response line, as JSON.
 *
 * @throws only the signal's reason.
 */
export async function respondToLine(
  branches: SessionBranches,
  line: Line,
  signal: AbortSignal,
): Promise<string> {
  let id: RequestId = null;
  try {
    if ("fault" in line) throw new RequestError(line.fault, null);
    const request = parseRequest(line.text);
    id = request.id;
    return formatResponse(id, await handleRequest(branches, request, signal));
  } catch (error) {
    signal.throwIfAborted();
    return formatResponse(error instanceof RequestError ? error.id : id, toErrorResponse(error));
  }
}

function formatResponse(id: RequestId, response: SessionResponse): string {
  const { status, ...rest } = response;
  return JSON.stringify({ id, status, ...rest }, writeIntegers);
}

async function handleRequest(
  branches: SessionBranches,
  request: SessionRequest,
  signal: AbortSignal,
): Promise<SessionResponse> {
  const session = branches.find(request.session);
  if ("checkpoint" in request) {
    return { status: "ok", ...await branches.checkpoint(session, request, signal) };
  }
  if ("fork" in request) {
    const { fork: count, seed } = request;
    return { status: "ok", sessions: await branches.fork(session, { count, seed, signal }) };
  }
  if ("restore" in request) await branches.restore(session, request.restore, signal);
  else if ("forget" in request) branches.forget(request.forget);
  else if ("end" in request) await branches.end(request.session ?? "");
  else return await useSession(session, request, signal);
  return { status: "ok" };
}

/** Returns the tools of a request, whose calls the program that drives the session answers. */
function toTools(specs: z.output<typeof sessionToolsSchema> | undefined): HostTool[] | undefined {
  return specs && new SessionTools(specs).toWaitingTools();
}

async function useSession(
  session: BranchingSession,
  request: RunRequest,
  signal: AbortSignal,
): Promise<SessionResponse> {
  if ("code" in request) {
    const { code, timeoutMs, stdin } = request;
    const tools = toTools(request.tools);
    const suspendAt = tools && "tool" as const;
    const inputs = fromWireInputs(request);
    return await session.exec(code, { timeoutMs, stdin, inputs, tools, suspendAt, signal });
  }
  if ("resume" in request) {
    const { resume: { value, error }, callId, timeoutMs } = request;
    const answer = error === undefined ? { value } : { error };
    return await session.resume(answer, { callId, timeoutMs, tools: toTools(request.tools), signal });
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
      if (error instanceof SandboxError) throw error; // missing files are omitted
    }
  }
  return Object.fromEntries(files);
}

function toErrorResponse(error: unknown): SessionResponse {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (error instanceof SandboxError) return { status: "failed", error: { type: name, message } };
  if (error instanceof ServerError) return { status: "invalid", error: { type: "TypeError", message } };
  const code = error instanceof CheckpointError || error instanceof WaitingExecError
    ? { code: error.code }
    : {};
  return { status: "invalid", error: { type: name, message, ...code } };
}
