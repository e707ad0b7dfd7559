import { delay } from "@std/async";
import { timingSafeEqual } from "@std/crypto";
import type { MiddlewareHandler } from "hono";
import { fromBase64 } from "../../base64.ts";
import { sha256 } from "../../hash.ts";
import {
  MAX_DELAYED_REFUSALS,
  MAX_FAILED_ADDRESSES,
  TOKEN_DELAY_MS,
  TOKEN_ERRORS,
  TOKEN_MEMORY_MS,
} from "../limits.ts";
import type { AppContext, AppEnv, RequestGrant } from "./context.ts";
import { ServerError } from "./http_errors.ts";

/** Options of {@linkcode access}. */
export interface AccessOptions {
  /** Accepted tokens. Without tokens, the server accepts every request. */
  tokens?: readonly string[] | undefined;
  /** Token that opens `/metrics` only, with the figures of all owners. An owner's token shows the owner's figures. */
  metricsToken?: string | undefined;
  /**
   * Origins whose pages may send requests, such as `https://example.org`; `*` is every origin.
   *
   * @default none: pages of other origins are refused
   */
  corsOrigins?: readonly string[] | undefined;
  /** Accepted host names, without ports. Without this option, any name is accepted. */
  hosts?: readonly string[] | undefined;
}

/** Access that a compatible system gives to clients. */
export interface PeerAccess {
  /** Headers in which clients send a token, beside the headers of all systems. */
  readonly tokenHeaders: readonly string[];
  /** True if a request is for a part of what an owner has: even its health is the owner's. */
  isPrivate(headers: Headers, host: string): boolean;
  /** Returns the host name of the server from a host name that may name a part. */
  toServerHost(host: string): string;
  /**
   * Finds what a request without a token of the server may use. Only routes that keep to the grant may be reached with
   * a grant.
   *
   * @param token token that the request has; the empty string for none
   * @throws {ServerError} `unauthorized` if the request has a signature that is not accepted.
   */
  findGrant(c: AppContext, token: string): Promise<RequestGrant | undefined>;
}

/** Health checks and the description of the API: they reveal nothing of an owner and need no token. */
const OPEN_PATHS: ReadonlySet<string> = new Set([
  "/",
  "/docs",
  "/health",
  "/openapi.json",
  "/v1/health",
  "/v1/ping",
]);

/** True if a GET of the path needs no token. */
export function isOpenPath(path: string): boolean {
  return OPEN_PATHS.has(path) || path.startsWith("/docs/");
}

const encoder = new TextEncoder();

/**
 * Checks the token, the host name and the origin of each request. The origin check keeps pages of other sites from
 * reaching a server on the loopback interface through a browser.
 */
export function access(options: AccessOptions, peers: readonly PeerAccess[] = []): MiddlewareHandler<AppEnv> {
  const { tokens = [], metricsToken, corsOrigins = [], hosts } = options;
  const wrongTokens = new WrongTokens();
  let owners: Promise<string[]> | undefined;
  const hashes = new Map<string, string>(); // of the valid tokens that were sent: each is computed once
  const operator = metricsToken === undefined ? undefined : sha256(metricsToken);
  const tokenHeaders = [...TOKEN_HEADERS, ...peers.flatMap((peer) => peer.tokenHeaders)];
  return async (c, next) => {
    const given = c.req.header("host");
    if (!given && (given === "" || c.env?.address !== undefined)) {
      throw new ServerError("malformed", "A request must have the header 'Host', which must not be empty");
    }
    const host = given ?? new URL(c.req.url).host; // a request without a socket may have none
    checkHost(peers.reduce((name, peer) => peer.toServerHost(name), host), hosts);
    checkOrigin(c.req.header("origin"), host, corsOrigins);
    const { headers } = c.req.raw;
    // the health of a part is the owner's: only the owner may learn that the part exists
    const isPrivate = peers.some((peer) => peer.isPrivate(headers, host));
    const isPublic = c.req.method === "GET" && isOpenPath(c.req.path) && !isPrivate;
    const isOpen = isPublic || tokens.length === 0;
    const isMetrics = c.req.path === "/metrics" && operator !== undefined;
    const isPage = c.req.path === "/runs" || c.req.path.startsWith("/runs/");
    const sent = tokenOf(headers, tokenHeaders) || (isPage ? passwordOf(headers) : "");
    const token = isOpen && !isMetrics ? "" : sent;
    const grant = isPublic ? undefined : await tryGrant(c, token);
    if (grant) {
      c.set("isOperator", false);
      c.set("owner", grant.owner);
      c.set("grant", grant);
      c.set("isAuthenticated", grant.isLive || tokens.length === 0);
      return await next();
    }
    const hash = token && (hashes.get(token) ?? await sha256(token));
    const isOperator = isMetrics && isEqual(hash, await operator);
    const owner = isOpen || isOperator
      ? ""
      : findOwner(hash, await (owners ??= Promise.all(tokens.map(sha256))));
    if (owner === undefined) {
      const challenge = isPage ? { challenge: ASK_IN_BROWSER } : {};
      if (token === "") {
        throw new ServerError(
          "unauthorized",
          "A token is required: send the header 'Authorization: Bearer …'",
          challenge,
        );
      }
      await wrongTokens.delay(c.env?.address ?? "", c.get("signal"));
      throw new ServerError("unauthorized", "The token is not one of the server's", challenge);
    }
    if (!isOpen || isOperator) hashes.set(token, hash);
    c.set("isOperator", isOperator);
    c.set("owner", owner);
    c.set("isAuthenticated", !isPublic || tokens.length === 0);
    await next();
  };

  /** Returns the grant of a request. A wrong signature is delayed as a wrong token is. */
  async function tryGrant(c: AppContext, token: string): Promise<RequestGrant | undefined> {
    try {
      for (const peer of peers) {
        const grant = await peer.findGrant(c, token);
        if (grant) return grant;
      }
    } catch (error) {
      if (error instanceof ServerError && error.code === "unauthorized") {
        await wrongTokens.delay(c.env?.address ?? "", c.get("signal"));
      }
      throw error;
    }
  }
}

function checkHost(host: string, hosts: readonly string[] | undefined): void {
  const name = host.replace(/:\d*$/, "").toLowerCase();
  if (hosts === undefined || hosts.includes(name)) return;
  throw new ServerError("forbidden", "The server does not accept this host name");
}

function checkOrigin(origin: string | undefined, host: string, corsOrigins: readonly string[]): void {
  if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return;
  if (corsOrigins.includes("*") || corsOrigins.includes(origin)) return;
  throw new ServerError("forbidden", "Requests from pages of another origin are refused");
}

/** Headers in which clients of other systems send a token. */
const TOKEN_HEADERS = ["x-access-token", "x-api-key"];

/** Returns the token of a request: the token of `Authorization`, else the first token in a header of other systems. */
function tokenOf(headers: Headers, others: readonly string[]): string {
  const bearer = headers.get("authorization")?.match(/^Bearer (.+)$/i)?.[1];
  return bearer ?? others.map((name) => headers.get(name)).find((token) => token !== null) ?? "";
}

/** Makes a browser ask for a name, which may be any, and a password, which is the token. */
const ASK_IN_BROWSER = 'Basic realm="Paddock runs", charset="UTF-8"';

/**
 * Returns the password of a browser. Only pages that are read accept the password, as browsers send passwords by
 * themselves.
 */
function passwordOf(headers: Headers): string {
  return basicCredentials(headers)?.password ?? "";
}

/** Returns the name and the password of a request, if present. */
export function basicCredentials(headers: Headers): { name: string; password: string } | undefined {
  const encoded = headers.get("authorization")?.match(/^Basic ([A-Za-z0-9+/]+={0,2})$/i)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return undefined;
  const text = new TextDecoder().decode(fromBase64(encoded));
  const end = text.indexOf(":");
  return { name: text.slice(0, Math.max(0, end)), password: text.slice(end + 1) };
}

/** Returns the owner whose hash equals the given one, in constant time. */
function findOwner(given: string, owners: readonly string[]): string | undefined {
  const [owner] = owners.filter((owner) => isEqual(given, owner));
  return owner;
}

/** Slows down guesses of tokens: keeps a number for each of a few addresses, and delays no right token. */
export class WrongTokens {
  /** Number of wrong tokens and time of the first wrong token, by address, oldest first. */
  readonly #failures = new Map<string, { count: number; since: number }>();
  #delayed = 0;

  /**
   * Waits a second if the address has sent several wrong tokens within the last minute.
   *
   * @throws {ServerError} `busy` if too many refusals wait.
   */
  async delay(address: string, signal?: AbortSignal): Promise<void> {
    if (this.#record(address) <= TOKEN_ERRORS) return;
    if (this.#delayed >= MAX_DELAYED_REFUSALS) {
      throw new ServerError("busy", "Too many wrong tokens were sent", { retryAfter: 60 });
    }
    this.#delayed++;
    try {
      await delay(TOKEN_DELAY_MS, { signal });
    } finally {
      this.#delayed--;
    }
  }

  /** Adds a failure and returns the address's number of them. */
  #record(address: string): number {
    const now = performance.now();
    const last = this.#failures.get(address);
    const failure = last && now - last.since < TOKEN_MEMORY_MS ? last : { count: 0, since: now };
    failure.count++;
    this.#failures.delete(address);
    this.#failures.set(address, failure);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_FAILED_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
    return failure.count;
  }
}

/** Sets headers that keep pages of other sites from reading or framing a response. */
export function securityHeaders(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await next();
    if (c.res.status === 101) return;
    const { headers } = c.res;
    headers.set("x-content-type-options", "nosniff");
    headers.set("cross-origin-resource-policy", "same-origin");
    if (!headers.has("content-security-policy")) {
      headers.set("content-security-policy", "frame-ancestors 'none'");
    }
  };
}

/** Compares two hashes in constant time. */
function isEqual(given: string, expected: string | undefined): boolean {
  return expected?.length === given.length &&
    timingSafeEqual(encoder.encode(expected), encoder.encode(given));
}
