import { timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { sha256 } from "../../hash.ts";
import type { AppEnv } from "./context.ts";
import { ServerError } from "./errors.ts";

/** Options of {@linkcode access}. */
export interface AccessOptions {
  /** Accepted tokens. Without any, the server accepts every request that reaches it. */
  tokens?: readonly string[] | undefined;
  /** Token that opens `/metrics` only, with the figures of all owners. An owner's token shows its own figures. */
  metricsToken?: string | undefined;
  /** Accepted host names, without ports. Without this option, any name is accepted. */
  hosts?: readonly string[] | undefined;
}

/** Health checks: they reveal nothing and need no token. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/health", "/v1/health", "/v1/ping"]);

const encoder = new TextEncoder();

/**
 * Checks the token, the host name and the origin of each request. The origin check keeps pages of other sites from
 * reaching a server on the loopback interface through a browser.
 */
export function access(options: AccessOptions): MiddlewareHandler<AppEnv> {
  const { tokens = [], metricsToken, hosts } = options;
  let owners: Promise<string[]> | undefined;
  const operator = metricsToken === undefined ? undefined : sha256(metricsToken);
  return async (c, next) => {
    const host = c.req.header("host") ?? new URL(c.req.url).host;
    checkHost(host, hosts);
    checkOrigin(c.req.header("origin"), host);
    const isHealthCheck = c.req.method === "GET" && OPEN_PATHS.has(c.req.path);
    const isOpen = isHealthCheck || tokens.length === 0;
    owners ??= Promise.all(tokens.map(sha256));
    const isMetrics = c.req.path === "/metrics" && operator !== undefined;
    const given = isOpen && !isMetrics ? "" : await sha256(tokenOf(c.req.raw.headers));
    const isOperator = isMetrics && isEqual(given, await operator);
    c.set("isOperator", isOperator);
    c.set("owner", isOpen || isOperator ? "" : ownerOf(given, await owners));
    await next();
  };
}

function checkHost(host: string, hosts: readonly string[] | undefined): void {
  const name = host.replace(/:\d*$/, "").toLowerCase();
  if (hosts === undefined || hosts.includes(name)) return;
  throw new ServerError("forbidden", "The server does not accept this host name");
}

function checkOrigin(origin: string | undefined, host: string): void {
  if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return;
  throw new ServerError("forbidden", "Requests from pages of another origin are refused");
}

/** Returns the token of a request. Clients of other systems send it in headers of their own. */
function tokenOf(headers: Headers): string {
  const bearer = headers.get("authorization")?.match(/^Bearer (.+)$/i)?.[1];
  return bearer ?? headers.get("x-access-token") ?? headers.get("x-api-key") ?? "";
}

/** Returns the owner whose hash equals the given one, in constant time. */
function ownerOf(given: string, owners: readonly string[]): string {
  const [owner] = owners.filter((owner) => isEqual(given, owner));
  if (owner !== undefined) return owner;
  throw new ServerError("unauthorized", "A token is required: send the header 'Authorization: Bearer …'");
}

/** Compares two hashes in constant time. */
function isEqual(given: string, expected: string | undefined): boolean {
  return expected !== undefined && timingSafeEqual(encoder.encode(expected), encoder.encode(given));
}
