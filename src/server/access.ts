import { timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { sha256 } from "../sandbox/sha256.ts";
import type { AppEnv } from "./app_env.ts";
import { ServerError } from "./server_error.ts";

/** Who may ask. */
export interface AccessOptions {
  /** One of these must come with each request; without any, everybody may ask who reaches the server. */
  tokens?: readonly string[] | undefined;
  /** The names by which the server may be called, without ports; any when there are none. */
  hosts?: readonly string[] | undefined;
}

/** What tells nothing and is asked by what watches the server. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/health", "/v1/health", "/v1/ping"]);

const encoder = new TextEncoder();

/**
 * Lets in who has a token, calls the server by one of its names, and is no page of another site: a browser
 * would otherwise carry a stranger's page to a server on the loopback.
 */
export function access(options: AccessOptions): MiddlewareHandler<AppEnv> {
  const { tokens = [], hosts } = options;
  let owners: Promise<string[]> | undefined;
  return async (c, next) => {
    const host = c.req.header("host") ?? new URL(c.req.url).host;
    checkHost(host, hosts);
    checkOrigin(c.req.header("origin"), host);
    const open = OPEN_PATHS.has(c.req.path) || tokens.length === 0;
    owners ??= Promise.all(tokens.map(sha256));
    c.set("owner", open ? "" : ownerOf(await sha256(tokenOf(c.req.raw.headers)), await owners));
    await next();
  };
}

function checkHost(host: string, hosts: readonly string[] | undefined): void {
  const name = host.replace(/:\d*$/, "").toLowerCase();
  if (hosts === undefined || hosts.includes(name)) return;
  throw new ServerError("forbidden", "The server is not called by this host name");
}

function checkOrigin(origin: string | undefined, host: string): void {
  if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return;
  throw new ServerError("forbidden", "Pages of another origin may not ask");
}

/** The token of a request, where systems that are served put theirs. */
function tokenOf(headers: Headers): string {
  const bearer = headers.get("authorization")?.match(/^Bearer (.+)$/i)?.[1];
  return bearer ?? headers.get("x-access-token") ?? headers.get("x-api-key") ?? "";
}

/** The owner that a token's hash is one of, found in the same time wherever they differ. */
function ownerOf(given: string, owners: readonly string[]): string {
  const equal = owners.filter((owner) => timingSafeEqual(encoder.encode(owner), encoder.encode(given)));
  const [owner] = equal;
  if (owner !== undefined) return owner;
  throw new ServerError("unauthorized", "A token is needed: send the header 'Authorization: Bearer …'");
}
