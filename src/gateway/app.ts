import { OpenAPIHono } from "@hono/zod-openapi";
import type { ErrorCode } from "../wire/error_codes.ts";
import { Budgets } from "../server/admission/budget.ts";
import { access, type AccessOptions, type PeerAccess, securityHeaders } from "../server/http/access.ts";
import {
  type AppContext,
  type AppEnv,
  methodOf,
  type RequestConnection,
  routeOf,
  watchDisconnect,
} from "../server/http/context.ts";
import {
  errorReporter,
  errorResponse,
  notFoundResponse,
  ServerError,
  toErrorHeaders,
  toServerError,
} from "../server/http/http_errors.ts";
import { requestLimits } from "../server/http/request_limits.ts";
import { REQUEST_LIMITS, type RequestLimits } from "../server/limits.ts";
import { addAboutRoutes } from "../server/openapi/about.ts";
import { IdempotencyCache } from "../server/v1/idempotency.ts";
import { chatDialect } from "./dialects/chat.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { messagesDialect } from "./dialects/messages.ts";
import { responsesDialect } from "./dialects/responses.ts";
import type { Gateway } from "./gateway.ts";
import { GatewayError, type GatewayFault } from "./gateway_error.ts";
import { deliver } from "./http_delivery.ts";
import { type LiveSession, unknownKey } from "./live_session.ts";
import { GATEWAY_GROUP, GATEWAY_OPERATIONS } from "./operations.ts";
import type { RetryMarks } from "./model_request.ts";
import { addOwnerRoutes, readJson, requireOwner } from "./owner_routes.ts";

/** Options of {@linkcode gatewayApp}. */
export interface GatewayAppOptions extends Pick<AccessOptions, "tokens" | "hosts" | "corsOrigins"> {
  gateway: Gateway;
  limits?: Partial<RequestLimits> | undefined;
  /**
   * Milliseconds that a stream waits for the sample before its head is sent.
   *
   * @default 10_000
   */
  headWaitMs?: number | undefined;
  /** Memory of requests that wait. @default 512 MiB */
  budgets?: Budgets | undefined;
  /** Called with internal errors, which clients never see. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Handles a request to the gateway. */
export type GatewayHandler = (request: Request, connection?: RequestConnection) => Promise<Response>;

/** Dialects by the paths of their routes. */
const DIALECTS: Readonly<Record<string, Dialect>> = {
  "/v1/chat/completions": chatDialect,
  "/v1/responses": responsesDialect,
  "/v1/messages": messagesDialect,
};
const COUNT_TOKENS = "/v1/messages/count_tokens";
const MODELS = "/v1/models";
const OWNERS = "/v1/gateway/";

/** Returns whether a path is one of the gateway's. */
export function isGatewayPath(path: string): boolean {
  return Object.hasOwn(DIALECTS, path) || path === COUNT_TOKENS || path === MODELS || path.startsWith(OWNERS);
}

/** Largest body of an agent: a long chat with the results of tools. */
const BODY_BYTES = 64 * 1024 * 1024;

/** Returns the gateway as a request handler: the model's routes for agents, and the routes of owners. */
export function gatewayApp(options: GatewayAppOptions): GatewayHandler {
  const { gateway, tokens, headWaitMs = 10_000, onError = () => {} } = options;
  const { budgets = new Budgets({ owners: tokens?.length }) } = options;
  const report = errorReporter(onError);
  const app = new OpenAPIHono<AppEnv>();
  app.onError((thrown, c) => {
    if (!(thrown instanceof GatewayError)) report(thrown);
    else if (thrown.fault === "bad_reply") onError(thrown);
    const dialect = DIALECTS[c.req.path === COUNT_TOKENS ? "/v1/messages" : c.req.path];
    if (dialect === undefined && c.req.path !== MODELS) return errorResponse(toServerError(thrown));
    return toDialectResponse(dialect ?? chatDialect, toAgentError(thrown), thrown);
  });
  app.notFound(({ req }) => notFoundResponse(req, "/docs"));
  app.use(async (c, next) => {
    await next();
    const { status } = c.res;
    const labels = { method: methodOf(c), route: routeOf(c) };
    gateway.metrics.countRequest({ status, owner: c.get("owner") ?? "", ...labels });
  });
  app.use(
    securityHeaders(),
    watchDisconnect(),
    access(options, [keyAccess(gateway)]),
    requestLimits({ ...REQUEST_LIMITS, bodyBytes: BODY_BYTES, ...options.limits }, budgets.waiting),
  );
  app.use("/metrics", requireOwner());
  app.use(`${OWNERS}*`, requireOwner(), new IdempotencyCache(budgets).handler());
  for (const [path, dialect] of Object.entries(DIALECTS)) {
    app.post(path, async (c) => {
      const live = liveOf(c, gateway);
      const context = { retry: retryMarksOf(c.req.raw.headers), items: live.items };
      const request = dialect.parse(await readJson(c), context);
      return await deliver(c, { live, dialect, request, headWaitMs, toError: toAgentError });
    });
  }
  app.post(COUNT_TOKENS, async (c) => {
    const live = liveOf(c, gateway);
    const request = messagesDialect.parse(await readJson(c), { retry: { count: 0 }, items: live.items });
    return c.json({ input_tokens: live.session.countTokens(request) });
  });
  // Codex asks for a WebSocket first, and takes 426 as the answer that there are none
  app.get("/v1/responses", (c) => c.body(null, 426, { upgrade: "HTTP/1.1" }));
  app.get(MODELS, (c) => {
    liveOf(c, gateway);
    return c.json(
      listModels(gateway.model, { isAnthropic: c.req.header("anthropic-version") !== undefined }),
    );
  });
  addOwnerRoutes(app, gateway);
  addAboutRoutes(app, { metrics: gateway.metrics, tokens: tokens?.length ?? 0, groups: [GATEWAY_GROUP] });
  for (const operation of GATEWAY_OPERATIONS) {
    app.openAPIRegistry.registerPath({ ...operation, tags: [GATEWAY_GROUP.name] });
  }
  return async (request, connection) => await app.fetch(request, connection);
}

/** Lets the key of a session open the routes that read it. */
function keyAccess(gateway: Gateway): PeerAccess {
  return {
    tokenHeaders: [],
    isPrivate: () => false,
    toServerHost: (host) => host,
    findGrant(c) {
      const live = gateway.findByKey(keyOf(c.req.raw.headers));
      const grant = live && { owner: live.owner, isLive: true };
      return Promise.resolve(grant);
    },
  };
}

/** Returns the key that an agent sends: the key of OpenAI's SDKs, else the key of Anthropic's SDKs. */
function keyOf(headers: Headers): string {
  return headers.get("authorization")?.match(/^Bearer (.+)$/i)?.[1] ?? headers.get("x-api-key") ?? "";
}

function liveOf(c: AppContext, gateway: Gateway): LiveSession {
  const live = gateway.findByKey(keyOf(c.req.raw.headers));
  if (live === undefined) throw unknownKey();
  return live;
}

function retryMarksOf(headers: Headers): RetryMarks {
  const idempotencyKey = headers.get("idempotency-key") ?? undefined;
  const count = Number(headers.get("x-stainless-retry-count") ?? 0);
  return { idempotencyKey, count: Number.isInteger(count) ? count : 0 };
}

/** Faults of refused requests by their codes. */
const FAULTS: Partial<Record<ErrorCode, GatewayFault>> = {
  unauthorized: "unauthorized",
  forbidden: "forbidden",
  not_found: "not_found",
  too_large: "too_large",
  headers_too_large: "too_large",
  busy: "busy",
  timeout: "timeout",
  unavailable: "unavailable",
  internal: "bad_reply",
};

/** Converts any error into one that may be sent to the agent. */
function toAgentError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const { code, message, retryAfter } = toServerError(thrown);
  return new GatewayError(FAULTS[code] ?? "invalid", message, { cause: thrown, retryAfter });
}

function toDialectResponse(dialect: Dialect, error: GatewayError, thrown: unknown): Response {
  const { status, retryAfter } = error;
  return Response.json(dialect.toErrorJson(error), {
    status,
    headers: {
      ...(thrown instanceof ServerError && toErrorHeaders(thrown)),
      ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    },
  });
}

function listModels(id: string, { isAnthropic }: { isAnthropic: boolean }): object {
  if (!isAnthropic) {
    return { object: "list", data: [{ id, object: "model", created: 0, owned_by: "paddock" }] };
  }
  const model = { type: "model", id, display_name: id, created_at: "1970-01-01T00:00:00Z" };
  return { data: [model], has_more: false, first_id: id, last_id: id };
}
