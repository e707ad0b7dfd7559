import type { Checkpoint, SessionLease, SessionPool } from "../../sandbox/exec.ts";
import type { RecoveryMemory } from "../checkpoints/recovery_memory.ts";
import { CheckpointTransfers, type ForkCopyOptions } from "../checkpoints/transfers.ts";
import { IDLE_MS, SESSION_QUEUE, SESSION_WAIT_MS } from "../limits.ts";
import { LiveSession, type LiveSessionOptions } from "./live_session.ts";
import { checkSessionLimits } from "./session_limits.ts";
import { SessionSlots } from "./session_slots.ts";
import { SessionTools } from "./session_tools.ts";
import {
  isSharedLease,
  isSharedPool,
  parseSharedSettings,
  type SharedLease,
  type SharedSettings,
} from "./shared_pool.ts";
import type { Metrics } from "../metrics.ts";
import { ServerError, toPublicError } from "../http/errors.ts";

/** Options of {@linkcode SessionService}. */
export interface SessionServiceOptions {
  /** Pool of interpreters. It must have `maxSessions` of them. The caller disposes it. */
  pool: SessionPool;
  metrics: Metrics;
  /** Maximum number of sessions, including those of single programs. */
  maxSessions: number;
  /**
   * Maximum number of sessions per owner.
   *
   * @default all but the reserved shares of other owners
   */
  maxSessionsEach?: number | undefined;
  /**
   * Number of owners. Half of the sessions is divided among them and reserved.
   *
   * @default 1
   */
  owners?: number | undefined;
  /**
   * Requests that may wait to open a session. Requests that run single programs are not counted: the time that each
   * may wait and the bytes of their bodies bound them.
   *
   * @default 64
   */
  queue?: number | undefined;
  /**
   * Milliseconds that a request waits for a session.
   *
   * @default 30_000
   */
  waitMs?: number | undefined;
  /**
   * Milliseconds without use after which a session ends.
   *
   * @default 600_000
   */
  idleMs?: number | undefined;
  /**
   * Room for the checkpoints of sessions with `checkpointEvery`.
   *
   * @default no limit but that of the profile
   */
  recovery?: RecoveryMemory | undefined;
  /** Called with each error of a session, before the client gets its public form. */
  onError?: ((thrown: unknown) => void) | undefined;
}

/** Options of {@linkcode SessionService.borrow}. */
export interface OpenOptions
  extends Pick<LiveSessionOptions, "tools" | "limits" | "metadata" | "checkpointEvery" | "ttlMs"> {
  /** Owner of the session; no other owner can find it. */
  owner: string;
  /** The owner's name for the session, by which it can be found. */
  name?: string | undefined;
  seed?: number | undefined;
  /** State that the session starts with. */
  from?: Checkpoint | undefined;
  /**
   * True if other servers over the same pool find the session by its id, where the pool can do that.
   *
   * @default false
   */
  isShared?: boolean | undefined;
  /**
   * True if the session runs one program and then ends. Its pool may then rewind it with the program.
   *
   * @default false
   */
  once?: boolean | undefined;
  /**
   * Milliseconds without use after which the session ends; `Infinity` disables it.
   *
   * @default the service's `idleMs`; `Infinity` with `ttlMs`
   */
  idleMs?: number | undefined;
  /**
   * Milliseconds without use after which the session may end in favour of another session of its owner, when none is
   * free. In favour of another owner it ends only if that owner has fewer sessions, and after 10 seconds without use.
   *
   * @default Infinity; the service's `idleMs` with `ttlMs`
   */
  spareMs?: number | undefined;
  /**
   * Milliseconds that the request waits for a session.
   *
   * @default the service's `waitMs`
   */
  waitMs?: number | undefined;
  signal: AbortSignal;
}

/** Opens sessions for clients, finds them by id or name, and ends idle ones. */
export class SessionService implements AsyncDisposable {
  readonly maxSessions: number;
  /** Captures and restores the states of its sessions. */
  readonly transfers: CheckpointTransfers;
  readonly #options:
    & Pick<SessionServiceOptions, "pool" | "metrics" | "recovery">
    & Pick<LiveSessionOptions, "idleMs" | "onError">;
  readonly #slots: SessionSlots;
  readonly #byId = new Map<string, LiveSession>();
  /** Sessions of other servers that are being looked for. */
  readonly #joining = new Map<string, Promise<LiveSession>>();
  readonly #leases = new WeakMap<LiveSession, SharedLease>();
  readonly #byName = new Map<string, Promise<LiveSession>>();
  readonly #open = new Set<LiveSession>();
  readonly #stop = new AbortController();

  /** @throws {RangeError} if `maxSessions` is less than 1. */
  constructor(options: SessionServiceOptions) {
    const { pool, metrics, maxSessions, maxSessionsEach, owners, recovery } = options;
    const { queue = SESSION_QUEUE, waitMs = SESSION_WAIT_MS, idleMs = IDLE_MS, onError = () => {} } = options;
    this.maxSessions = maxSessions;
    this.transfers = new CheckpointTransfers({ owners, waitMs });
    this.#options = { pool, metrics, idleMs, recovery, onError };
    this.#slots = new SessionSlots({
      slots: maxSessions,
      slotsPerOwner: maxSessionsEach,
      owners,
      queue,
      waitMs,
      open: this.#open,
      stop: this.#stop.signal,
      metrics,
      onError,
    });
  }

  /**
   * Opens a session that can be found by its id.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free; `invalid` if it cannot have the tools or the
   * limits. If it must not start with `from`, the `reason` is that of the checkpoint.
   */
  async create(options: OpenOptions): Promise<LiveSession> {
    const session = await this.#start(options, { isCounted: true });
    try {
      await session.checkTools(options.signal);
      if (options.from) await this.transfers.restore(session, options.from, options.signal);
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
    this.#byId.set(session.id, session);
    return session;
  }

  /**
   * Opens copies of a session, with its tools, limits, metadata and end, and random numbers of their own.
   *
   * @throws {ServerError} `invalid` if so many are never free; `busy` or `timeout` if they do not become free; `conflict`
   * if the session has what no checkpoint has.
   */
  async fork(parent: LiveSession, count: number, { seed, signal }: ForkCopyOptions): Promise<LiveSession[]> {
    const { owner, limits, metadata, tools, expiresAt } = parent;
    const most = this.#slots.slotsPerOwner - 1;
    if (count > most) {
      throw new ServerError("invalid", `count must be at most ${most}: current value is ${count}`);
    }
    const fork = () => this.transfers.fork(parent, count, { seed, signal });
    const isShared = this.#leases.has(parent);
    return await parent.use(async () => {
      const ttlMs = expiresAt && Math.max(0, expiresAt.getTime() - Date.now());
      const settings = { owner, limits, metadata, ttlMs, tools, signal, createdAt: new Date() };
      const forkShared = async () => {
        const leases = await fork();
        return isShared ? await Promise.all(leases.map((lease) => this.#share(lease, settings))) : leases;
      };
      const { result: leases, slots } = await this.#slots.admitAll(forkShared, { owner, count, signal });
      return leases.map((lease, index) => {
        const options = { ...settings, tools: tools?.copy() };
        const copy = this.#add(lease, slots[index], options);
        this.#byId.set(copy.id, copy);
        return copy;
      });
    });
  }

  /**
   * Opens a session for one use. It cannot be found by id; the caller ends it. Any number of requests may wait.
   *
   * @throws {ServerError} `timeout` if no session becomes free.
   */
  async borrow(options: OpenOptions): Promise<LiveSession> {
    return await this.#start(options, { isCounted: false });
  }

  async #start(options: OpenOptions, { isCounted }: { isCounted: boolean }): Promise<LiveSession> {
    const { seed, once, checkpointEvery, owner, isShared = false, signal } = options;
    const { pool, recovery } = this.#options;
    checkSessionLimits(options.limits ?? {}, pool);
    const checkpointMemory = checkpointEvery === undefined ? undefined : recovery?.ofSession(owner);
    let createdAt = new Date();
    const acquire = async (signal: AbortSignal) => {
      const lease = await pool.acquire({ seed, once, checkpointEvery, checkpointMemory, owner, signal });
      createdAt = new Date();
      return isShared ? await this.#share(lease, { ...options, createdAt }) : lease;
    };
    const { result: lease, slot } = await this.#slots.admit(acquire, { ...options, isCounted });
    const session = this.#add(lease, slot, { ...options, createdAt });
    if (!signal.aborted && !this.#stop.signal.aborted) return session;
    await session[Symbol.asyncDispose](); // the caller never receives it
    throw toPublicError(AbortSignal.any([signal, this.#stop.signal]).reason);
  }

  /** Lets other servers find the session of a lease, if the pool can do that. */
  async #share(lease: SessionLease, options: OpenOptions & { createdAt: Date }): Promise<SessionLease> {
    const { pool } = this.#options;
    if (!isSharedPool(pool)) return lease;
    const { limits, metadata, checkpointEvery, tools, ttlMs, createdAt } = options;
    const settings: SharedSettings = {
      createdAt,
      expiresAt: ttlMs === undefined ? undefined : new Date(createdAt.getTime() + ttlMs),
      limits,
      metadata,
      checkpointEvery,
      tools: tools?.specs,
    };
    try {
      return await pool.share(lease, settings);
    } catch (error) {
      await lease[Symbol.asyncDispose]();
      throw error;
    }
  }

  #add(
    lease: SessionLease,
    slot: Disposable | undefined,
    options: OpenOptions & Pick<LiveSessionOptions, "createdAt">,
  ): LiveSession {
    const { ttlMs, owner } = options;
    const { pool, metrics, onError } = this.#options;
    const { idleMs = ttlMs === undefined ? this.#options.idleMs : Infinity } = options;
    const { spareMs = ttlMs === undefined ? undefined : this.#options.idleMs } = options;
    const shared = isSharedLease(lease) ? lease : undefined;
    const session: LiveSession = new LiveSession({
      ...options,
      id: shared?.id,
      session: lease.session,
      spareMs,
      metrics,
      onEnd: () => this.#end(session, lease, slot),
      onError,
      onUnused: () => this.#slots.evictIdle(owner),
      idleMs,
      poolLimits: pool.limits,
      stop: this.#stop.signal,
    });
    this.#open.add(session);
    if (shared) this.#leases.set(session, shared);
    return session;
  }

  /**
   * Returns the owner's session of this name and opens it if there is none.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free.
   */
  async openNamed(name: string, options: OpenOptions): Promise<{ session: LiveSession; isNew: boolean }> {
    const key = nameKey(options.owner, name);
    const found = this.#byName.get(key);
    if (found) return await this.#join(found, name, options);
    const opening = this.create({ ...options, name });
    this.#byName.set(key, opening);
    opening.catch(() => this.#byName.delete(key));
    return { session: await opening, isNew: true };
  }

  /** Returns the owner's session of this name, as {@linkcode openNamed} does; a new one if it has just been evicted. */
  async openUsable(name: string, options: OpenOptions): Promise<{ session: LiveSession; isNew: boolean }> {
    const found = await this.openNamed(name, options);
    return found.session.ended ? await this.openUsable(name, options) : found;
  }

  /** Waits for a session that another request opens. Opens a new one if that request was cancelled. */
  async #join(
    opening: Promise<LiveSession>,
    name: string,
    options: OpenOptions,
  ): Promise<{ session: LiveSession; isNew: boolean }> {
    try {
      return { session: await opening, isNew: false };
    } catch (error) {
      const wasCancelled = error instanceof ServerError && error.cause instanceof DOMException;
      if (!wasCancelled || options.signal.aborted) throw error;
      return await this.openNamed(name, options);
    }
  }

  /**
   * Returns the session of an id. Other owners' sessions are reported as not found.
   *
   * @throws {ServerError} `not_found`.
   */
  find(id: string, owner: string): LiveSession {
    const session = this.#byId.get(id);
    if (session?.owner === owner) return session;
    throw new ServerError("not_found", "There is no such session");
  }

  /**
   * Returns the session of an id, also one that another server over the same pool has opened.
   *
   * @throws {ServerError} `not_found`; `unavailable` if the pool cannot be reached.
   */
  async locate(id: string, owner: string): Promise<LiveSession> {
    if (this.#byId.has(id)) return this.find(id, owner);
    const key = nameKey(owner, id);
    const joining = this.#joining.getOrInsertComputed(key, () => this.#joinShared(id, owner));
    try {
      return await joining;
    } finally {
      this.#joining.delete(key);
    }
  }

  /** Ends a session for all servers, even if another one has used it last. */
  async end(session: LiveSession): Promise<void> {
    await this.#leases.get(session)?.claim().catch(rethrowPublic);
    await session[Symbol.asyncDispose]();
  }

  async #joinShared(id: string, owner: string): Promise<LiveSession> {
    const { pool } = this.#options;
    const found = isSharedPool(pool) ? await pool.join(id, owner).catch(rethrowPublic) : undefined;
    const settings = found && parseSharedSettings(found.settings);
    if (found === undefined || settings === undefined) return this.find(id, owner);
    const { expiresAt, tools, ...others } = settings;
    const { signal } = new AbortController(); // nothing waits
    const session = this.#add(found.lease, undefined, {
      ...others,
      owner,
      tools: tools && new SessionTools(tools),
      ttlMs: expiresAt && expiresAt.getTime() - settings.createdAt.getTime(),
      signal,
    });
    this.#byId.set(session.id, session);
    return session;
  }

  /** Returns the owner's sessions with this metadata, oldest first. */
  list(owner: string, metadata: Readonly<Record<string, string>> = {}): LiveSession[] {
    const wanted = Object.entries(metadata);
    const isWanted = (session: LiveSession) =>
      wanted.every(([key, value]) => session.metadata?.[key] === value);
    return [...this.#byId.values()].filter((session) => session.owner === owner && isWanted(session));
  }

  /** Ends all sessions, aborts their programs and rejects waiting requests. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new ServerError("unavailable", "The server is stopping"));
    await Promise.all([...this.#open].map((session) => session[Symbol.asyncDispose]()));
  }

  async #end(session: LiveSession, lease: SessionLease, slot: Disposable | undefined): Promise<void> {
    this.#byId.delete(session.id);
    if (session.name !== undefined) this.#byName.delete(nameKey(session.owner, session.name));
    this.#open.delete(session);
    using _slot = slot;
    const shared = this.#stop.signal.aborted ? this.#leases.get(session) : undefined;
    await (shared ? shared.leave() : lease[Symbol.asyncDispose]());
  }
}

function rethrowPublic(error: unknown): never {
  throw toPublicError(error);
}

function nameKey(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}
