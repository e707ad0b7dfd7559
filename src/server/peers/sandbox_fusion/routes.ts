import { Hono } from "hono";
import { Deadline } from "../../../async/abort.ts";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError, toServerError } from "../../http/http_errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import type { Peer } from "../peer.ts";
import { detailResponse, readDetailBody } from "../detail_error.ts";
import { cellsRequest, programRequest, submitRequest } from "./contract.ts";
import { SANDBOX_FUSION_OPERATIONS } from "./operations.ts";
import { runCells, runProgram, toCellsRefusal, toRefusal } from "./run.ts";
import { type InSession, submit } from "./submit.ts";

/**
 * Seconds after a request's own timeouts at which the request fails with 504. verl gives up 10 s after the timeouts and
 * then counts the program as wrong; at 504 it sends the request again.
 */
const PATIENCE_SECONDS = 8;

/**
 * Serves SandboxFusion: `/run_code`, `/run_jupyter`, `/submit` with tests in the body, and `/v1/ping`. Each program has a
 * separate interpreter. A request waits for a session until shortly before the client gives up; then, and when a limit of
 * the server is reached, the response is 504, at which SandboxFusion's clients retry.
 */
export function sandboxFusion(sessions: SessionService): Peer {
  const app = new Hono<AppEnv>();
  app.get("/v1/ping", (c) => c.json("pong"));
  app.post("/run_code", async (c) => {
    const request = await readDetailBody(c, programRequest);
    const run = (session: LiveSession, signal: AbortSignal) => runProgram(session, request, signal);
    const timeoutSeconds = request.compile_timeout + request.run_timeout;
    const once = request.fetch_files.length === 0;
    return c.json(await inSession(c, sessions, { run, toRefusal, timeoutSeconds, once }));
  });
  app.post("/run_jupyter", async (c) => {
    const request = await readDetailBody(c, cellsRequest);
    const run = (session: LiveSession, signal: AbortSignal) => runCells(session, request, signal);
    const timeoutSeconds = request.total_timeout;
    return c.json(await inSession(c, sessions, { run, toRefusal: toCellsRefusal, timeoutSeconds }));
  });
  app.get("/list_datasets", (c) => c.json([]));
  app.post("/submit", async (c) => {
    const request = await readDetailBody(c, submitRequest);
    const [owner, signal] = [c.get("owner"), c.get("signal")];
    const inSession: InSession = async (run, signal) => {
      await using session = await sessions.borrow({ owner, signal });
      return await run(session);
    };
    return c.json(await submit(request, { inSession, concurrency: sessions.maxSessions, signal }));
  });
  return {
    name: "sandboxfusion",
    description: "Routes of SandboxFusion's clients",
    routes: [{ routes: app, toErrorResponse }],
    operations: SANDBOX_FUSION_OPERATIONS,
  };
}

/** Returns the response of a failed request. SandboxFusion's clients retry at 504 and at no other status. */
function toErrorResponse(thrown: Error): Response {
  const error = toServerError(thrown);
  const { retryAfter } = error;
  if (error.code !== "busy") return detailResponse(error);
  return detailResponse(new ServerError("timeout", error.message, { ...retryAfter && { retryAfter } }));
}

/** Options of {@linkcode inSession}. */
interface InSessionOptions<T> {
  run: (session: LiveSession, signal: AbortSignal) => Promise<T>;
  toRefusal: (message: string) => T;
  /** Sum of the request's timeouts, in seconds. */
  timeoutSeconds: number;
  /** True if `run` runs a single program, and does nothing afterwards. */
  once?: boolean;
}

/** Runs `run` in a new session. A failed sandbox is reported in the body, not by the HTTP status. */
async function inSession<T extends object>(
  c: AppContext,
  sessions: SessionService,
  { run, toRefusal, timeoutSeconds, once }: InSessionOptions<T>,
): Promise<T> {
  const [owner, signal] = [c.get("owner"), c.get("signal")];
  const waitMs = toWaitMs(timeoutSeconds);
  using deadline = new Deadline(waitMs, { signal, reason: () => outOfTime(waitMs) });
  try {
    await using session = await sessions.borrow({ owner, once, signal, waitMs });
    return await run(session, deadline.signal);
  } catch (thrown) {
    const error = toServerError(thrown);
    if (error.code === "unavailable" || error.code === "invalid") return toRefusal(error.message);
    throw error;
  }
}

/** Returns the milliseconds until the response to a request whose own timeouts are `timeoutSeconds` together. */
export function toWaitMs(timeoutSeconds: number): number {
  return (timeoutSeconds + PATIENCE_SECONDS) * 1000;
}

/** Returns the error of a program that got a session so late that the client does not wait for the program's end. */
function outOfTime(waitMs: number): ServerError {
  return new ServerError("timeout", `The program waited for a session and did not end within ${waitMs} ms`, {
    retryAfter: 1,
  });
}
