import { OpenAPIHono } from "@hono/zod-openapi";
import { matchedRoutes } from "hono/route";
import { errorCodeOf } from "../wire/error_codes.ts";
import { describeIssue } from "../schema_words.ts";
import { requestSchema } from "./openapi/request_schema.ts";
import { V1_FORMAT, V1_FORMAT_HEADER } from "../wire/v1.ts";
import type { OpenEnvKind } from "./peers/openenv/env_kind.ts";
import type { PeerOperation } from "./peers/operation.ts";
import type { PeerRoutes } from "./peers/peer.ts";
import { makePeers } from "./peers/peers.ts";
import type { CheckpointService } from "./checkpoints/checkpoint_service.ts";
import type { EnvService } from "./envs/env_service.ts";
import type { GraderPool } from "../rewards/worker/grader_pool.ts";
import type { Graders } from "./graders.ts";
import { Budget, Budgets } from "./admission/budget.ts";
import { access, type AccessOptions, type PeerAccess, securityHeaders } from "./http/access.ts";
import { accessRecords, type RequestRecord } from "./http/access_log.ts";
import { type AppEnv, methodOf, routeOf, watchDisconnect } from "./http/context.ts";
import { crossOrigin } from "./http/cross_origin.ts";
import {
  errorReporter,
  errorResponse,
  notFoundResponse,
  toInvalidRequest,
  toServerError,
} from "./http/http_errors.ts";
import { largeJson } from "./http/large_json.ts";
import { METHODS, requestLimits } from "./http/request_limits.ts";
import { requestSpan } from "./http/tracing.ts";
import { OPEN_BYTES, REQUEST_LIMITS, type RequestLimits } from "./limits.ts";
import { mcpRoute } from "./mcp/mcp_route.ts";
import { MCP_OPERATIONS } from "./mcp/operations.ts";
import type { Metrics } from "./metrics.ts";
import { isRefusal, type ServerEvent } from "./server_event.ts";
import type { RolloutService } from "./rollouts/rollout_service.ts";
import { addAboutRoutes } from "./openapi/about.ts";
import type { SessionService } from "./sessions/session_service.ts";
import type { Api } from "./v1/route.ts";
import { addV1Routes } from "./v1/routes.ts";
import { viewerApp, type ViewerOptions } from "../viewer/viewer_app.tsx";

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
  /** Checkpoints of sessions; without them their routes do not exist. */
  checkpoints?: CheckpointService | undefined;
  /**
   * True if clients of `/mcp` have the tools `checkpoint` and `restore`. It needs `checkpoints`.
   *
   * @default false
   */
  mcpCheckpoints?: boolean | undefined;
  /** Envs of `/v1/envs`; without them the route does not exist. The caller disposes them. */
  envs?: EnvService | undefined;
  /** Rollouts of `/v1/rollouts`; without them the route does not exist. The caller disposes them. */
  rollouts?: RolloutService | undefined;
  /** Pages of saved episodes at `/runs`; without them the path does not exist. Every token opens them. */
  runs?: ViewerOptions | undefined;
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
  /**
   * Secret from which the tokens of sandboxes are derived. A server that continues them needs the secret of the
   * earlier server.
   *
   * @default 32 random bytes
   */
  secret?: Uint8Array | undefined;
  /** Access by keys that are no tokens of the server. */
  keys?: readonly PeerAccess[] | undefined;
  /** Returns the metrics of the cluster behind the server, for `/metrics`. */
  formatClusterMetrics?: (() => string) | undefined;
  /** Called after each response, for a log. It must not throw. */
  onRequest?: ((record: RequestRecord) => void) | undefined;
  /** Called with each refused request. It must not throw. */
  onEvent?: ((event: ServerEvent) => void) | undefined;
  /** Called with internal errors, which clients never see. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * Returns the whole server as a request handler; it needs no socket.
 *
 * @throws {TypeError} if `mcpCheckpoints` is set without `checkpoints`.
 */
export function paddockApp(options: PaddockAppOptions): Api {
  const { sessions, checkpoints, envs, rollouts, metrics } = options;
  const { graders = new Map(), graderPool, onError = () => {}, onEvent = () => {} } = options;
  const { budgets = new Budgets({ owners: options.tokens?.length }) } = options;
  const report = errorReporter(onError);
  const app = new OpenAPIHono<AppEnv>({
    async defaultHook(result, c) {
      if (result.success) return;
      const route = { method: methodOf(c), path: routeOf(c), part: result.target };
      const schema = requestSchema(app.openAPIRegistry, route);
      const { data } = result as { readonly data?: unknown }; // the value, which the type leaves out
      // The validator has no option for the words of its messages.
      const described = await schema?.safeParseAsync(data, { error: describeIssue });
      throw toInvalidRequest(described?.error ?? result.error);
    },
  });
  const { secret = crypto.getRandomValues(new Uint8Array(32)), openEnv } = options;
  const peers = makePeers({ sessions, budgets, checkpoints, secret }, openEnv);
  const peerErrors = new Map<string, PeerRoutes>();
  app.onError((thrown, c) => {
    const error = toServerError(thrown);
    const [peer] = matchedRoutes(c).flatMap(({ path }) => peerErrors.get(path) ?? []);
    const isOfPeer = error.code === "busy" || peer?.handlesRefusals;
    return isOfPeer && peer ? peer.toErrorResponse(error) : errorResponse(error);
  });
  app.notFound(({ req }) => notFoundResponse(req, "/docs", methodsOf(app, req.path)));
  app.use(requestSpan(), securityHeaders(), async (c, next) => {
    await next();
    if (c.error) report(c.error);
    const labels = { method: methodOf(c), route: routeOf(c) };
    const owner = c.get("owner") ?? "";
    metrics.countRequest({ status: c.res.status, owner, ...labels });
    const code = errorCodeOf(c.res.status);
    if (code !== undefined && isRefusal(code)) onEvent({ kind: "request refused", ...labels, code, owner });
    if (c.res.status === 101) return;
    if (c.req.path.startsWith("/v1/")) c.res.headers.set(V1_FORMAT_HEADER, String(V1_FORMAT));
  });
  const { onRequest, corsOrigins = [] } = options;
  if (onRequest) app.use(accessRecords(onRequest));
  if (corsOrigins.length > 0) app.use(crossOrigin(corsOrigins));
  const open = new Budget({
    total: OPEN_BYTES,
    unit: "bytes of requests without a token",
    advice: "send fewer at once",
  });
  app.use(
    watchDisconnect(),
    access(options, [...options.keys ?? [], ...peers.flatMap(({ access }) => access ?? [])]),
    requestLimits({ ...REQUEST_LIMITS, ...options.limits }, budgets.waiting, { open }),
  );
  app.use(largeJson());
  addV1Routes(app, { sessions, budgets, checkpoints, envs, rollouts, graders, graderPool });
  if (options.runs) {
    app.use("/runs/:run/episodes/:episode/raw", async (c, next) => {
      c.set("isCounted", true); // it is read from its file as the client reads it
      await next();
    });
    app.route("/", viewerApp(options.runs));
  }
  const { formatClusterMetrics } = options;
  const tokens = options.tokens?.length ?? 0;
  addAboutRoutes(app, { metrics, tokens, formatClusterMetrics, groups: peers });
  const mcpCheckpoints = options.mcpCheckpoints ? requireCheckpoints(checkpoints) : undefined;
  app.on([...METHODS], "/mcp", mcpRoute({ sessions, budgets, checkpoints: mcpCheckpoints }));
  for (const operation of MCP_OPERATIONS) describe("mcp", operation);
  for (const { name, routes, operations } of peers) {
    for (const made of routes) {
      app.route("/", made.routes.onError(made.toErrorResponse));
      for (const { path } of made.routes.routes) peerErrors.getOrInsert(path, made);
    }
    for (const operation of operations) describe(name, operation);
  }
  return app;

  function describe(group: string, { alsoIn = [], ...operation }: PeerOperation): void {
    app.openAPIRegistry.registerPath({ ...operation, tags: [group, ...alsoIn] });
  }
}

function requireCheckpoints(checkpoints: CheckpointService | undefined): CheckpointService {
  if (checkpoints) return checkpoints;
  throw new TypeError(
    "Cannot offer checkpoints to clients of MCP as 'pool' must be one whose sessions have checkpoints",
  );
}

/** Returns the methods of a path. A route without parameters precedes one such as `/v1/envs/:id`. */
function methodsOf(app: Api, path: string): string[] {
  const routes = METHODS.flatMap((method) =>
    app.router.match(method, path)[0].map(([[, route]]) => route).filter((route) => route.method === method)
  );
  const exact = routes.filter((route) => route.path === path);
  return [...new Set((exact.length > 0 ? exact : routes).map(({ method }) => method))];
}
