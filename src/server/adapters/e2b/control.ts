import { Hono } from "hono";
import * as z from "zod";
import { MAX_TTL_SECONDS } from "../../../wire/limits.ts";
import { metadataSchema } from "../../../wire/v1_sessions.ts";
import { tokenOf } from "../../http/access.ts";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError } from "../../http/errors.ts";
import { METHODS } from "../../http/request_limits.ts";
import { NotImplementedError, readCodeBody } from "./errors.ts";
import type { E2bSandbox, E2bSandboxes } from "./sandboxes.ts";

/** Version of E2B's agent in sandboxes whose features Paddock has. Clients choose their requests by it. */
const ENVD_VERSION = "0.6.4";
const CLIENT_ID = "paddock";
/** Seconds of life of a sandbox whose request states none. */
const DEFAULT_TIMEOUT = 15;
const MAX_PAGE = 100;
const [MAX_VARIABLES, MAX_VARIABLE_CHARACTERS] = [256, 64 * 1024];

const timeout = z.number().nonnegative().max(MAX_TTL_SECONDS);

const variables = z.record(z.string().regex(/^[^=\0]+$/), z.string().regex(/^[^\0]*$/))
  .refine(
    (record) => Object.keys(record).length <= MAX_VARIABLES,
    `must have at most ${MAX_VARIABLES} entries`,
  )
  .refine(
    (record) => Object.entries(record).flat().join("").length <= MAX_VARIABLE_CHARACTERS,
    `must have at most ${MAX_VARIABLE_CHARACTERS} characters together`,
  );

/** Body of `POST /sandboxes`. Other keys are ignored. */
export const createSandboxRequest = z.object({
  templateID: z.string().max(256).default("base"),
  timeout: timeout.default(DEFAULT_TIMEOUT),
  metadata: metadataSchema.nullish(),
  envVars: variables.nullish(),
  autoPause: z.boolean().nullish(),
  volumeMounts: z.array(z.unknown()).nullish(),
  iam: z.unknown().optional(),
});

/** Body of `/sandboxes/{id}/timeout`. */
export const timeoutRequest = z.object({ timeout });
/** Body of `/sandboxes/{id}/connect`. */
export const connectRequest = z.object({ timeout: timeout.nullish() });
/** Body of `/sandboxes/{id}/refreshes`. */
export const refreshRequest = z.object({ duration: z.number().nonnegative().max(MAX_TTL_SECONDS).nullish() });

const listQuery = z.object({
  metadata: z.string().optional(),
  state: z.string().optional(),
  template: z.string().optional(),
  startedAfter: z.iso.datetime({ offset: true }).optional(),
  order: z.enum(["asc", "desc"]).default("desc"),
  nextToken: z.string().optional(),
  limit: z.coerce.number().int().min(1).default(MAX_PAGE).transform((limit) => Math.min(limit, MAX_PAGE)),
});

/** What Paddock lacks, by path. */
const MISSING: Readonly<Record<string, string>> = {
  "/sandboxes/:id/pause/*":
    "Paddock does not pause sandboxes by E2B's routes: POST /v1/sessions/{id}/checkpoint saves a session",
  "/sandboxes/:id/resume/*":
    "Paddock does not resume sandboxes by E2B's routes: POST /v1/sessions/{id}/restore continues a session",
  "/sandboxes/:id/snapshots/*":
    "Paddock makes no snapshots by E2B's routes: POST /v1/sessions/{id}/checkpoint saves a session",
  "/sandboxes/:id/fork/*": "Paddock does not fork sandboxes",
  "/sandboxes/:id/logs/*": "Paddock keeps no logs of sandboxes",
  "/v2/sandboxes/:id/logs/*": "Paddock keeps no logs of sandboxes",
  "/snapshots/*":
    "Paddock makes no snapshots by E2B's routes: POST /v1/sessions/{id}/checkpoint saves a session",
  "/templates/*": "Paddock builds no templates: its profile is the only one",
  "/v2/templates/*": "Paddock builds no templates: its profile is the only one",
  "/v3/templates/*": "Paddock builds no templates: its profile is the only one",
  "/volumes/*": "Paddock has no volumes",
  "/secrets/*": "Paddock has no secrets",
};

/** Serves E2B's API of sandboxes. */
export function controlRoutes(sandboxes: E2bSandboxes): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.on("POST", ["/sandboxes", "/v2/sandboxes"], async (c) => {
    const { templateID, timeout, metadata, envVars, ...rest } = await readCodeBody(c, createSandboxRequest);
    if (rest.autoPause) {
      throw new NotImplementedError("Paddock does not pause sandboxes: set autoPause to false");
    }
    if (rest.volumeMounts?.length) throw new NotImplementedError("Paddock has no volumes");
    if (rest.iam) throw new NotImplementedError("Paddock issues no workload tokens");
    const sandbox = await sandboxes.create({
      owner: c.get("owner"),
      templateId: templateID,
      ttlMs: toTtl(timeout),
      metadata: metadata ?? {},
      envVars: envVars ?? {},
      signal: c.get("signal"),
    });
    return c.json(connectionBody(c, sandbox), 201);
  });
  app.on("POST", ["/sandboxes/:id/connect", "/v2/sandboxes/:id/connect"], async (c) => {
    const sandbox = find(c);
    const { timeout } = await readCodeBody(c, connectRequest);
    extend(sandbox, timeout ?? 0);
    return c.json(connectionBody(c, sandbox), 200);
  });
  app.get("/sandboxes", (c) => {
    const { page } = list(c);
    return c.json(page.map(infoBody));
  });
  app.get("/v2/sandboxes", (c) => {
    const { page, nextToken } = list(c);
    return c.json(page.map(infoBody), 200, nextToken === undefined ? {} : { "x-next-token": nextToken });
  });
  app.get("/sandboxes/:id", (c) => {
    const sandbox = find(c);
    return c.json({ ...infoBody(sandbox), envdAccessToken: tokenOf(c.req.raw.headers) });
  });
  app.delete("/sandboxes/:id", async (c) => {
    await find(c).session[Symbol.asyncDispose]();
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/timeout", async (c) => {
    const { timeout } = await readCodeBody(c, timeoutRequest);
    find(c).session.endAfter(toTtl(timeout));
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/refreshes", async (c) => {
    const { duration } = await readCodeBody(c, refreshRequest);
    extend(find(c), duration ?? DEFAULT_TIMEOUT);
    return c.body(null, 204);
  });
  app.get("/sandboxes/:id/metrics", (c) => {
    const sandbox = find(c);
    const now = Date.now() / 1000;
    const { start = "-Infinity", end = "Infinity" } = c.req.query();
    const isInRange = Number(start) <= now && now <= Number(end) + 1;
    return c.json(isInRange ? [metricBody(sandbox)] : []);
  });
  for (const [path, message] of Object.entries(MISSING)) {
    app.on([...METHODS], path, () => {
      throw new NotImplementedError(message);
    });
  }
  return app;

  function find(c: AppContext): E2bSandbox {
    const id = c.req.param("id") ?? "";
    const sandbox = sandboxes.find(id, c.get("owner"));
    if (sandbox) return sandbox;
    throw new ServerError("not_found", `Sandbox ${id.slice(0, 64)} not found`);
  }

  function list(c: AppContext): { page: E2bSandbox[]; nextToken: string | undefined } {
    const parsed = listQuery.safeParse(c.req.query());
    if (!parsed.success) throw new ServerError("malformed", "The query is invalid");
    const { metadata, state, template, startedAfter, order, nextToken, limit } = parsed.data;
    const states = state?.split(",") ?? ["running"];
    if (!states.includes("running")) return { page: [], nextToken: undefined };
    const after = startedAfter === undefined ? -Infinity : Date.parse(startedAfter);
    const all = sandboxes.list(c.get("owner"), Object.fromEntries(new URLSearchParams(metadata ?? "")))
      .filter(({ session }) => session.createdAt.getTime() >= after)
      .filter(({ templateId }) => template === undefined || templateId === template);
    if (order === "desc") all.reverse();
    const rest = nextToken === undefined ? all : all.slice(startOf(all, { nextToken, order }));
    const page = rest.slice(0, limit);
    return { page, nextToken: rest.length > limit ? tokenOfPage(page.at(-1)) : undefined };
  }
}

/** Returns the token of the page after a sandbox, which stays valid when the sandbox ends. */
function tokenOfPage(last: E2bSandbox | undefined): string | undefined {
  return last && `${last.session.createdAt.getTime()}.${last.id}`;
}

/** Returns the index at which the page of a token starts. */
function startOf(
  all: readonly E2bSandbox[],
  { nextToken, order }: { nextToken: string; order: "asc" | "desc" },
): number {
  const [time = "", id = ""] = nextToken.split(".");
  const at = all.findIndex((sandbox) => sandbox.id === id);
  if (at >= 0) return at + 1;
  const isLater = ({ session }: E2bSandbox) =>
    order === "asc" ? session.createdAt.getTime() > Number(time) : session.createdAt.getTime() < Number(time);
  const next = all.findIndex(isLater);
  return next >= 0 ? next : all.length;
}

/** Lets a sandbox live at least that many seconds from now. */
function extend({ session }: E2bSandbox, seconds: number): void {
  const endsAt = session.expiresAt?.getTime() ?? 0;
  if (Date.now() + 1000 * seconds > endsAt) session.endAfter(toTtl(seconds));
}

function toTtl(seconds: number): number {
  return Math.max(1, 1000 * seconds);
}

/** Returns what a client needs to reach a sandbox: its tokens are the one that the request has. */
function connectionBody(c: AppContext, sandbox: E2bSandbox): Record<string, unknown> {
  const token = tokenOf(c.req.raw.headers);
  return {
    ...identityBody(sandbox),
    domain: null,
    ...(token !== "" && { envdAccessToken: token, trafficAccessToken: token }),
  };
}

function identityBody({ id, templateId }: E2bSandbox): Record<string, unknown> {
  return { sandboxID: id, templateID: templateId, clientID: CLIENT_ID, envdVersion: ENVD_VERSION };
}

/** Returns the metrics of a sandbox now. Its memory and files are not measured. */
function metricBody({ home, session: { createdAt, memoryBytes = 0 } }: E2bSandbox): Record<string, unknown> {
  const now = new Date();
  const lifeMs = Math.max(1, now.getTime() - createdAt.getTime());
  return {
    timestamp: now.toISOString(),
    timestampUnix: Math.floor(now.getTime() / 1000),
    cpuCount: 1,
    cpuUsedPct: Math.min(100, 100 * home.busyMs / lifeMs),
    memUsed: 0,
    memTotal: memoryBytes,
    memCache: 0,
    diskUsed: 0,
    diskTotal: 0,
  };
}

function infoBody(sandbox: E2bSandbox): Record<string, unknown> {
  const { createdAt, expiresAt = createdAt, metadata = {}, memoryBytes = 0 } = sandbox.session;
  return {
    ...identityBody(sandbox),
    startedAt: createdAt.toISOString(),
    endAt: expiresAt.toISOString(),
    state: "running",
    cpuCount: 1,
    memoryMB: Math.round(memoryBytes / 1024 ** 2),
    diskSizeMB: 0, // the size of its files is bounded by the profile, which the server does not know
    metadata,
  };
}
