import { type Context, Hono } from "hono";
import { z } from "zod";
import type { ExecResult } from "../../sandbox/exec.ts";
import type { AppContext, AppEnv } from "../app_env.ts";
import { asServerError, errorHeaders } from "../error_answer.ts";
import { scriptOutcome } from "../script_outcome.ts";
import { ServerError } from "../server_error.ts";
import type { SessionService } from "../session_service.ts";

const MAX_SECONDS = 3_600;
const CUT = "<output cut>";
const PYTHON = ["python", "python3", "pypy3"];
const SESSION_HEADER = "x-session-id";
/** Before the names that clients give their sessions. */
const PREFIX = "nemo:";

const request = z.object({
  generated_code: z.string(),
  std_input: z.string().nullish(),
  timeout: z.number().positive().max(MAX_SECONDS).default(10),
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
  readonly new_session_created: boolean;
}

/**
 * What clients of NeMo-Skills ask for: `/execute`, where the header `X-Session-ID` names a session that is kept,
 * and `/sessions`. Another system asks at `/execute` too: what is not of this one is left to it.
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

async function execute(
  c: AppContext,
  sessions: SessionService,
  { generated_code: code, std_input, timeout, ...how }: NemoRequest,
): Promise<NemoAnswer> {
  const options = { owner: c.get("owner"), signal: c.get("signal") };
  const run = { timeoutMs: timeout * 1000, stdin: std_input ?? undefined, signal: options.signal };
  if (how.language === "ipython") {
    const name = c.req.header(SESSION_HEADER);
    if (!name) throw new ServerError("malformed", "X-Session-ID header required for ipython sessions");
    const { session, isNew } = await sessions.named(PREFIX + name, options);
    const result = await session.exec(code, run);
    return answer(result, { ...how, shown: true, isNew: isNew || result.restarted === true });
  }
  if (!PYTHON.includes(how.language)) {
    const stderr = `language '${how.language}' is not available here: it must be ipython or python\n`;
    return { process_status: "error", stdout: "", stderr, new_session_created: false };
  }
  await using session = await sessions.borrow(options);
  return answer(await session.exec(code, run), { ...how, shown: false, isNew: false });
}

/** How an answer is written: whether the last expression is shown, as a prompt would, and how much. */
interface AnswerStyle extends Pick<NemoRequest, "max_output_characters" | "traceback_verbosity"> {
  readonly shown: boolean;
  readonly isNew: boolean;
}

function answer(result: ExecResult, style: AnswerStyle): NemoAnswer {
  const { exitCode, stderr } = scriptOutcome(result);
  const value = style.shown && result.status === "ok" && result.value !== undefined
    ? `${result.value}\n`
    : "";
  const brief = style.traceback_verbosity === "Minimal" && "error" in result
    ? `${result.stderr}${result.error.type}: ${result.error.message}\n`
    : stderr;
  const late = exitCode === null;
  return {
    process_status: late ? "timeout" : exitCode === 0 ? "completed" : "error",
    stdout: cut(result.stdout + value, style.max_output_characters),
    stderr: cut(late ? `${stderr}Timed out\n` : brief, style.max_output_characters),
    new_session_created: style.isNew,
  };
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : text.slice(0, characters).toWellFormed() + CUT;
}

function unix(date: Date): number {
  return date.getTime() / 1000;
}
