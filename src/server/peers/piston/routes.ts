import { Hono } from "hono";
import * as z from "zod";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";
import { MAX_TIMEOUT_MS } from "../../../wire/limits.ts";
import type { AppEnv } from "../../http/context.ts";
import { ServerError, toErrorHeaders, toServerError } from "../../http/http_errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import type { Peer } from "../peer.ts";
import { jailPath, MAIN, runScript, toScriptOutcome } from "../script.ts";
import { CONSTRAINTS, file, pistonRequest, type PistonRun, RUNTIME } from "./contract.ts";
import { PISTON_OPERATIONS } from "./operations.ts";

/** Serves Piston: `/api/v2/execute` and `/api/v2/runtimes`. The profile's memory limit applies. */
export function piston(sessions: SessionService): Peer {
  const app = new Hono<AppEnv>().basePath("/api/v2");
  app.get("/runtimes", (c) => c.json([RUNTIME]));
  app.post("/execute", async (c) => {
    if (!c.req.header("content-type")?.startsWith("application/json")) {
      throw new ServerError("unsupported", "requests must be of type application/json");
    }
    const request = parsePistonRequest(await c.req.json().catch(() => ({}))); // reported as a missing language
    await using session = await sessions.borrow({
      owner: c.get("owner"),
      once: true,
      signal: c.get("signal"),
    });
    const { language, version } = RUNTIME;
    return c.json({ run: await run(session, request, c.get("signal")), language, version });
  });
  return {
    name: "piston",
    description: "Routes of Piston's clients",
    routes: [{ routes: app, toErrorResponse }],
    operations: PISTON_OPERATIONS,
  };
}

function toErrorResponse(thrown: Error): Response {
  const error = toServerError(thrown);
  return Response.json({ message: error.message }, { status: error.status, headers: toErrorHeaders(error) });
}

async function run(session: LiveSession, request: PistonRequest, signal: AbortSignal): Promise<PistonRun> {
  const { main, others, args, stdin, runTimeoutMs: timeoutMs } = request;
  for (const { name, bytes } of others) {
    const path = jailPath(name);
    if (path === undefined) throw new ServerError("malformed", `files: '${name}' is not a valid file name`);
    await session.writeFile(path, bytes);
  }
  const pieces: string[] = [];
  const result = await runScript(session, new TextDecoder().decode(main.bytes), {
    timeoutMs,
    stdin,
    signal,
    argv: [jailPath(main.name) ?? MAIN, ...args],
    onOutput: (_, text) => pieces.push(text),
  });
  const { stdout, stderr, exitCode } = toScriptOutcome(result);
  const raised = stderr.slice(result.stderr.length);
  return {
    stdout,
    stderr,
    output: pieces.join("") + raised,
    ...exitFields(result, exitCode),
    wall_time: Math.round(result.durationMs),
    cpu_time: null,
    memory: null,
  };
}

function exitFields(
  { status, stateKept }: ExecResult,
  exitCode: number | null,
): Pick<PistonRun, "code" | "signal" | "message" | "status"> {
  const killed = { code: null, signal: "SIGKILL" } as const;
  if (exitCode === null) return { ...killed, message: "Time limit exceeded (wall clock)", status: "TO" };
  if (!stateKept && status !== "ok" && status !== "exited") {
    return { ...killed, message: "Caught fatal signal 9", status: "SG" };
  }
  if (exitCode === 0) return { code: 0, signal: null, message: null, status: null };
  return { code: exitCode, signal: null, message: `Exited with error status ${exitCode}`, status: "RE" };
}

const DEFAULT_TIMEOUT_MS = 3_000;
const ENCODINGS = ["utf8", "base64", "hex"] as const;
/** Versions and ranges that match the runtime. */
const VERSION = /^\s*(\*|x|(>=|\^|~|=|v)?\s*3(\.[\dx*]+)*)\s*$/i;

/** A decoded file of a request. */
interface PistonFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly encoding: (typeof ENCODINGS)[number];
}

/** A parsed request. */
interface PistonRequest {
  /** First text file: the program. */
  readonly main: PistonFile;
  readonly others: readonly PistonFile[];
  readonly stdin: string;
  readonly args: readonly string[];
  readonly runTimeoutMs: number;
}

const { shape } = pistonRequest;
const object = z.record(z.string(), z.unknown());
const nonEmpty = z.string().min(1);
const encoding = z.enum(ENCODINGS).catch("utf8");

/**
 * Parses a request in Piston's order and reports the first issue.
 *
 * @throws {ServerError} `malformed` with Piston's message.
 */
function parsePistonRequest(body: unknown): PistonRequest {
  const fields = object.safeParse(body).data ?? {};
  const language = requireValid(shape.language, fields.language, "language is required as a string");
  const version = requireValid(shape.version, fields.version, "version is required as a string");
  const list = requireValid(z.array(z.unknown()), fields.files, "files is required as an array");
  const files = list.map(pistonFile);
  const known = language === RUNTIME.language || RUNTIME.aliases.includes(language);
  if (!known || !VERSION.test(version)) throw malformed(`${language}-${version} runtime is unknown`);
  const main = files.find(({ encoding }) => encoding === "utf8");
  if (main === undefined) throw malformed("files must include at least one utf8 encoded file");
  for (const name of CONSTRAINTS) checkConstraint(name, fields[name]);
  return {
    main,
    others: files.filter((file) => file !== main),
    stdin: requireValid(shape.stdin, fields.stdin, "stdin must be a string") ?? "",
    args: requireValid(shape.args, fields.args, "args must be an array of strings") ?? [],
    runTimeoutMs: Number(fields.run_timeout || DEFAULT_TIMEOUT_MS),
  };
}

function pistonFile(value: unknown, at: number): PistonFile {
  const fields = object.safeParse(value).data ?? {};
  const content = requireValid(
    file.shape.content,
    fields.content,
    `files[${at}].content is required as a string`,
  );
  const name = nonEmpty.safeParse(fields.name).data ?? `file${at}.code`;
  const coded = encoding.parse(fields.encoding);
  return { name, encoding: coded, bytes: decodeContent(content, coded, at) };
}

function checkConstraint(name: string, value: unknown): void {
  if (!value) return;
  if (typeof value !== "number") throw malformed(`If specified, ${name} must be a number`);
  const mostMs = name === "run_timeout" ? MAX_TIMEOUT_MS : Infinity;
  if (value > mostMs) throw malformed(`${name} cannot exceed the configured limit of ${mostMs}`);
  if (value < 0 && name !== "run_memory_limit" && name !== "compile_memory_limit") {
    throw malformed(`${name} must be non-negative`);
  }
}

function decodeContent(content: string, coded: PistonFile["encoding"], at: number): Uint8Array {
  try {
    if (coded === "base64") return Uint8Array.fromBase64(content);
    if (coded === "hex") return Uint8Array.fromHex(content);
  } catch (cause) {
    throw new ServerError("malformed", `files[${at}].content must be ${coded}`, { cause });
  }
  return new TextEncoder().encode(content);
}

function requireValid<T>(schema: z.ZodType<T>, value: unknown, message: string): T {
  const { success, data } = schema.safeParse(value);
  if (success) return data;
  throw malformed(message);
}

function malformed(message: string): ServerError {
  return new ServerError("malformed", message);
}
