import type { AppContext } from "../../http/context.ts";
import { SANDBOX_HOST } from "../../http/access.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import { SandboxGoneError } from "./errors.ts";
import { GuestFiles } from "./envd/guest_files.ts";
import { HomeSession } from "./home_session.ts";
import { Processes } from "./processes.ts";
import { Watchers } from "./watchers.ts";

/** Options of {@linkcode E2bSandboxes.create}. */
export interface CreateSandboxOptions {
  readonly owner: string;
  readonly templateId: string;
  readonly ttlMs: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly envVars: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A sandbox of E2B: a session, and what its clients share. */
export class E2bSandbox {
  readonly id: string;
  readonly templateId: string;
  readonly envVars: Readonly<Record<string, string>>;
  /** Its first interpreter, whose files are those of the sandbox. */
  readonly home: HomeSession;
  readonly files: GuestFiles;
  readonly processes: Processes;
  readonly watchers: Watchers;
  /** Texts by name that clients gave to files, by path. */
  readonly fileMetadata = new Map<string, Readonly<Record<string, string>>>();

  constructor(session: LiveSession, { templateId, envVars }: CreateSandboxOptions) {
    this.id = toSandboxId(session.id);
    this.templateId = templateId;
    this.envVars = envVars;
    this.home = new HomeSession(session, envVars);
    this.files = new GuestFiles(this.home);
    this.processes = new Processes(this.home);
    this.watchers = new Watchers(this.home, this.files);
  }

  get session(): LiveSession {
    return this.home.session;
  }
}

/** The sandboxes of E2B's clients. Each is a session of the server, which counts and ends it. */
export class E2bSandboxes {
  readonly #sessions: SessionService;
  readonly #sandboxes = new WeakMap<LiveSession, E2bSandbox>();

  constructor(sessions: SessionService) {
    this.#sessions = sessions;
  }

  /** @throws {ServerError} `busy` or `timeout` if no session becomes free. */
  async create(options: CreateSandboxOptions): Promise<E2bSandbox> {
    const { owner, ttlMs, metadata, signal } = options;
    const session = await this.#sessions.create({ owner, ttlMs, metadata, signal });
    const sandbox = new E2bSandbox(session, options);
    this.#sandboxes.set(session, sandbox);
    return sandbox;
  }

  /** Returns the owner's sandboxes with this metadata, oldest first. */
  list(owner: string, metadata?: Readonly<Record<string, string>>): E2bSandbox[] {
    return this.#sessions.list(owner, metadata).flatMap((session) => this.#sandboxes.get(session) ?? []);
  }

  /** Returns the owner's sandbox of an id, if there is one. */
  find(id: string, owner: string): E2bSandbox | undefined {
    if (!/^[0-9a-f]{48}$/.test(id)) return undefined;
    const sessionId = Uint8Array.fromHex(id).toBase64({ alphabet: "base64url" });
    return this.list(owner).find(({ session }) => session.id === sessionId);
  }

  /**
   * Returns the sandbox that a request names by the header `E2b-Sandbox-Id` or by its host name; `undefined` if it
   * names none.
   *
   * @throws {SandboxGoneError} if it does not exist, or belongs to another owner.
   */
  named(c: AppContext): E2bSandbox | undefined {
    const id = c.req.header("e2b-sandbox-id") ?? SANDBOX_HOST.exec(c.req.header("host") ?? "")?.[1];
    if (id === undefined) return undefined;
    const sandbox = this.find(id.toLowerCase(), c.get("owner"));
    if (sandbox === undefined) throw new SandboxGoneError(id.slice(0, 64));
    return sandbox;
  }
}

/** Returns the id of a session's sandbox, which can be a part of a host name. */
function toSandboxId(sessionId: string): string {
  return Uint8Array.fromBase64(sessionId, { alphabet: "base64url" }).toHex();
}
