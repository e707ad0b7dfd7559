import { Hono } from "hono";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";
import type { ShellResult } from "../../../sandbox/contract/shell.ts";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError, toErrorHeaders, toServerError } from "../../http/http_errors.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import type { Peer } from "../peer.ts";
import { runScript, toScriptOutcome } from "../script.ts";
import { type NemoRequest, nemoRequest, type NemoResponse, type NemoSessions } from "./contract.ts";
import { NEMO_OPERATIONS } from "./operations.ts";
import { describeIssue } from "../../../schema_words.ts";

/** Subtracted from the timeout, since NeMo's own clock starts before the program reaches the interpreter. */
const EARLY_MS = 10;
const CUT = "<output cut>";
const PYTHON = ["python", "python3", "pypy3"];
const SHELL = "shell";
const SESSION_HEADER = "x-session-id";
/** Prefix of session names. */
const PREFIX = "nemo:";

/**
 * Serves NeMo-Skills: `/execute`, where the header `X-Session-ID` names a persistent session, and `/sessions`. When all
 * sessions are in use, the client's longest idle session ends in favour of a new one; `new_session_created` reports
 * the end when the name is used again. Another system also uses `/execute`: other requests go to the next route.
 */
export function nemoSkills(sessions: SessionService): Peer {
  const app = new Hono<AppEnv>();
  app.post("/execute", async (c, next) => {
    const body: unknown = await c.req.json().catch(() => undefined); // the next route reports invalid JSON
    if (!isNemo(c, body)) return await next();
    const parsed = nemoRequest.safeParse(body, { error: describeIssue });
    if (!parsed.success) {
      const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
      throw new ServerError("malformed", issues.join("; "));
    }
    return c.json(await execute(c, sessions, parsed.data));
  });
  app.get("/sessions", (c) => {
    const own = sessions.directory.list(c.get("owner")).flatMap(
      ({ name = "", createdAt, life: { usedAt, unusable } }) => {
        const about = {
          backend: "ipython",
          created: unixSeconds(createdAt),
          last_used: unixSeconds(usedAt),
          alive: unusable === undefined,
        };
        return name.startsWith(PREFIX) ? [[name.slice(PREFIX.length), about]] : [];
      },
    );
    return c.json<NemoSessions>({ sessions: Object.fromEntries(own), backend: "ipython" });
  });
  app.delete("/sessions/:name", async (c) => {
    const name = c.req.param("name");
    const own = sessions.directory.list(c.get("owner")).find((session) => session.name === PREFIX + name);
    if (!own) throw new ServerError("not_found", `IPython session ${name} not found`);
    await own[Symbol.asyncDispose]();
    return c.json({ message: `IPython session ${name} deleted successfully` });
  });
  return {
    name: "nemo-skills",
    description: "Routes of NeMo-Skills' clients",
    routes: [{ routes: app, toErrorResponse }],
    operations: NEMO_OPERATIONS,
  };
}

function toErrorResponse(thrown: Error): Response {
  const error = toServerError(thrown);
  return Response.json({ error: error.message }, { status: error.status, headers: toErrorHeaders(error) });
}

function isNemo(c: AppContext, body: unknown): boolean {
  if (typeof body !== "object" || body === null || c.get("grant") !== undefined) return false;
  return "generated_code" in body || (c.req.header(SESSION_HEADER) !== undefined && !("code" in body));
}

async function execute(c: AppContext, sessions: SessionService, request: NemoRequest): Promise<NemoResponse> {
  const { generated_code: code, std_input, timeout, language } = request;
  const options = { owner: c.get("owner"), signal: c.get("signal") };
  const timeoutMs = Math.max(timeout * 1000 - EARLY_MS, 1);
  const run = { timeoutMs, stdin: std_input ?? undefined, signal: options.signal };
  if (language === "ipython") {
    const name = c.req.header(SESSION_HEADER);
    if (!name) throw new ServerError("malformed", "X-Session-ID header required for ipython sessions");
    const { session, isNew } = await sessions.openUsable(PREFIX + name, { ...options, spareMs: 0 });
    return cellResponse(await session.exec(code, { ...run, cell: true }), request, isNew);
  }
  if (language !== SHELL && !PYTHON.includes(language)) {
    return refusal(`language '${language}' is not available here: it must be ipython, python or shell\n`);
  }
  await using session = await sessions.borrow(options);
  if (language !== SHELL) return scriptResponse(await runScript(session, code, run), request);
  try {
    return scriptResponse(await session.shell(code, run), request);
  } catch (error) {
    if (!(error instanceof ServerError) || error.code !== "invalid") throw error;
    return refusal(`${error.message}\n`); // the profile has no shell
  }
}

/** Converts a cell's result to IPython's form: the output, then the value or the traceback. */
function cellResponse(result: ExecResult, request: NemoRequest, isNew: boolean): NemoResponse {
  const { stdout, stderr, status } = result;
  const options = {
    ...request,
    new_session_created: isNew || result.restarted === true || !result.stateKept,
  };
  if (status === "timeout") {
    const out = result.stateKept ? trimLines(stdout) : "";
    return toResponse("timeout", { stdout: out, stderr: trimLines(stderr + timeoutText(request)) }, options);
  }
  if (!result.stateKept && "error" in result) {
    return toResponse("error", {
      stdout: trimLines(stdout),
      stderr: trimLines(stderr + result.error.traceback),
    }, options);
  }
  const shown = trimLines(stdout + shownText(result, request.traceback_verbosity));
  return toResponse(
    status === "ok" ? "completed" : "error",
    { stdout: shown, stderr: trimLines(stderr) },
    options,
  );
}

/** Converts a script's result. A script that raises is `completed`; a shell command that fails is an `error`. */
function scriptResponse(result: ExecResult | ShellResult, request: NemoRequest): NemoResponse {
  const { stdout, stderr, exitCode } = toScriptOutcome(result);
  if (exitCode === null) return toResponse("timeout", { stdout: "", stderr: timeoutText(request) }, request);
  const completed = request.language !== SHELL || exitCode === 0;
  const errors = request.language === SHELL ? stderr : toCommandTraceback(stderr);
  return toResponse(completed ? "completed" : "error", { stdout, stderr: errors }, request);
}

function refusal(stderr: string): NemoResponse {
  return { process_status: "error", stdout: "", stderr };
}

function toResponse(
  process_status: NemoResponse["process_status"],
  { stdout, stderr }: { stdout: string; stderr: string },
  options: { max_output_characters: number; new_session_created?: boolean },
): NemoResponse {
  return {
    process_status,
    stdout: truncate(stdout, options.max_output_characters),
    stderr: truncate(stderr, options.max_output_characters),
    ...(options.new_session_created !== undefined && { new_session_created: options.new_session_created }),
  };
}

function shownText(result: ExecResult, verbosity: NemoRequest["traceback_verbosity"]): string {
  if (result.status === "ok") return result.value ?? "";
  if (result.status === "exited") return `SystemExit: ${result.exitCode}`;
  if (!("error" in result)) return result.status;
  const { type, message, traceback } = result.error;
  if (verbosity === "Minimal") return `${type}: ${message}`;
  return verbosity === "Plain" ? toPlainTraceback(traceback) : traceback;
}

/** Removes leading empty lines and ends the text with a single line break. */
function trimLines(text: string): string {
  const trimmed = text.replace(/^\n+/, "").trimEnd();
  return trimmed === "" ? "" : `${trimmed}\n`;
}

function timeoutText({ timeout }: NemoRequest): string {
  return `Execution timed out after ${timeout} seconds\n`;
}

function truncate(text: string, characters: number): string {
  return text.length <= characters ? text : text.slice(0, characters).toWellFormed() + CUT;
}

function unixSeconds(date: Date): number {
  return date.getTime() / 1000;
}

const PLACE = /^ *File "(?:<block \d+>|[^"]*\/main\.py)", line \d+/;
const FRAME = /^ *File "<string>", line \d+, in /;
const MARKS = /^\s*[~^]+\s*$/;
const HEAD = "Traceback (most recent call last):";

/** Returns a traceback in IPython's mode `Plain`: lines of code without their locations. */
function toPlainTraceback(traceback: string): string {
  const lines = traceback.split("\n").filter((line) => !PLACE.test(line));
  if (traceback.includes(HEAD)) return lines.filter((line) => !MARKS.test(line)).join("\n");
  return lines.some((line) => MARKS.test(line)) ? lines.join("\n") : addCaret(lines).join("\n");
}

/** Returns a traceback in the form of `python -c`: without lines of code, except for a SyntaxError. */
function toCommandTraceback(stderr: string): string {
  let inFrame = false;
  return stderr.split("\n").map((line) => PLACE.test(line) ? line.replace(/"[^"]*"/, '"<string>"') : line)
    .filter((line) => {
      const isCode = inFrame && line.startsWith("    ");
      inFrame = isCode || FRAME.test(line);
      return !isCode;
    }).join("\n");
}

/** Adds a caret under the first line, the location of a SyntaxError without a caret. */
function addCaret([code = "", ...rest]: string[]): string[] {
  return code.startsWith(" ") ? [code, "    ^", ...rest] : [code, ...rest];
}
