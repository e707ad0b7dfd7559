import type { PeerAccess } from "../../http/access.ts";
import type { AppContext } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import { ENVD_PATHS, type SandboxGrant, sandboxIdOf, toSandboxId } from "./sandbox_access.ts";

/** Paths that a key opens, with the id of the sandbox in E2B's form or in the form of `/v1`, and their methods. */
const OPEN: readonly (readonly [methods: string, path: RegExp])[] = [
  ["GET POST", /^(?:\/v2)?\/sandboxes$/],
  ["GET DELETE", /^\/sandboxes\/(?<e2b>[^/]+)$/],
  ["POST", /^(?:\/v2)?\/sandboxes\/(?<e2b>[^/]+)\/connect$/],
  ["POST", /^\/sandboxes\/(?<e2b>[^/]+)\/(?:timeout|refreshes)$/],
  ["GET", /^\/sandboxes\/(?<e2b>[^/]+)\/metrics$/],
  ["GET POST DELETE HEAD", ENVD_PATHS],
  ["GET", /^\/v1\/sessions\/(?<v1>[^/]+)$/],
  ["GET POST DELETE", /^\/v1\/sessions\/(?<v1>[^/]+)\/(?:file|files|directories)$/],
  ["POST", /^\/v1\/sessions\/(?<v1>[^/]+)\/(?:exec|stream|shell|resume|reset|calls\/[^/]+)$/],
];

/** Keys, each of which opens a single sandbox and nothing else. */
export class SandboxKeys implements PeerAccess {
  readonly tokenHeaders = [];
  readonly #sessions = new Map<string, LiveSession>();

  /** Lets a key open the sandbox of a session, until the sandbox ends. */
  add(key: string, session: LiveSession): void {
    this.#sessions.set(key, session);
    session.life.endSignal.addEventListener("abort", () => this.#sessions.delete(key), { once: true });
  }

  isPrivate(): boolean {
    return false;
  }

  toServerHost(host: string): string {
    return host;
  }

  /**
   * Returns the access of a request with a key; `undefined` for a request without a key.
   *
   * @throws {ServerError} `not_found` if the request names another sandbox; `forbidden` if the path is not a path of
   * a sandbox.
   */
  findGrant(c: AppContext): Promise<SandboxGrant | undefined> {
    const session = keysOf(c.req.raw.headers).map((key) => this.#sessions.get(key)).find(Boolean);
    if (session === undefined) return Promise.resolve(undefined);
    const { id, owner } = session;
    const sandboxId = toSandboxId(id);
    const [, path] =
      OPEN.find(([methods, path]) => methods.split(" ").includes(c.req.method) && path.test(c.req.path)) ??
        [];
    if (path === undefined) {
      throw new ServerError("forbidden", "The key opens one sandbox only: send the owner's token");
    }
    const { e2b = sandboxIdOf(c) ?? sandboxId, v1 = id } = path.exec(c.req.path)?.groups ?? {};
    if (e2b !== sandboxId || v1 !== id) throw new ServerError("not_found", "The key opens another sandbox");
    return Promise.resolve({ owner, sandboxId, isSigned: false, isLive: true, isWhole: true });
  }
}

/** Returns the texts of a request that may be a key. */
function keysOf(headers: Headers): string[] {
  const bearer = headers.get("authorization")?.match(/^Bearer (.+)$/i)?.[1];
  const sent = [bearer, headers.get("x-api-key"), headers.get("x-access-token")];
  return sent.filter((key) => typeof key === "string");
}
