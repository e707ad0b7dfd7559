import { timingSafeEqual } from "@std/crypto";
import { createHmac } from "node:crypto";
import type { PeerAccess } from "../../http/access.ts";
import type { AppContext, RequestGrant } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import { SIGNATURE_SEARCH_MS, SIGNATURE_SEARCH_SHARE } from "../../limits.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { SessionDirectory } from "../../sessions/session_directory.ts";
import { fileQueryOf, invalidSignature, SignatureCheck } from "./signed_files.ts";

const SANDBOX_ID = /^[0-9a-f]{48}$/;
const TOKEN = /^sbx_[0-9a-f]{64}$/;
/** Separates the tokens of sandboxes from other uses of the server's secret. */
const PURPOSE = "e2b sandbox token 1:";
/** Paths that a token of a sandbox opens: paths of E2B's agent in the sandbox, and of the code interpreter. */
export const ENVD_PATHS =
  /^\/(health|files|execute|contexts(\/[^/]+(\/restart)?)?|(filesystem\.Filesystem|process\.Process)\/[^/]+)$/;
const OPERATIONS: Readonly<Record<string, "read" | "write">> = { GET: "read", HEAD: "read", POST: "write" };
/** Sandboxes whose signatures are compared before other requests are served. */
const CHECKS_AT_ONCE = 256;

/** Host name of a port of a sandbox: the port, and the id of the sandbox. */
const SANDBOX_HOST = /^\d{1,5}-([0-9a-f]{48})(?=[.:]|$)/i;
/** The part of such a name before the server's own name. */
const SANDBOX_LABEL = /^\d{1,5}-[0-9a-f]{48}\./i;
const SANDBOX_HEADER = "e2b-sandbox-id";

const encoder = new TextEncoder();

/** Access to a sandbox, by a secret of the sandbox. */
export interface SandboxGrant extends RequestGrant {
  /** The only sandbox that the request may use. */
  readonly sandboxId: string;
  /** True for the holder of a URL that allows an operation on a path. */
  readonly isSigned: boolean;
  /** True if the request may also use the API of sandboxes, for this sandbox. Something else then ends the sandbox. */
  readonly isWhole?: boolean | undefined;
}

/** Returns what a request may use by a secret of a sandbox; `undefined` for a request that has no such secret. */
export function grantOf(c: AppContext): SandboxGrant | undefined {
  const grant = c.get("grant");
  return grant && "sandboxId" in grant ? grant as SandboxGrant : undefined;
}

/** Returns how requests to sandboxes are recognized, and what they may use. */
export function e2bAccess(access: SandboxAccess): PeerAccess {
  return {
    tokenHeaders: ["e2b-traffic-access-token"],
    isPrivate: (headers, host) => headers.has(SANDBOX_HEADER) || SANDBOX_HOST.test(host),
    toServerHost: (host) => host.replace(SANDBOX_LABEL, ""),
    findGrant: (c, token) => access.findGrant(c, token),
  };
}

/**
 * Access to single sandboxes of E2B without a token of the server. Each sandbox has a token, derived from the secret of
 * the server and the sandbox's id, so that no token is stored. With the token, the SDKs send requests and sign URLs.
 */
export class SandboxAccess {
  readonly #sessions: Pick<SessionDirectory, "all" | "peek">;
  readonly #secret: Uint8Array;
  readonly #tokens = new WeakMap<LiveSession, string>();
  readonly #allowance: Allowance;

  /**
   * @param secret secret of the server, from which the tokens of sandboxes are derived
   * @param options.now milliseconds of a steady clock
   */
  constructor(
    sessions: Pick<SessionDirectory, "all" | "peek">,
    secret: Uint8Array,
    { now = () => performance.now() }: { now?: () => number } = {},
  ) {
    this.#sessions = sessions;
    this.#secret = secret;
    this.#allowance = new Allowance(now);
  }

  /** Returns the token of the sandbox of an id. */
  tokenOf(sandboxId: string): string {
    return `sbx_${createHmac("sha256", this.#secret).update(PURPOSE + sandboxId).digest("hex")}`;
  }

  /**
   * Returns the access of a request by the token of a sandbox, which the request must name, or by a signature, with which
   * the request need not name a sandbox. Returns `undefined` without a token or a signature of a sandbox.
   *
   * @param token token of the request; the empty string for no token
   * @throws {ServerError} `unauthorized` for a signature that is wrong or has expired; `busy` if too many
   * signatures that name no sandbox were wrong.
   */
  async findGrant(c: AppContext, token: string): Promise<SandboxGrant | undefined> {
    if (!ENVD_PATHS.test(c.req.path)) return undefined;
    if (token === "") return await this.#findBySignature(c);
    const id = sandboxIdOf(c);
    if (id === undefined || !SANDBOX_ID.test(id) || !TOKEN.test(token)) return undefined;
    if (!timingSafeEqual(encoder.encode(token), encoder.encode(this.tokenOf(id)))) return undefined;
    return this.#grant(id, { isSigned: false });
  }

  async #findBySignature(c: AppContext): Promise<SandboxGrant | undefined> {
    const operation = OPERATIONS[c.req.method];
    if (c.req.path !== "/files" || operation === undefined) return undefined;
    const { signature, ...query } = fileQueryOf(c);
    if (signature === undefined) return undefined;
    const check = SignatureCheck.of(signature, { ...query, operation }, Math.floor(Date.now() / 1000));
    const named = sandboxIdOf(c);
    if (named === undefined) return this.#grant(await this.#search(check), { isSigned: true });
    if (!SANDBOX_ID.test(named) || !check.matches(this.tokenOf(named))) throw invalidSignature();
    return this.#grant(named, { isSigned: true });
  }

  /** Returns the id of the sandbox that has signed a URL which names none. A wrong signature costs the most. */
  async #search(check: SignatureCheck): Promise<string> {
    const { result: sandboxes, ms } = this.#allowance.spend(() =>
      [...this.#sessions.all()].filter(({ attachment }) => attachment !== undefined)
    );
    let spentMs = ms;
    for (let first = 0; first < sandboxes.length; first += CHECKS_AT_ONCE) {
      if (first > 0) await nextTask();
      const some = sandboxes.slice(first, first + CHECKS_AT_ONCE);
      const { result, ms } = this.#allowance.spend(() =>
        some.find((session) => this.#hasSigned(session, check))
      );
      spentMs += ms;
      if (result === undefined) continue;
      this.#allowance.giveBack(spentMs);
      return toSandboxId(result.id);
    }
    throw invalidSignature();
  }

  #hasSigned(session: LiveSession, check: SignatureCheck): boolean {
    const token = this.#tokens.getOrInsertComputed(session, ({ id }) => this.tokenOf(toSandboxId(id)));
    return check.matches(token);
  }

  #grant(sandboxId: string, { isSigned }: { isSigned: boolean }): SandboxGrant {
    const session = this.#sessions.peek(toSessionId(sandboxId));
    // the routes report that a sandbox has ended, which clients with the sandbox's token may learn
    return { owner: session?.owner ?? "", sandboxId, isSigned, isLive: session !== undefined };
  }
}

/** Time of work for requests without a valid token. Valid requests give the time back. */
class Allowance {
  readonly #now: () => number;
  #leftMs = SIGNATURE_SEARCH_MS;
  #at: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#at = now();
  }

  /**
   * Does a part of the work. Returns the result and the time of the work.
   *
   * @throws {ServerError} `busy` if no time is left.
   */
  spend<T>(work: () => T): { result: T; ms: number } {
    const start = this.#now();
    const earnedMs = SIGNATURE_SEARCH_SHARE * (start - this.#at);
    this.#leftMs = Math.min(SIGNATURE_SEARCH_MS, this.#leftMs + earnedMs);
    this.#at = start;
    if (this.#leftMs <= 0) {
      throw new ServerError(
        "busy",
        "Too many wrong signatures were sent without the name of a sandbox: use a URL whose host names it",
        { retryAfter: 1 + Math.ceil(-this.#leftMs / SIGNATURE_SEARCH_SHARE / 1000) },
      );
    }
    const result = work();
    const ms = this.#now() - start;
    this.#leftMs -= ms;
    return { result, ms };
  }

  giveBack(ms: number): void {
    this.#leftMs += ms;
  }
}

/** Returns the id of the sandbox that a request names by header or host name. The id may be any text. */
export function sandboxIdOf(c: AppContext): string | undefined {
  const id = c.req.header(SANDBOX_HEADER) ?? SANDBOX_HOST.exec(c.req.header("host") ?? "")?.[1];
  return id?.toLowerCase();
}

/** Returns the id of a session's sandbox, which can be a part of a host name. */
export function toSandboxId(sessionId: string): string {
  return Uint8Array.fromBase64(sessionId, { alphabet: "base64url" }).toHex();
}

/** Returns the id of a sandbox's session; the empty string for a text that is no id of a sandbox. */
export function toSessionId(sandboxId: string): string {
  if (!SANDBOX_ID.test(sandboxId)) return "";
  return Uint8Array.fromHex(sandboxId).toBase64({ alphabet: "base64url" });
}

/** Lets other requests be served. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
