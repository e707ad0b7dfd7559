import type { SessionLease, SessionPool } from "../../sandbox/exec.ts";
import { AdmissionQueue } from "./admission.ts";
import { IDLE_MS, SESSION_QUEUE, SESSION_WAIT_MS } from "../limits.ts";
import { LiveSession, type LiveSessionOptions } from "./live_session.ts";
import { checkSessionLimits } from "./session_limits.ts";
import type { Metrics } from "../metrics.ts";
import { ServerError, toPublicError } from "../http/errors.ts";
import { withSpan } from "../http/tracing.ts";

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
  /** Called with each error of a session, before the client gets its public form. */
  onError?: ((thrown: unknown) => void) | undefined;
}

/** Options of {@linkcode SessionService.borrow}. */
export interface OpenOptions extends Pick<LiveSessionOptions, "tools" | "limits" | "metadata" | "ttlMs"> {
  /** Owner of the session; no other owner can find it. */
  owner: string;
  /** The owner's name for the session, by which it can be found. */
  name?: string | undefined;
  seed?: number | undefined;
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

/** Idle time after which a session may end in favour of an owner with fewer sessions, in milliseconds. */
const OTHERS_SPARE_MS = 10_000;
/** Interval at which a waiting request looks for such a session, in milliseconds. */
const SPARE_POLL_MS = 1_000;

/** Advice in messages about a server that is busy. */
export const MORE_SESSIONS = "retry later, or start the server with a larger --max-sessions";

/** Opens sessions for clients, finds them by id or name, and ends idle ones. */
export class SessionService implements AsyncDisposable {
  readonly maxSessions: number;
  readonly #options:
    & Pick<SessionServiceOptions, "pool" | "metrics">
    & Pick<LiveSessionOptions, "idleMs" | "onError">;
  readonly #admission: AdmissionQueue;
  readonly #byId = new Map<string, LiveSession>();
  readonly #byName = new Map<string, Promise<LiveSession>>();
  readonly #open = new Set<LiveSession>();
  /** Owners of the sessions that are being opened, one entry per session. */
  readonly #opening: string[] = [];
  readonly #stop = new AbortController();

  /** @throws {RangeError} if `maxSessions` is less than 1. */
  constructor(options: SessionServiceOptions) {
    const { pool, metrics, maxSessions, maxSessionsEach, owners } = options;
    const { queue = SESSION_QUEUE, waitMs = SESSION_WAIT_MS, idleMs = IDLE_MS, onError = () => {} } = options;
    this.maxSessions = maxSessions;
    this.#options = { pool, metrics, idleMs, onError };
    this.#admission = new AdmissionQueue({
      slots: maxSessions,
      slotsPerOwner: maxSessionsEach,
      owners,
      queue,
      waitMs,
      name: "session",
      advice: maxSessionsEach === undefined ? MORE_SESSIONS : `${MORE_SESSIONS} or --max-sessions-per-token`,
    });
    metrics.addGauge("paddock_sessions", "Sessions in use.", (owner) => this.#count(owner));
    metrics.addGauge(
      "paddock_waiting",
      "Requests waiting for a session.",
      (owner) => this.#admission.waiting(owner),
    );
  }

  /**
   * Opens a session that can be found by its id.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free; `invalid` if it cannot have the tools or the
   * limits.
   */
  async create(options: OpenOptions): Promise<LiveSession> {
    const session = await this.#start(options, { isCounted: true });
    try {
      await session.checkTools(options.signal);
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
    this.#byId.set(session.id, session);
    return session;
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
    const { owner, seed, once, ttlMs, waitMs, signal } = options;
    if (this.#stop.signal.aborted) throw new ServerError("unavailable", "The server is stopping");
    const { pool, metrics, onError } = this.#options;
    const { idleMs = ttlMs === undefined ? this.#options.idleMs : Infinity } = options;
    const { spareMs = ttlMs === undefined ? undefined : this.#options.idleMs } = options;
    checkSessionLimits(options.limits ?? {}, pool);
    const combined = AbortSignal.any([signal, this.#stop.signal]);
    this.#opening.push(owner);
    const poll = setInterval(() => this.#evictIdle(owner), SPARE_POLL_MS);
    const queuedAt = performance.now();
    let waitedMs: number | undefined;
    try {
      this.#evictIdle(owner);
      const { result: lease, slot } = await withSpan(
        "paddock.acquire",
        async () =>
          await this.#admission.run((signal) => {
            waitedMs = performance.now() - queuedAt;
            return pool.acquire({ seed, once, signal });
          }, {
            owner,
            waitMs,
            isCounted,
            signal: combined,
          }),
      );
      const onEnd = () => this.#end(session, lease, slot);
      const session: LiveSession = new LiveSession({
        ...options,
        session: lease.session,
        spareMs,
        metrics,
        onEnd,
        onError,
        onUnused: () => this.#evictIdle(owner),
        idleMs,
        poolLimits: pool.limits,
        stop: this.#stop.signal,
      });
      this.#open.add(session);
      if (!combined.aborted) return session;
      await session[Symbol.asyncDispose](); // the caller never receives it
      throw combined.reason;
    } catch (error) {
      const publicError = toPublicError(error);
      onError(publicError);
      throw publicError;
    } finally {
      clearInterval(poll);
      metrics.countWait(waitedMs ?? performance.now() - queuedAt, owner);
      this.#opening.splice(this.#opening.indexOf(owner), 1);
    }
  }

  #count(owner?: string): number {
    if (owner === undefined) return this.#open.size;
    return this.#open.values().filter((session) => session.owner === owner).toArray().length;
  }

  /** When a request of `owner` waits for a session, ends the longest idle session that may give way to it. */
  #evictIdle(owner: string): void {
    const opening = this.#opening.filter((other) => other === owner).length;
    if (opening === 0) return;
    const own = this.#count(owner);
    const isOwnLimit = own + opening > this.#admission.slotsPerOwner;
    if (!isOwnLimit && this.#open.size + this.#opening.length <= this.maxSessions) return;
    const spare = [...this.#open].filter((session) => {
      if (session.owner === owner) return session.isSpare(0);
      return !isOwnLimit && this.#count(session.owner) > own && session.isSpare(OTHERS_SPARE_MS);
    });
    const [oldest] = spare.sort((one, other) => other.unusedMs - one.unusedMs);
    oldest?.[Symbol.asyncDispose]().catch(this.#options.onError);
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

  async #end(session: LiveSession, lease: SessionLease, slot: Disposable): Promise<void> {
    this.#byId.delete(session.id);
    if (session.name !== undefined) this.#byName.delete(nameKey(session.owner, session.name));
    this.#open.delete(session);
    using _slot = slot;
    await lease[Symbol.asyncDispose]();
  }
}

function nameKey(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}
