import { type Context, Hono } from "hono";
import { z } from "zod";
import type { ExecResult, ShellResult } from "../../sandbox/exec.ts";
import { MAX_TIMEOUT_SECONDS } from "../../wire/limits.ts";
import type { AppContext, AppEnv } from "../app_env.ts";
import { asServerError, errorHeaders } from "../error_answer.ts";
import { ServerError } from "../server_error.ts";
import type { LiveSession } from "../live_session.ts";
import type { OpenOptions, SessionService } from "../session_service.ts";
import { cellSource, runScript, scriptOutcome } from "./adapter.ts";
import { commandTraceback, plainTraceback } from "./nemo_skills/tracebacks.ts";

/** Its clock runs while a program is brought to its interpreter: one that sleeps for all of its time is late. */
const EARLY_MS = 10;
const CUT = "<output cut>";
const PYTHON = ["python", "python3", "pypy3"];
const SHELL = "shell";
const SESSION_HEADER = "x-session-id";
/** Before the names that clients give their sessions. */
const PREFIX = "nemo:";

const request = z.object({
  generated_code: z.string(),
  std_input: z.string().nullish(),
  timeout: z.number().positive().max(MAX_TIMEOUT_SECONDS).default(10),
  language: z.string().default("ipython"),
  max_output_characters: z.int().nonnegative().default(1_000),
  traceback_verbosity: z.enum(["Plain", "Context", "Verbose", "Minimal"]).default("Plain"),
});

type NemoRequest = z.output<typeof request>;

/** The answer of `/execute`. */
interface NemoAnswer {
  readonly process_status: "completed" | "error" | "timeout";
  readonly stdout: string;
  readonly stderr: string;
  /** Only told where there are sessions. */
  readonly new_session_created?: boolean;
}

/**
 * What clients of NeMo-Skills ask for: `/execute`, where the header `X-Session-ID` names a session that is kept,
 * and `/sessions`. Who asks with ever new names and ends none loses the one unused for longest when all are in use,
 * and is told by `new_session_created` when that name is used again. Another system asks at `/execute` too: what is
 * not of this one is left to it.
 */
export function nemoSkills(sessions: SessionService): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.onError((thrown) => {
    const error = asServerError(thrown);
    return Response.json({ error: error.message }, { status: error.status, headers: errorHeaders(error) });
  });
  app.post("/execute", async (c, next) => {
    const body: unknown = await c.req.json().catch(() => undefined); // the other system says that it is no JSON
    if (!isNemo(c, body)) return await next();
    const parsed = request.safeParse(body);
    if (!parsed.success) {
      const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
      throw new ServerError("malformed", faults.join("; "));
    }
    return c.json(await execute(c, sessions, parsed.data));
  });
  app.get("/sessions", (c) => {
    const own = sessions.list(c.get("owner")).flatMap(({ name = "", createdAt, usedAt }) => {
      const about = { backend: "ipython", created: unix(createdAt), last_used: unix(usedAt), alive: true };
      return name.startsWith(PREFIX) ? [[name.slice(PREFIX.length), about]] : [];
    });
    return c.json({ sessions: Object.fromEntries(own), backend: "ipython" });
  });
  app.delete("/sessions/:name", async (c) => {
    const name = c.req.param("name");
    const own = sessions.list(c.get("owner")).find((session) => session.name === PREFIX + name);
    if (!own) throw new ServerError("not_found", `IPython session ${name} not found`);
    await own[Symbol.asyncDispose]();
    return c.json({ message: `IPython session ${name} deleted successfully` });
  });
  return app;
}

function isNemo(c: Context, body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  return "generated_code" in body || (c.req.header(SESSION_HEADER) !== undefined && !("code" in body));
}

async function execute(c: AppContext, sessions: SessionService, asked: NemoRequest): Promise<NemoAnswer> {
  const { generated_code: code, std_input, timeout, language } = asked;
  const options = { owner: c.get("owner"), signal: c.get("signal") };
  const timeoutMs = Math.max(timeout * 1000 - EARLY_MS, 1);
  const run = { timeoutMs, stdin: std_input ?? undefined, signal: options.signal };
  if (language === "ipython") {
    const name = c.req.header(SESSION_HEADER);
    if (!name) throw new ServerError("malformed", "X-Session-ID header required for ipython sessions");
    const { session, isNew } = await usable(sessions, PREFIX + name, options);
    return cellAnswer(await session.exec(cellSource(code), run), asked, isNew);
  }
  if (language !== SHELL && !PYTHON.includes(language)) {
    return refusal(`language '${language}' is not available here: it must be ipython, python or shell\n`);
  }
  await using session = await sessions.borrow(options);
  if (language !== SHELL) return scriptAnswer(await runScript(session, code, run), asked);
  try {
    return scriptAnswer(await session.shell(code, run), asked);
  } catch (error) {
    if (!(error instanceof ServerError) || error.code !== "invalid") throw error;
    return refusal(`${error.message}\n`); // the profile has no shell
  }
}

/** The session of a name, and not one that has just given way to another. */
async function usable(
  sessions: SessionService,
  name: string,
  options: OpenOptions,
): Promise<{ session: LiveSession; isNew: boolean }> {
  const found = await sessions.named(name, { ...options, spareMs: 0 });
  return found.session.ended ? await usable(sessions, name, options) : found;
}

/** What a session answers, as IPython would show it: the value or the traceback behind the output. */
function cellAnswer(result: ExecResult, asked: NemoRequest, isNew: boolean): NemoAnswer {
  const { stdout, stderr, status } = result;
  const how = { ...asked, new_session_created: isNew || result.restarted === true || !result.stateKept };
  if (status === "timeout") {
    const out = result.stateKept ? tidy(stdout) : "";
    return answer("timeout", { stdout: out, stderr: tidy(stderr + lateText(asked)) }, how);
  }
  if (!result.stateKept && "error" in result) {
    return answer("error", { stdout: tidy(stdout), stderr: tidy(stderr + result.error.traceback) }, how);
  }
  const shown = tidy(stdout + shownText(result, asked.traceback_verbosity));
  return answer(status === "ok" ? "completed" : "error", { stdout: shown, stderr: tidy(stderr) }, how);
}

/** What a program answers that runs by itself. One that raises has run; a command line that fails has not. */
function scriptAnswer(result: ExecResult | ShellResult, asked: NemoRequest): NemoAnswer {
  const { stdout, stderr, exitCode } = scriptOutcome(result);
  if (exitCode === null) return answer("timeout", { stdout: "", stderr: lateText(asked) }, asked);
  const completed = asked.language !== SHELL || exitCode === 0;
  const told = asked.language === SHELL ? stderr : commandTraceback(stderr);
  return answer(completed ? "completed" : "error", { stdout, stderr: told }, asked);
}

function refusal(stderr: string): NemoAnswer {
  return { process_status: "error", stdout: "", stderr };
}

function answer(
  process_status: NemoAnswer["process_status"],
  { stdout, stderr }: { stdout: string; stderr: string },
  how: { max_output_characters: number; new_session_created?: boolean },
): NemoAnswer {
  return {
    process_status,
    stdout: cut(stdout, how.max_output_characters),
    stderr: cut(stderr, how.max_output_characters),
    ...(how.new_session_created !== undefined && { new_session_created: how.new_session_created }),
  };
}

function shownText(result: ExecResult, verbosity: NemoRequest["traceback_verbosity"]): string {
  if (result.status === "ok") return result.value ?? "";
  if (result.status === "exited") return `SystemExit: ${result.exitCode}`;
  const { type, message, traceback } = result.error;
  if (verbosity === "Minimal") return `${type}: ${message}`;
  return verbosity === "Plain" ? plainTraceback(traceback) : traceback;
}

/** Without empty lines before it, and with one line end behind it. */
function tidy(text: string): string {
  const kept = text.replace(/^\n+/, "").trimEnd();
  return kept === "" ? "" : `${kept}\n`;
}

function lateText({ timeout }: NemoRequest): string {
  return `Execution timed out after ${timeout} seconds\n`;
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : text.slice(0, characters).toWellFormed() + CUT;
}

function unix(date: Date): number {
  return date.getTime() / 1000;
}
