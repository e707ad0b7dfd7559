import { Hono } from "hono";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import { METHODS } from "../../http/request_limits.ts";
import {
  createSandboxRequest,
  DEFAULT_TIMEOUT,
  refreshRequest,
  sandboxQuery,
  timeoutRequest,
} from "./contract.ts";
import { NotImplementedError, readCodeBody } from "./e2b_errors.ts";
import { type ListPage, pageOf } from "./pages.ts";
import { connectionBody, infoBody, metricBody, stateOf } from "./sandbox_bodies.ts";
import { grantOf } from "./sandbox_access.ts";
import type { E2bSandbox, E2bSandboxes } from "./sandboxes.ts";
import type { E2bSnapshots } from "./snapshots.ts";
import { extend, NO_COPIES, NO_PAUSE, toTtl } from "./states.ts";

/** Features that Paddock or this server lacks, by path. */
const MISSING: Readonly<Record<string, string>> = {
  "/sandboxes/:id/pause/*": NO_PAUSE,
  "/sandboxes/:id/resume/*": NO_PAUSE,
  "/sandboxes/:id/fork/*": NO_COPIES,
  "/sandboxes/:id/snapshots/*": NO_COPIES,
  "/snapshots/*": NO_COPIES,
  "/sandboxes/:id/logs/*": "Paddock keeps no logs of sandboxes",
  "/v2/sandboxes/:id/logs/*": "Paddock keeps no logs of sandboxes",
  "/templates/*": "Paddock builds no templates: its profile is the only one",
  "/v2/templates/*": "Paddock builds no templates: its profile is the only one",
  "/v3/templates/*": "Paddock builds no templates: its profile is the only one",
  "/volumes/*": "Paddock has no volumes",
  "/secrets/*": "Paddock has no secrets",
};

/** Serves E2B's API of sandboxes, but for their states: see `states.ts` and `snapshots.ts`. */
export function controlRoutes(sandboxes: E2bSandboxes, snapshots: E2bSnapshots | undefined): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.on("POST", ["/sandboxes", "/v2/sandboxes"], async (c) => {
    const { templateID, timeout, metadata, envVars, ...rest } = await readCodeBody(c, createSandboxRequest);
    const { autoPause, autoPauseMemory, autoResume } = rest;
    if (autoPause && !sandboxes.canPause) throw new NotImplementedError(NO_PAUSE);
    if (rest.volumeMounts?.length) throw new NotImplementedError("Paddock has no volumes");
    if (rest.iam) throw new NotImplementedError("Paddock issues no workload tokens");
    const granted = sandboxes.granted(c, envVars ?? {});
    if (granted) return c.json(connectionBody(granted), 201);
    using snapshot = snapshots?.hold(c.get("owner"), templateID);
    const sandbox = await sandboxes.create({
      owner: c.get("owner"),
      templateId: templateID,
      ttlMs: toTtl(timeout),
      metadata: metadata ?? {},
      envVars: envVars ?? {},
      pausesAtEnd: autoPause && autoPauseMemory === false ? "files" : autoPause ?? false,
      resumesOnUse: autoResume?.enabled ?? false,
      from: snapshot?.checkpoint,
      continues: snapshot?.continues ?? false,
      signal: c.get("signal"),
    });
    return c.json(connectionBody(sandbox), 201);
  });
  app.get("/sandboxes", (c) => {
    const { items } = list(c, ["running"]);
    return c.json(items.map(infoBody));
  });
  app.get("/v2/sandboxes", (c) => {
    const { items, headers } = list(c, ["running", "paused"]);
    return c.json(items.map(infoBody), 200, headers);
  });
  app.get("/sandboxes/:id", (c) => {
    const sandbox = sandboxes.ofPath(c);
    return c.json({ ...infoBody(sandbox), envdAccessToken: sandbox.accessToken });
  });
  app.delete("/sandboxes/:id", async (c) => {
    const sandbox = sandboxes.ofPath(c);
    // what an agent leaves in the sandbox of its session is graded after the agent has ended
    if (!grantOf(c)?.isWhole) await sandbox.session[Symbol.asyncDispose]();
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/timeout", async (c) => {
    const { timeout } = await readCodeBody(c, timeoutRequest);
    const { session } = sandboxes.ofPath(c);
    if (grantOf(c)?.isWhole) return c.body(null, 204);
    if (session.life.isPaused) throw new ServerError("conflict", "The sandbox is paused: resume it first");
    session.life.endAfter(toTtl(timeout));
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/refreshes", async (c) => {
    const { duration } = await readCodeBody(c, refreshRequest);
    const sandbox = sandboxes.ofPath(c);
    if (!grantOf(c)?.isWhole) extend(sandbox, duration ?? DEFAULT_TIMEOUT);
    return c.body(null, 204);
  });
  app.get("/sandboxes/:id/metrics", (c) => {
    const sandbox = sandboxes.ofPath(c);
    const now = Date.now() / 1000;
    const { start = "-Infinity", end = "Infinity" } = c.req.query();
    const isInRange = Number(start) <= now && now <= Number(end) + 1;
    return c.json(isInRange ? [metricBody(sandbox)] : []);
  });
  const present = [...snapshots ? [NO_COPIES] : [], ...sandboxes.canPause ? [NO_PAUSE] : []];
  for (const [path, message] of Object.entries(MISSING)) {
    app.on([...METHODS], path, () => {
      throw new NotImplementedError(present.includes(message) ? "Paddock has no such operation" : message);
    });
  }
  return app;

  function list(c: AppContext, defaultStates: readonly string[]): ListPage<E2bSandbox> {
    const parsed = sandboxQuery.safeParse(c.req.query());
    if (!parsed.success) throw new ServerError("malformed", "The query is invalid");
    const { metadata, state, template, startedAfter, ...query } = parsed.data;
    const states = state?.split(",") ?? defaultStates;
    const after = startedAfter === undefined ? -Infinity : Date.parse(startedAfter);
    const only = sandboxes.granted(c);
    const all = sandboxes.list(c.get("owner"), Object.fromEntries(new URLSearchParams(metadata ?? "")))
      .filter((sandbox) => only === undefined || sandbox === only)
      .filter(({ session }) => session.createdAt.getTime() >= after)
      .filter(({ templateId }) => template === undefined || templateId === template)
      .filter((sandbox) => states.includes(stateOf(sandbox)));
    return pageOf(all, query, ({ id, session: { createdAt } }) => ({ id, createdAt }));
  }
}
