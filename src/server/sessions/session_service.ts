import { abortable, Deadline } from "../../async/abort.ts";
import type { SessionPool } from "../../sandbox/contract/pool.ts";
import type { CheckpointStore } from "../checkpoints/checkpoint_store.ts";
import { type Clock, HOST_CLOCK } from "../../async/clock.ts";
import { CheckpointTransfers, type ForkCopyOptions } from "../checkpoints/transfers.ts";
import type { SavedSession } from "../hibernation/saved_sessions.ts";
import { type SuspendReport, toSuspendReport } from "../hibernation/suspend_report.ts";
import { ServerError, toPublicError } from "../http/http_errors.ts";
import { IDLE_MS, SESSION_QUEUE, SESSION_WAIT_MS, SUSPEND_MS } from "../limits.ts";
import type { Metrics } from "../metrics.ts";
import type { ServerEvent } from "../server_event.ts";
import type { LiveSession } from "./live_session.ts";
import { type NamedSession, SessionDirectory } from "./session_directory.ts";
import { type HibernationSettings, type OpenOptions, SessionFactory } from "./session_factory.ts";
import { SessionForks } from "./session_forks.ts";
import { checkSessionLimits } from "./session_limits.ts";
import { SessionSlots } from "./session_slots.ts";
import { SharedSessions } from "./shared_sessions.ts";

/** Options of {@linkcode SessionService}. */
export interface SessionServiceOptions {
  /** Pool of interpreters, which must have `maxSessions` interpreters. The caller disposes the pool. */
  pool: SessionPool;
  metrics: Metrics;
  /** Maximum number of sessions, including sessions of single programs. */
  maxSessions: number;
  /**
   * Maximum number of sessions per owner.
   *
   * @default all but the reserved shares of other owners
   */
  maxSessionsPerToken?: number | undefined;
  /**
   * Number of owners. Half of the sessions is divided among them and reserved.
   *
   * @default 1
   */
  owners?: number | undefined;
  /**
   * Requests that may wait to open a session. Requests that run single programs are not counted: the time
   * that each may wait and the bytes of their bodies bound them.
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
   * Hibernation of sessions, for a pool with checkpoints.
   *
   * @default they keep their interpreters
   */
  hibernation?: HibernationSettings | undefined;
  /**
   * Store whose room the checkpoints of sessions with `checkpointEvery` take.
   *
   * @default no limit but the profile's
   */
  checkpointStore?: CheckpointStore | undefined;
  /**
   * The clocks, by which sessions are idle and end.
   *
   * @default the host's clocks
   */
  clock?: Clock | undefined;
  /** Called with each error of a session, before the client gets the error's public form. */
  onError?: ((thrown: unknown) => void) | undefined;
  /**
   * Called when a session that clients find has opened or ended, and when an interpreter is lost. Must not
   * throw.
   */
  onEvent?: ((event: ServerEvent) => void) | undefined;
}

/** Opens sessions for clients, and ends idle ones. */
export class SessionService implements AsyncDisposable {
  readonly maxSessions: number;
  /** Milliseconds that a request waits for a session. */
  readonly waitMs: number;
  /** The sessions that clients find. */
  readonly directory: SessionDirectory;
  /** Captures and restores the states of the service's sessions. */
  readonly transfers: CheckpointTransfers;
  readonly #pool: SessionPool;
  readonly #hibernation: HibernationSettings | undefined;
  readonly #onError: (thrown: unknown) => void;
  readonly #stop = new AbortController();
  readonly #shared: SharedSessions;
  readonly #factory: SessionFactory;
  readonly #forks: SessionForks;
  #suspended: Promise<SuspendReport> | undefined;

  /** @throws {RangeError} if `maxSessions` is less than 1. */
  constructor(options: SessionServiceOptions) {
    const { pool, metrics, maxSessions, maxSessionsPerToken, owners, checkpointStore, hibernation } = options;
    const { queue = SESSION_QUEUE, waitMs = SESSION_WAIT_MS, idleMs = IDLE_MS } = options;
    const { onError = () => {}, onEvent = () => {}, clock = HOST_CLOCK } = options;
    const stop = this.#stop.signal;
    const awake = new Set<LiveSession>();
    this.maxSessions = maxSessions;
    this.waitMs = waitMs;
    this.#pool = pool;
    this.#hibernation = hibernation;
    this.#onError = onError;
    this.directory = new SessionDirectory({ unreadable: hibernation?.unreadable, clock, onEvent });
    const transfers = this.transfers = new CheckpointTransfers({ owners, waitMs });
    const shared = this.#shared = new SharedSessions(pool, stop);
    const limits = { slots: maxSessions, slotsPerOwner: maxSessionsPerToken, owners, queue, waitMs };
    const slots = new SessionSlots({ ...limits, awake, stop, metrics, onError });
    const factory = this.#factory = new SessionFactory({
      ...{ pool, metrics, slots, shared, transfers, checkpointStore, hibernation, awake, stop, idleMs },
      ...{ clock, onError, onEvent, onEnd: (session) => this.directory.delete(session) },
    });
    this.#forks = new SessionForks({ transfers, slots, shared, factory, clock, store: hibernation?.store });
    if (hibernation) { for (const saved of hibernation.saved ?? []) this.#tryContinue(saved, hibernation); }
  }

  /** True if idle sessions hibernate, and can be paused. */
  get canHibernate(): boolean {
    return this.#hibernation !== undefined;
  }

  /**
   * Opens a session that can be found by its id.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free; `invalid` if the session cannot
   * have the tools or the limits. If the session must not start with `from`, the `reason` is the
   * checkpoint's.
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
    this.directory.publish(session);
    return session;
  }

  /**
   * Opens copies of a session, with the session's tools, limits, metadata and end, and random numbers of
   * their own. See {@linkcode SessionForks.fork}.
   */
  async fork(parent: LiveSession, count: number, options: ForkCopyOptions): Promise<LiveSession[]> {
    if (parent.waiting) {
      const message =
        "The session's program waits for the answer to a call: a copy would have other random numbers";
      throw new ServerError("conflict", message, { reason: "exec_waiting" });
    }
    const signal = AbortSignal.any([options.signal, this.#stop.signal]);
    const copies = await this.#forks.fork(parent, count, { ...options, signal });
    for (const copy of copies) this.directory.publish(copy);
    return copies;
  }

  /**
   * Opens a session for one use. The session cannot be found by id; the caller ends the session. Any number
   * of requests may wait.
   *
   * @throws {ServerError} `timeout` if no session becomes free.
   */
  async borrow(options: OpenOptions): Promise<LiveSession> {
    return await this.#start(options, { isCounted: false });
  }

  async #start(options: OpenOptions, { isCounted }: { isCounted: boolean }): Promise<LiveSession> {
    const { signal } = options;
    checkSessionLimits(options.limits ?? {}, this.#pool);
    const session = this.#factory.add(await this.#factory.lease(options, { isCounted }), options);
    if (!signal.aborted && !this.#stop.signal.aborted) return session;
    await session[Symbol.asyncDispose](); // the caller never receives the session
    throw toPublicError(AbortSignal.any([signal, this.#stop.signal]).reason);
  }

  /** Continues a session of an earlier server. After a failure, the session's files remain. */
  #tryContinue(saved: SavedSession, settings: HibernationSettings): void {
    try {
      this.directory.add(this.#factory.continue(saved, settings));
    } catch (error) {
      this.#onError(error);
    }
  }

  /**
   * Returns the owner's session of this name and opens it if there is none.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free.
   */
  async openNamed(name: string, options: OpenOptions): Promise<NamedSession> {
    return await this.directory.openNamed(name, options, (options) => this.create(options));
  }

  /**
   * Returns the owner's session of this name, as {@linkcode openNamed} does; a new session if that session
   * has just been evicted.
   */
  async openUsable(name: string, options: OpenOptions): Promise<NamedSession> {
    const found = await this.openNamed(name, options);
    return found.session.ended ? await this.openUsable(name, options) : found;
  }

  /**
   * Returns the session of an id, also a session that another server over the same pool has opened.
   *
   * @throws {ServerError} `not_found`; `unavailable` if the pool cannot be reached.
   */
  async locate(id: string, owner: string): Promise<LiveSession> {
    const joined = this.directory.peek(id) ? undefined : await this.#shared.join(id, owner, (joined) => {
      const { signal } = new AbortController(); // nothing waits
      const start = { lease: joined.lease, slot: undefined };
      const session = this.#factory.add(start, { ...joined.options, owner, signal });
      this.directory.publish(session);
      return session;
    });
    return joined ?? this.directory.find(id, owner);
  }

  /** Ends a session for all servers, even if another server has used the session last. */
  async end(session: LiveSession): Promise<void> {
    await this.#shared.claim(session);
    await session[Symbol.asyncDispose]();
  }

  /**
   * Saves the sessions that clients find by id, and ends them, so that a later server continues them.
   * Programs are interrupted. Returns how many were saved, and why others could not be.
   */
  suspend(): Promise<SuspendReport> {
    return this.#suspended ??= this.#suspend();
  }

  /** Ends all sessions, aborts their programs and rejects waiting requests. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.suspend();
    await Promise.all([...this.#factory.open].map((session) => session[Symbol.asyncDispose]()));
  }

  async #suspend(): Promise<SuspendReport> {
    this.#stop.abort(new ServerError("unavailable", "The server is stopping"));
    if (!this.#hibernation?.store.isDurable) {
      return toSuspendReport({ saved: 0, kept: 0, errors: [] });
    }
    using deadline = new Deadline(SUSPEND_MS);
    const sessions = [...this.directory.all()].filter(({ endsWithServer }) => !endsWithServer);
    const kept = sessions.filter(({ life }) => life.unusable !== undefined).length;
    const results = await Promise.allSettled(
      sessions.map((session) => abortable(session.life.suspend(), deadline.signal)),
    );
    const errors = results.flatMap((result) => result.status === "rejected" ? [result.reason] : []);
    return toSuspendReport({ saved: sessions.length - kept - errors.length, kept, errors });
  }
}
