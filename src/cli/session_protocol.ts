import { z } from "zod";
import { errorMessage, SandboxError } from "../errors.ts";
import type { Line } from "../read_lines.ts";
import type { ExecResult, PythonSession, ShellResult } from "../sandbox/exec.ts";
import { checkPath } from "../sandbox/exec_check.ts";

/** What stands in a request so that its answer can be told: given back as it came. */
export type RequestId = string | number | null;

/** One request of whoever drives a session. */
export type SessionRequest =
  & { readonly id: RequestId }
  & (
    | { code: string; timeoutMs?: number | undefined; stdin?: string | undefined }
    | {
      shell: string;
      timeoutMs?: number | undefined;
      silenceMs?: number | undefined;
      stdin?: string | undefined;
    }
    | { reset: "fresh" | "rewind"; seed?: number | undefined }
    | { put: ReadonlyMap<string, Uint8Array> }
    | { get: string[] }
  );

/** More than this is refused as a program's input. */
const MAX_STDIN_CHARACTERS = 16 * 1024 * 1024;

const id = z.union([z.string(), z.number(), z.null()], { error: "must be a string, a number or null" })
  .default(null);

/** Files by their path. Not a record of zod's, which passes over a key like `__proto__` in silence. */
const filesInBase64 = z.custom<object>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  { error: "must be an object" },
)
  .transform((value, context) => {
    const files = new Map<string, Uint8Array>();
    for (const [path, text] of Object.entries(value)) {
      const contents = bytesOf(text);
      if (contents) files.set(path, contents);
      else context.addIssue({ code: "custom", path: [path], message: "must be base64" });
    }
    return files;
  });

const runOptions = {
  timeoutMs: z.number().optional(),
  stdin: z.string().max(MAX_STDIN_CHARACTERS).optional(),
};

const schemas: Readonly<Record<string, z.ZodType<SessionRequest>>> = {
  code: z.strictObject({ id, code: z.string(), ...runOptions }),
  shell: z.strictObject({ id, shell: z.string(), silenceMs: z.number().optional(), ...runOptions }),
  reset: z.strictObject({ id, reset: z.enum(["fresh", "rewind"]), seed: z.int().optional() }),
  put: z.strictObject({ id, put: filesInBase64 }),
  get: z.strictObject({ id, get: z.array(z.string()) }),
};

/** A line that is no request. */
export class RequestError extends SyntaxError {
  override readonly name = "SyntaxError";
  /** The id of the line, where it could be read. */
  readonly id: RequestId;

  constructor(message: string, id: RequestId) {
    super(message);
    this.id = id;
  }
}

/**
 * Reads one request.
 *
 * @throws {RequestError} that says what is wrong with it.
 */
export function parseRequest(text: string): SessionRequest {
  const value = parseObject(text);
  const own = id.safeParse(value.id).data ?? null;
  const kinds = Object.keys(schemas).filter((key) => Object.hasOwn(value, key));
  const schema = kinds.length === 1 ? schemas[kinds[0] ?? ""] : undefined;
  if (!schema) {
    const found = kinds.length === 0 ? "there is none" : `there are ${kinds.join(", ")}`;
    throw new RequestError(`a request must have one of ${Object.keys(schemas).join(", ")}: ${found}`, own);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new RequestError(result.error.issues.map(fault).join("; "), own);
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RequestError(`a line must be JSON: ${errorMessage(error)}`, null);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new RequestError("a request must be a JSON object: it is not", null);
}

function bytesOf(text: unknown): Uint8Array | undefined {
  try {
    return typeof text === "string" ? Uint8Array.fromBase64(text) : undefined;
  } catch {
    return undefined; // the caller says where it stands
  }
}

function fault({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
}

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
