import { Hono } from "hono";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError, toServerError } from "../../http/errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import { detailResponse, readDetailBody } from "../detail_error.ts";
import { runCells, runProgram, toCellsRefusal } from "./run.ts";
import { cellsRequest, programRequest, toRefusal } from "./messages.ts";
import { type InSession, submit, submitRequest } from "./submit.ts";

/**
 * Serves SandboxFusion: `/run_code`, `/run_jupyter`, `/submit` with tests in the body, and `/v1/ping`. Each program has
 * its own interpreter; the profile's memory limit applies. When all sessions are in use and the queue is full, the
 * response is 504, at which SandboxFusion's clients retry.
 */
export function sandboxFusion(sessions: SessionService): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.onError((thrown) => {
    const error = toServerError(thrown);
    const { retryAfter } = error;
    if (error.code !== "busy") return detailResponse(error);
    return detailResponse(new ServerError("timeout", error.message, { ...retryAfter && { retryAfter } }));
  });
  app.get("/v1/ping", (c) => c.json("pong"));
  app.post("/run_code", async (c) => {
    const request = await readDetailBody(c, programRequest);
    const run = (session: LiveSession) => runProgram(session, request, c.get("signal"));
    return c.json(await inSession(c, sessions, { run, toRefusal }));
  });
  app.post("/run_jupyter", async (c) => {
    const request = await readDetailBody(c, cellsRequest);
    const run = (session: LiveSession) => runCells(session, request, c.get("signal"));
    return c.json(await inSession(c, sessions, { run, toRefusal: toCellsRefusal }));
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
  return app;
}

/** Runs `run` in a new session. A failed sandbox is reported in the body, not by the HTTP status. */
async function inSession<T extends object>(
  c: AppContext,
  sessions: SessionService,
  { run, toRefusal }: { run: (session: LiveSession) => Promise<T>; toRefusal: (message: string) => T },
): Promise<T> {
  try {
    await using session = await sessions.borrow({ owner: c.get("owner"), signal: c.get("signal") });
    return await run(session);
  } catch (thrown) {
    const error = toServerError(thrown);
    if (error.code === "unavailable" || error.code === "invalid") return toRefusal(error.message);
    throw error;
  }
}
