import type { SessionLease, SessionPool } from "../../sandbox/contract/pool.ts";
import { toPublicError } from "../http/http_errors.ts";
import type { LiveSession, LiveSessionOptions } from "./live_session.ts";
import { SessionTools } from "./session_tools.ts";
import { isSharedPool, parseSharedSettings, type SharedLease, type SharedSettings } from "./shared_pool.ts";

/** Options of a session that other servers read. */
export interface ShareOptions
  extends Pick<LiveSessionOptions, "limits" | "metadata" | "checkpointEvery" | "tools"> {
  readonly ttlMs?: number | undefined;
}

/** A session of another server, and the options with which this server continues the session. */
export interface JoinedSession {
  readonly lease: SessionLease;
  readonly options: Pick<
    LiveSessionOptions,
    "createdAt" | "expiresAt" | "limits" | "metadata" | "checkpointEvery" | "tools"
  >;
}

/** The sessions that several servers over one pool use, where the pool can do that. */
export class SharedSessions {
  readonly #pool: SessionPool;
  readonly #stop: AbortSignal;
  readonly #shared = new WeakMap<SessionLease, { readonly lease: SharedLease; readonly createdAt: Date }>();
  readonly #bySession = new WeakMap<LiveSession, SharedLease>();
  /** Sessions of other servers that are being looked for. */
  readonly #joining = new Map<string, Promise<LiveSession | undefined>>();

  /** @param stop aborts when this server stops, after which sessions go on for the others */
  constructor(pool: SessionPool, stop: AbortSignal) {
    this.#pool = pool;
    this.#stop = stop;
  }

  /** True if other servers can use the session. */
  has(session: LiveSession): boolean {
    return this.#bySession.has(session);
  }

  /**
   * Lets other servers find the session of a lease. Returns the lease unchanged if the pool cannot do that.
   */
  async share(lease: SessionLease, options: ShareOptions): Promise<SessionLease> {
    const pool = this.#pool;
    if (!isSharedPool(pool)) return lease;
    const { limits, metadata, checkpointEvery, tools, ttlMs } = options;
    const createdAt = new Date();
    const settings: SharedSettings = {
      createdAt,
      expiresAt: ttlMs === undefined ? undefined : new Date(createdAt.getTime() + ttlMs),
      limits,
      metadata,
      checkpointEvery,
      tools: tools?.specs,
    };
    try {
      return this.#wrap(await pool.share(lease, settings), createdAt);
    } catch (error) {
      await lease[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Returns the id by which all servers find the session of a lease, and the time of the session's start, if
   * the session is shared.
   */
  identityOf(lease: SessionLease): Pick<LiveSessionOptions, "id" | "createdAt"> {
    const shared = this.#shared.get(lease);
    return shared ? { id: shared.lease.id, createdAt: shared.createdAt } : {};
  }

  /** Adds the session of a lease. */
  add(session: LiveSession, lease: SessionLease): void {
    const shared = this.#shared.get(lease);
    if (shared) this.#bySession.set(session, shared.lease);
  }

  /**
   * Continues a session that another server has opened. Requests that need it at the same time get the same
   * session.
   *
   * @throws {ServerError} `unavailable` if the pool cannot be reached.
   */
  async join(
    id: string,
    owner: string,
    open: (joined: JoinedSession) => LiveSession,
  ): Promise<LiveSession | undefined> {
    const key = JSON.stringify([owner, id]);
    const joining = this.#joining.getOrInsertComputed(key, async () => {
      const joined = await this.#find(id, owner);
      return joined && open(joined);
    });
    try {
      return await joining;
    } finally {
      this.#joining.delete(key);
    }
  }

  /**
   * Makes this server the last server that has used a session, so that the end of the session counts for all
   * servers.
   */
  async claim(session: LiveSession): Promise<void> {
    try {
      await this.#bySession.get(session)?.claim();
    } catch (error) {
      throw toPublicError(error);
    }
  }

  async #find(id: string, owner: string): Promise<JoinedSession | undefined> {
    const pool = this.#pool;
    if (!isSharedPool(pool)) return undefined;
    try {
      const found = await pool.join(id, owner);
      const settings = found && parseSharedSettings(found.settings);
      if (!found || !settings) return undefined;
      const tools = settings.tools && new SessionTools(settings.tools);
      return {
        lease: this.#wrap(found.lease, settings.createdAt),
        options: { ...settings, tools },
      };
    } catch (error) {
      throw toPublicError(error);
    }
  }

  /** Returns a lease whose session goes on for other servers when this server stops. */
  #wrap(shared: SharedLease, createdAt: Date): SessionLease {
    const lease = {
      session: shared.session,
      [Symbol.asyncDispose]: async () =>
        await (this.#stop.aborted ? shared.leave() : shared[Symbol.asyncDispose]()),
    };
    this.#shared.set(lease, { lease: shared, createdAt });
    return lease;
  }
}
