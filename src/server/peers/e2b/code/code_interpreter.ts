import { Hono } from "hono";
import type { ExecResult } from "../../../../sandbox/contract/exec.ts";
import { pythonStr } from "../../../../tools/python_repr.ts";
import type { AppContext, AppEnv } from "../../../http/context.ts";
import { ServerError, toErrorHeaders, toPublicError, toServerError } from "../../../http/http_errors.ts";
import { type BodyWriter, streamBody } from "../../../http/response_stream.ts";
import { MAX_SESSION_WAITING } from "../../../limits.ts";
import { AdmissionQueue } from "../../../admission/admission_queue.ts";
import type { LiveSession } from "../../../sessions/live_session.ts";
import type { SessionService } from "../../../sessions/session_service.ts";
import type { PeerRoutes } from "../../peer.ts";
import { DetailError, detailResponse, readDetailBody } from "../../detail_error.ts";
import { type ContextBody, contextRequest, e2bRequest, type ExecuteRequest } from "../contract.ts";
import { codeResponse, SandboxGoneError } from "../e2b_errors.ts";
import { executionErrorOf, shownResultsOf } from "./execution.ts";
import { E2B_HOME, HomeSession } from "../home_session.ts";
import { NotebookOutput } from "./notebook_output.ts";
import { toCommandLine } from "../envd/processes.ts";
import type { E2bSandbox, E2bSandboxes } from "../sandboxes.ts";

/** Limit of a program whose client does not disconnect. */
const TIMEOUT_MS = 300_000;
const HOME = "/home/pyodide";
const DEFAULT = "e2b:default";
const [PYTHON, BASH] = ["python", "bash"] as const;

/** State of a context beside the context's session. */
class Context {
  readonly cwd: string;
  /** Session of the context in a sandbox. Without a sandbox, a context has the server's own home directory. */
  readonly home: HomeSession | undefined;
  readonly sandbox: E2bSandbox | undefined;
  /** Keeps the several execs of a request together. */
  readonly turn = new AdmissionQueue({ slots: 1, queue: MAX_SESSION_WAITING, waitMs: TIMEOUT_MS });
  executions = 0;

  constructor(cwd: string = HOME, { home, sandbox }: { home?: HomeSession; sandbox?: E2bSandbox } = {}) {
    this.cwd = cwd;
    this.home = home;
    this.sandbox = sandbox;
  }
}

/**
 * Serves E2B's code interpreter: `/execute`, which streams the response line by line, and `/contexts`. A context is a
 * session. The default context of a sandbox is the sandbox's own session. Requests without a sandbox and a context
 * share a default session per token, which may end in favour of another session when no session is free.
 */
export function codeInterpreter(sessions: SessionService, sandboxes: E2bSandboxes): PeerRoutes {
  const contexts = new WeakMap<LiveSession, Context>();
  const app = new Hono<AppEnv>();
  app.post("/execute", async (c) => {
    const request = await readDetailBody(c, e2bRequest);
    const session = await findOrOpen(c, request);
    const context = contexts.getOrInsertComputed(session, () => new Context());
    const variables = toEnvironmentCode(request.env_vars ?? {}, context.sandbox?.envVars);
    const script = isLanguage(request.language, BASH) ? request.code : undefined;
    const config = { cmd: BASH, args: ["-c", script ?? ""], envs: request.env_vars ?? {} };
    const command = script === undefined ? undefined : toCommandLine(config, context.sandbox?.envVars ?? {});
    const body = streamBody(async (body, signal) => {
      await execute({ session, context, code: request.code, variables, command, signal }, body);
    }, { signal: c.get("signal"), memory: c.get("memory") });
    return c.body(body, 200, { "content-type": "application/x-ndjson" });
  });
  app.post("/contexts", async (c) => {
    const { cwd, language } = await readDetailBody(c, contextRequest);
    requirePython(language);
    const sandbox = sandboxes.named(c);
    const options = { owner: c.get("owner"), signal: c.get("signal"), endsWithServer: true };
    if (sandbox === undefined) {
      const session = await sessions.create(options);
      contexts.set(session, new Context(cwd ?? HOME));
      await changeDirectory(session, cwd ?? HOME);
      return c.json(contextBody(session));
    }
    const session = await sessions.create({ ...options, idleMs: Infinity });
    const home = new HomeSession(session, sandbox.envVars, { cwd: cwd ?? E2B_HOME });
    contexts.set(session, new Context(cwd ?? E2B_HOME, { home, sandbox }));
    const end = () => void session[Symbol.asyncDispose]().catch(() => {}); // the service reports the error
    sandbox.session.life.endSignal.addEventListener("abort", end, { once: true });
    if (sandbox.session.ended) end();
    const prepared = await home.prepare();
    if (prepared?.status !== "ok") return await refuseDirectory(session);
    return c.json(contextBody(session));
  });
  app.get("/contexts", (c) => {
    const sandbox = sandboxes.named(c);
    if (sandbox) register(sandbox);
    const own = sessions.directory.list(c.get("owner")).filter((session) => {
      const context = contexts.get(session);
      return context !== undefined && context.sandbox === sandbox;
    });
    return c.json(own.map(contextBody));
  });
  app.post("/contexts/:id/restart", async (c) => {
    const session = find(c, c.req.param("id"));
    const { cwd, home, sandbox } = contexts.get(session) ?? new Context();
    if (home) await home.reset(c.get("signal"));
    else await session.reset({ signal: c.get("signal") });
    contexts.set(session, new Context(cwd, { ...(home && { home }), ...(sandbox && { sandbox }) }));
    if (!home) await changeDirectory(session, cwd);
    return c.json(null);
  });
  app.delete("/contexts/:id", async (c) => {
    const session = find(c, c.req.param("id"));
    if (session === contexts.get(session)?.sandbox?.session) {
      throw new ServerError("malformed", "The default context of a sandbox ends with the sandbox");
    }
    await session[Symbol.asyncDispose]();
    return c.json(null);
  });
  return { routes: app, toErrorResponse: textResponse };

  async function findOrOpen(c: AppContext, request: ExecuteRequest): Promise<LiveSession> {
    const { context_id: id, language } = request;
    if (id && language) {
      throw new ServerError("malformed", "Only one of context_id or language can be provided");
    }
    const sandbox = sandboxes.named(c);
    if (id) return find(c, id);
    if (!isLanguage(language, BASH) || sandbox === undefined) requirePython(language);
    if (sandbox) return register(sandbox);
    const options = { owner: c.get("owner"), signal: c.get("signal") };
    return (await sessions.openUsable(DEFAULT, { ...options, spareMs: 0, endsWithServer: true })).session;
  }

  /** Makes the session of a sandbox the sandbox's default context. */
  function register(sandbox: E2bSandbox): LiveSession {
    const { session, home } = sandbox;
    contexts.getOrInsertComputed(session, () => new Context(E2B_HOME, { home, sandbox }));
    return session;
  }

  function find(c: AppContext, id: string): LiveSession {
    const sandbox = sandboxes.named(c);
    if (sandbox) register(sandbox);
    const session = sessions.directory.list(c.get("owner")).find((session) => session.id === id);
    const context = session && contexts.get(session);
    if (context && context.sandbox === sandbox) return session;
    throw new ServerError("not_found", `Context ${id.slice(0, 64)} not found`);
  }

  function contextBody(session: LiveSession): ContextBody {
    return { id: session.id, language: "python", cwd: contexts.get(session)?.cwd ?? HOME };
  }
}

interface Execution {
  readonly session: LiveSession;
  readonly context: Context;
  readonly code: string;
  readonly variables: { readonly set: string; readonly unset: string } | undefined;
  /** Command line of a program for the shell. */
  readonly command: string | undefined;
  readonly signal: AbortSignal;
}

/** Runs a program and sends output, results and errors as lines. */
async function execute(execution: Execution, body: BodyWriter): Promise<void> {
  const { context, variables, signal } = execution;
  const session = context.home ?? execution.session;
  const sendLine = (line: object) => body.send(`${JSON.stringify(line)}\n`);
  const output = new NotebookOutput(
    (type, text) => sendLine({ type, text, timestamp: new Date().toISOString() }),
    () => body.room(),
  );
  try {
    const slot = await context.turn.acquire({ signal });
    using _slot = slot;
    sendLine({ type: "number_of_executions", execution_count: ++context.executions });
    const set = variables && await session.exec(variables.set, { signal });
    if (set && set.status !== "ok") return outcome(set).forEach(sendLine);
    const lines = await runCell(execution, output);
    output.flush();
    lines.forEach(sendLine);
    if (variables) await session.exec(variables.unset, { signal });
  } catch (error) {
    const { message } = toPublicError(error);
    output.flush();
    // E2B's clients ask whether the sandbox still runs when the connection breaks
    if (context.sandbox?.session.ended) throw new SandboxGoneError(context.sandbox.id);
    sendLine({ type: "error", name: "SandboxError", value: message, traceback: message });
  } finally {
    if (!context.sandbox?.session.ended) sendLine({ type: "end_of_execution" });
  }
}

/** Runs the program of a request and returns the lines after the output. */
async function runCell(execution: Execution, output: NotebookOutput): Promise<object[]> {
  const { context, session, code, command, signal } = execution;
  const onOutput = (type: string, text: string) => {
    output.push(type, text);
    return output.room();
  };
  const options = { timeoutMs: TIMEOUT_MS, signal, onOutput };
  if (command === undefined) {
    return outcome(await (context.home ?? session).exec(code, { ...options, cell: true }));
  }
  const { status, ...result } = await (context.home ?? session).shell(command, options);
  return "error" in result
    ? [{ type: "error", name: status, value: result.error.message, traceback: "" }]
    : [];
}

function outcome(result: ExecResult): object[] {
  const error = executionErrorOf(result);
  const shown = shownResultsOf(result).map((one) => ({ type: "result", ...one }));
  return error === undefined ? shown : [...shown, { type: "error", ...error }];
}

/** Returns the response of a failed request: a plain message, or the issues of the body. */
function textResponse(thrown: unknown): Response {
  const error = toServerError(thrown);
  if (error instanceof DetailError) return detailResponse(error);
  if (error instanceof SandboxGoneError) return codeResponse(error);
  return new Response(error.message, { status: error.status, headers: toErrorHeaders(error) });
}

/** Creates a folder in the session, and makes that folder the working directory. */
async function changeDirectory(session: LiveSession, cwd: string): Promise<void> {
  if (cwd === HOME) return;
  const [os, paths] = [`__import__("os")`, pythonStr([cwd])];
  const result = await session.exec(`${os}.makedirs(*${paths}, exist_ok=True); ${os}.chdir(*${paths})`);
  if (result.status !== "ok") await refuseDirectory(session);
}

async function refuseDirectory(session: LiveSession): Promise<never> {
  await session[Symbol.asyncDispose]();
  throw new ServerError("malformed", "cwd must be a folder that can be created");
}

function isLanguage(language: string | null | undefined, name: string): boolean {
  return language?.trim().toLowerCase() === name;
}

function requirePython(language: string | null | undefined): void {
  if (!language || isLanguage(language, PYTHON)) return;
  throw new ServerError("malformed", `language '${language}' is not available here: it must be python`);
}

/**
 * Returns Python code that sets environment variables and restores the sandbox's values, or `undefined` without
 * any.
 */
function toEnvironmentCode(
  variables: Readonly<Record<string, string>>,
  sandbox: Readonly<Record<string, string>> = {},
): { set: string; unset: string } | undefined {
  const names = Object.keys(variables);
  if (names.length === 0) return undefined;
  const pop = `[__import__("os").environ.pop(name, None) for name in ${pythonStr(names)}] and None`;
  const kept = Object.entries(sandbox).filter(([name]) => Object.hasOwn(variables, name));
  return {
    set: `__import__("os").environ.update(${pythonStr(variables)})`,
    unset: kept.length === 0
      ? pop
      : `${pop}; __import__("os").environ.update(${pythonStr(Object.fromEntries(kept))})`,
  };
}
