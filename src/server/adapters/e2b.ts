import { Hono } from "hono";
import { z } from "zod";
import type { ExecResult } from "../../sandbox/exec.ts";
import { pythonStr } from "../../tools/python_repr.ts";
import type { AppContext, AppEnv } from "../http/context.ts";
import { ServerError, toErrorHeaders, toPublicError, toServerError } from "../http/errors.ts";
import { type BodyWriter, streamBody } from "../http/response_stream.ts";
import { MAX_SESSION_WAITING } from "../limits.ts";
import { AdmissionQueue } from "../sessions/admission.ts";
import type { LiveSession } from "../sessions/live_session.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { type AdapterRoutes, dedentCell } from "./adapter.ts";
import { DetailError, detailResponse, readDetailBody } from "./detail_error.ts";
import { executionErrorOf, mainResultsOf } from "./e2b_execution.ts";

/** Limit of a program whose client does not disconnect. */
const TIMEOUT_MS = 300_000;
const HOME = "/home/pyodide";
const DEFAULT = "e2b:default";

const executeRequest = z.object({
  code: z.string(),
  context_id: z.string().nullish(),
  language: z.string().nullish(),
  env_vars: z.record(z.string(), z.string()).nullish(),
});

const contextRequest = z.object({ cwd: z.string().nullish(), language: z.string().nullish() });

/** State of a context beside its session. */
class Context {
  readonly cwd: string;
  /** Keeps the several execs of one request together. */
  readonly turn = new AdmissionQueue({ slots: 1, queue: MAX_SESSION_WAITING, waitMs: TIMEOUT_MS });
  executions = 0;

  constructor(cwd: string = HOME) {
    this.cwd = cwd;
  }
}

/**
 * Serves E2B's code interpreter: `/execute`, which streams its response line by line, and `/contexts`. A context is a
 * session. Requests without a context share one default session per token, which may end in favour of another session
 * when none is free.
 */
export function e2b(sessions: SessionService): AdapterRoutes {
  const contexts = new WeakMap<LiveSession, Context>();
  const app = new Hono<AppEnv>();
  app.post("/execute", async (c) => {
    const request = await readDetailBody(c, executeRequest);
    const session = await findOrOpen(c, request);
    const context = contexts.get(session) ?? new Context();
    contexts.set(session, context);
    const variables = toEnvironmentCode(request.env_vars ?? {});
    const body = streamBody(async (body, signal) => {
      await execute({ session, context, code: request.code, variables, signal }, body);
    }, { signal: c.get("signal"), memory: c.get("memory") });
    return c.body(body, 200, { "content-type": "application/x-ndjson" });
  });
  app.post("/contexts", async (c) => {
    const { cwd, language } = await readDetailBody(c, contextRequest);
    requirePython(language);
    const session = await sessions.create({ owner: c.get("owner"), signal: c.get("signal") });
    contexts.set(session, new Context(cwd ?? HOME));
    await changeDirectory(session, cwd ?? HOME);
    return c.json(contextBody(session));
  });
  app.get("/contexts", (c) => {
    const own = sessions.list(c.get("owner")).filter((session) => contexts.has(session));
    return c.json(own.map(contextBody));
  });
  app.post("/contexts/:id/restart", async (c) => {
    const session = find(c, c.req.param("id"));
    await session.reset({ signal: c.get("signal") });
    const { cwd } = contexts.get(session) ?? new Context();
    contexts.set(session, new Context(cwd));
    await changeDirectory(session, cwd);
    return c.json(null);
  });
  app.delete("/contexts/:id", async (c) => {
    await find(c, c.req.param("id"))[Symbol.asyncDispose]();
    return c.json(null);
  });
  return { routes: app, toErrorResponse: textResponse };

  async function findOrOpen(c: AppContext, request: z.output<typeof executeRequest>): Promise<LiveSession> {
    const { context_id: id, language } = request;
    if (id && language) {
      throw new ServerError("malformed", "Only one of context_id or language can be provided");
    }
    if (id) return find(c, id);
    requirePython(language);
    const options = { owner: c.get("owner"), signal: c.get("signal") };
    return (await sessions.openUsable(DEFAULT, { ...options, spareMs: 0 })).session;
  }

  function find(c: AppContext, id: string): LiveSession {
    const session = sessions.list(c.get("owner")).find((session) => session.id === id);
    if (session && contexts.has(session)) return session;
    throw new ServerError("not_found", `Context ${id} not found`);
  }

  function contextBody(session: LiveSession): { id: string; language: string; cwd: string } {
    return { id: session.id, language: "python", cwd: contexts.get(session)?.cwd ?? HOME };
  }
}

interface Execution {
  readonly session: LiveSession;
  readonly context: Context;
  readonly code: string;
  readonly variables: { readonly set: string; readonly unset: string } | undefined;
  readonly signal: AbortSignal;
}

/** Runs a program and sends its output, results and errors as lines. */
async function execute(execution: Execution, body: BodyWriter): Promise<void> {
  const { session, context, code, variables, signal } = execution;
  const sendLine = (line: object) => body.send(`${JSON.stringify(line)}\n`);
  const output = new NotebookOutput((type, text) =>
    sendLine({ type, text, timestamp: new Date().toISOString() })
  );
  try {
    const { slot } = await context.turn.run(() => Promise.resolve(), { signal });
    using _slot = slot;
    sendLine({ type: "number_of_executions", execution_count: ++context.executions });
    const set = variables && await session.exec(variables.set, { signal });
    if (set && set.status !== "ok") return outcome(set).forEach(sendLine);
    const onOutput = (type: string, text: string) => {
      output.push(type, text);
      return body.room();
    };
    const result = await session.exec(dedentCell(code), { timeoutMs: TIMEOUT_MS, signal, onOutput });
    output.flush();
    outcome(result).forEach(sendLine);
    if (variables) await session.exec(variables.unset, { signal });
  } catch (error) {
    const { message } = toPublicError(error);
    output.flush();
    sendLine({ type: "error", name: "SandboxError", value: message, traceback: message });
  } finally {
    sendLine({ type: "end_of_execution" });
  }
}

function outcome(result: ExecResult): object[] {
  const error = executionErrorOf(result);
  if (error !== undefined) return [{ type: "error", ...error }];
  return mainResultsOf(result).map((main) => ({ type: "result", ...main }));
}

/** Returns the response of a failed request: a plain message, or the issues of the body. */
function textResponse(thrown: unknown): Response {
  const error = toServerError(thrown);
  if (error instanceof DetailError) return detailResponse(error);
  return new Response(error.message, { status: error.status, headers: toErrorHeaders(error) });
}

/** Creates a folder in the session and makes it the working directory. */
async function changeDirectory(session: LiveSession, cwd: string): Promise<void> {
  if (cwd === HOME) return;
  const [os, paths] = [`__import__("os")`, pythonStr([cwd])];
  const result = await session.exec(`${os}.makedirs(*${paths}, exist_ok=True); ${os}.chdir(*${paths})`);
  if (result.status === "ok") return;
  await session[Symbol.asyncDispose]();
  throw new ServerError("malformed", "cwd must be a folder that can be created");
}

function requirePython(language: string | null | undefined): void {
  if (!language || language.trim().toLowerCase() === "python") return;
  throw new ServerError("malformed", `language '${language}' is not available here: it must be python`);
}

/** Time during which adjacent output is joined. */
const JOIN_MS = 20;

/** Joins writes of one stream within 20 ms, as a notebook does. */
export class NotebookOutput {
  readonly #send: (type: string, text: string) => void;
  #type = "";
  #text = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure: { error: unknown } | undefined;

  constructor(send: (type: string, text: string) => void) {
    this.#send = send;
  }

  /** Adds output. Throws the error of an earlier `send`. */
  push(type: string, text: string): void {
    if (this.#failure) throw this.#failure.error;
    if (type !== this.#type) this.flush();
    this.#type = type;
    this.#text += text;
    this.#timer ??= setTimeout(() => this.#flushLater(), JOIN_MS);
  }

  #flushLater(): void {
    try {
      this.flush();
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** Sends the buffered output. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#text;
    this.#text = "";
    if (text !== "") this.#send(this.#type, text);
  }
}

/** Returns Python code that sets and unsets environment variables, or `undefined` without any. */
export function toEnvironmentCode(
  variables: Readonly<Record<string, string>>,
): { set: string; unset: string } | undefined {
  const names = Object.keys(variables);
  if (names.length === 0) return undefined;
  return {
    set: `__import__("os").environ.update(${pythonStr(variables)})`,
    unset: `[__import__("os").environ.pop(name, None) for name in ${pythonStr(names)}] and None`,
  };
}
