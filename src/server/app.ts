import { OpenAPIHono } from "@hono/zod-openapi";
import { html } from "hono/html";
import { matchedRoutes } from "hono/route";
import { PADDOCK_VERSION } from "../version.ts";
import { V1_FORMAT, V1_FORMAT_HEADER } from "../wire/v1.ts";
import type { AdapterRoutes } from "./adapters/adapter.ts";
import { ADAPTERS } from "./adapters/adapters.ts";
import type { OpenEnvKind } from "./adapters/openenv/env_kind.ts";
import type { EnvService } from "./envs/env_service.ts";
import type { GraderPool } from "../rewards/worker/grader_pool.ts";
import type { Graders } from "./graders.ts";
import { Budgets } from "./budget.ts";
import { access, type AccessOptions, securityHeaders } from "./http/access.ts";
import { type AppEnv, watchDisconnect } from "./http/context.ts";
import {
  errorReporter,
  errorResponse,
  notFoundResponse,
  toInvalidRequest,
  toServerError,
} from "./http/errors.ts";
import { METHODS, requestLimits } from "./http/request_limits.ts";
import { requestSpan } from "./http/tracing.ts";
import { REQUEST_LIMITS, type RequestLimits, SESSION_WAIT_MS } from "./limits.ts";
import { mcpRoute } from "./mcp/mcp_route.ts";
import type { Metrics } from "./metrics.ts";
import { AdmissionQueue } from "./sessions/admission.ts";
import type { SessionService } from "./sessions/session_service.ts";
import { addBatchRoutes } from "./v1/batch.ts";
import { addEnvBatchRoutes, addEnvRoutes } from "./v1/envs.ts";
import { addGradeRoutes } from "./v1/grade.ts";
import { addRequestRoutes, IdempotencyCache } from "./v1/idempotency.ts";
import type { Api } from "./v1/route.ts";
import { addFileRoutes, addSessionRoutes, addStreamRoutes } from "./v1/sessions.ts";

/** Options of {@linkcode paddockApp}. */
export interface PaddockAppOptions extends AccessOptions {
  /** Sessions in which programs run. The caller disposes them. */
  sessions: SessionService;
  metrics: Metrics;
  /**
   * Memory of data that waits or is kept.
   *
   * @default 512 MiB
   */
  budgets?: Budgets | undefined;
  /** Envs of `/v1/envs`; without them the route does not exist. The caller disposes them. */
  envs?: EnvService | undefined;
  /** Graders of `/v1/grade`. */
  graders?: Graders | undefined;
  /** Workers of the graders. The caller disposes them. */
  graderPool: GraderPool;
  /**
   * Env of OpenEnv's routes.
   *
   * @default the coding env
   */
  openEnv?: OpenEnvKind | undefined;
  limits?: Partial<RequestLimits> | undefined;
  /** Called with internal errors, which clients never see. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Returns the whole server as a request handler; it needs no socket. */
export function paddockApp(options: PaddockAppOptions): Api {
  const { sessions, envs, metrics, graders = new Map(), graderPool: pool, onError = () => {} } = options;
  const { budgets = new Budgets({ owners: options.tokens?.length }) } = options;
  const report = errorReporter(onError);
  const app = new OpenAPIHono<AppEnv>({
    defaultHook(result) {
      if (!result.success) throw toInvalidRequest(result.error);
    },
  });
  const adapterErrors = new Map<string, AdapterRoutes["toErrorResponse"]>();
  app.onError((thrown, c) => {
    const error = toServerError(thrown);
    const ofAdapter = error.code === "busy" && matchedRoutes(c).find(({ path }) => adapterErrors.has(path));
    const toResponse = ofAdapter ? adapterErrors.get(ofAdapter.path) : undefined;
    return toResponse?.(error) ?? errorResponse(error);
  });
  app.notFound(({ req }) => notFoundResponse(req, "/docs", methodsOf(app, req.path)));
  app.use(requestSpan(), securityHeaders(), async (c, next) => {
    await next();
    if (c.error) report(c.error);
    metrics.countRequest(c.res.status, c.get("owner") ?? "");
    if (c.res.status === 101) return;
    if (c.req.path.startsWith("/v1/")) c.res.headers.set(V1_FORMAT_HEADER, String(V1_FORMAT));
  });
  app.use(
    watchDisconnect(),
    access(options),
    requestLimits({ ...REQUEST_LIMITS, ...options.limits }, budgets.waiting),
  );
  const requests = new IdempotencyCache(budgets);
  app.use("/v1/*", requests.handler());
  addRequestRoutes(app, requests);
  addSessionRoutes(app, sessions);
  addStreamRoutes(app, sessions);
  addFileRoutes(app, sessions);
  addBatchRoutes(app, sessions);
  const gate = new AdmissionQueue({ slots: sessions.maxSessions, waitMs: SESSION_WAIT_MS });
  addGradeRoutes(app, { graders, pool, gate });
  if (envs) {
    addEnvRoutes(app, envs);
    addEnvBatchRoutes(app, envs);
  }
  aboutRoutes(app, metrics);
  app.all("/mcp", mcpRoute(sessions, budgets));
  for (const adapter of ADAPTERS) {
    const { routes, toErrorResponse } = adapter(sessions, { openEnv: options.openEnv, budgets });
    app.route("/", routes.onError(toErrorResponse));
    for (const { path } of routes.routes) adapterErrors.getOrInsert(path, toErrorResponse);
  }
  return app;
}

/** Returns the methods of a path. A route without parameters precedes one such as `/v1/envs/:id`. */
function methodsOf(app: Api, path: string): string[] {
  const routes = METHODS.flatMap((method) =>
    app.router.match(method, path)[0].map(([[, route]]) => route).filter((route) => route.method === method)
  );
  const exact = routes.filter((route) => route.path === path);
  return [...new Set((exact.length > 0 ? exact : routes).map(({ method }) => method))];
}

/** Adds the routes about the server itself. */
function aboutRoutes(app: Api, metrics: Metrics): void {
  const about = { openapi: "3.1.0", info: { title: "Paddock", version: PADDOCK_VERSION } };
  app.get("/v1/health", (c) => c.json({ status: "ok", version: PADDOCK_VERSION, format: V1_FORMAT }));
  app.get("/metrics", (c) => {
    const text = metrics.format(c.get("isOperator") ? undefined : c.get("owner"));
    return c.text(text, 200, { "content-type": "text/plain; version=0.0.4" });
  });
  // Each takes up to 200 ms to make on a busy machine: too long for each request.
  let document: string | undefined;
  let page: ReturnType<typeof renderDocsPage> | undefined;
  app.get("/openapi.json", (c) => {
    document ??= JSON.stringify(app.getOpenAPI31Document(about));
    return c.body(document, 200, { "content-type": "application/json" });
  });
  app.get("/", (c) => c.redirect("/docs")); // for people who open the address that `paddock serve` prints
  app.get("/docs", (c) => {
    c.header(
      "content-security-policy",
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    );
    page ??= renderDocsPage(app.getOpenAPI31Document(about));
    return c.html(page);
  });
}

/** Parts of an OpenAPI document that its page shows. */
export interface ApiDocument {
  readonly paths?: Readonly<Record<string, unknown>> | undefined;
  readonly components?: { readonly schemas?: unknown } | undefined;
}

/** Renders an API as an HTML page without scripts and without external resources. */
export function renderDocsPage(document: ApiDocument): ReturnType<typeof html> {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item ?? {})
      .filter(([method]) => METHODS.includes(method.toUpperCase()))
      .map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation }))
  );
  return html`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Paddock</title>
<style>
body { font: 16px system-ui; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
pre { background: #f4f4f4; padding: 1rem; overflow: auto }
</style>
<h1>Paddock</h1>
<p>Schema: <a href="/openapi.json">openapi.json</a></p>
${operations.map(({ name, operation }) => details(`${name} · ${operation.summary ?? ""}`, operation))}
${details("Schemas", document.components?.schemas)}
</html>`;
}

function details(summary: string, value: unknown): ReturnType<typeof html> {
  return html`
    <details>
      <summary>${summary}</summary>
      <pre>${JSON.stringify(value, null, 2)}</pre>
    </details>
  `;
}
