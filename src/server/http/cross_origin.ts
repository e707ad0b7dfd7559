import { cors } from "hono/cors";
import type { MiddlewareHandler } from "hono";
import { V1_FORMAT_HEADER } from "../../wire/v1.ts";
import type { AppEnv } from "./context.ts";
import { METHODS } from "./request_limits.ts";

/** Request headers that pages may send: the type of a body, tokens and ids. */
const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "X-Access-Token",
  "X-API-Key",
  "X-Request-ID",
  "X-Session-ID",
  "Mcp-Session-Id",
  "Mcp-Protocol-Version",
];
/** Response headers that pages may read. */
const EXPOSED_HEADERS = [V1_FORMAT_HEADER, "Retry-After", "Mcp-Session-Id"];
/** Seconds for which a browser keeps the response to a preflight. */
const PREFLIGHT_SECONDS = 600;

/**
 * Lets pages of these origins read responses, and answers their preflights, which have no token. Cookies are never
 * allowed: a page sends the token itself. Without `*`, an origin must be the same text.
 */
export function crossOrigin(origins: readonly string[]): MiddlewareHandler<AppEnv> {
  const isAny = origins.includes("*");
  const handler = cors({
    origin: isAny ? "*" : [...origins],
    allowMethods: [...METHODS],
    allowHeaders: ALLOWED_HEADERS,
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_SECONDS,
  });
  return async (c, next) => {
    const origin = c.req.header("origin");
    const isPreflight = c.req.header("access-control-request-method") !== undefined;
    const isAllowed = origin !== undefined && (isAny || origins.includes(origin));
    if (isAllowed && (c.req.method !== "OPTIONS" || isPreflight)) return await handler(c, next);
    await next();
    if (!isAny && c.res.status !== 101) c.header("vary", "Origin", { append: true });
  };
}
