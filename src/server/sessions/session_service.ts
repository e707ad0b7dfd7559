import { abortable, Deadline } from "../../async/abort.ts";
import type { CheckpointError } from "../../errors.ts";
import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import {
  isBranchingPool,
  type SandboxAcquireOptions,
  type SessionLease,
  type SessionPool,
} from "../../sandbox/contract/pool.ts";
import { sessionToolsSchema } from "../../wire/v1_tools.ts";
import type { CheckpointStore } from "../checkpoints/checkpoint_store.ts";
import { CheckpointTransfers, type ForkCopyOptions } from "../checkpoints/transfers.ts";
import type { HibernationStore } from "../hibernation/hibernation_store.ts";
import { type HibernatedState, toUnusableError } from "../hibernation/hibernated_state.ts";
import type { LeasedInterpreter } from "../hibernation/lifecycle.ts";
import type { SavedSession } from "../hibernation/saved_sessions.ts";
import { asOf, type PausesAtEnd } from "../hibernation/session_record.ts";
import { type SuspendReport, toSuspendReport } from "../hibernation/suspend_report.ts";
import { HIBERNATE_AFTER_MS, IDLE_MS, SESSION_QUEUE, SESSION_WAIT_MS, SUSPEND_MS } from "../limits.ts";
import { type Attachment, LiveSession, type LiveSessionOptions } from "./live_session.ts";
import { checkSessionLimits } from "./session_limits.ts";
import { type NamedSession, NamedSessions } from "./named_sessions.ts";
import { SessionForks } from "./session_forks.ts";
import { SessionSlots } from "./session_slots.ts";
import { SessionTools } from "./session_tools.ts";
import { SharedSessions } from "./shared_sessions.ts";
import type { Metrics } from "../metrics.ts";
import { ServerError, toPublicError } from "../http/http_errors.ts";
import { type ServerEvent, startOfId } from "../server_event.ts";

/** Hibernation of the sessions of a server. */
export interface HibernationSettings {
  /**
   * Milliseconds without use after which a session hibernates. One that is idle for less does so when a request waits
   * for an interpreter.
   *
   * @default 60_000
   */
  readonly afterMs?: number | undefined;
  /** The states of sessions that hibernate. */
  readonly store: HibernationStore;
  /** Sessions of an earlier server, which continue. */
  readonly saved?: readonly SavedSession[] | undefined;
  /** Why sessions of an earlier server cannot be read, by their id. */
  readonly unreadable?: ReadonlyMap<string, CheckpointError> | undefined;
}

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
  maxSessionsPerToken?: number | undefined;
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
   * Hibernation of sessions, for a pool with checkpoints.
   *
   * @default they keep their interpreters
   */
  hibernation?: HibernationSettings | undefined;
  /**
   * Store whose room the checkpoints of sessions with `checkpointEvery` take.
   *
   * @default no limit but that of the profile
   */
  checkpointStore?: CheckpointStore | undefined;
  /** Called with each error of a session, before the client gets its public form. */
  onError?: ((thrown: unknown) => void) | undefined;
  /** Called when a session that clients find has opened or ended, and when an interpreter is lost. It must not throw. */
  onEvent?: ((event: ServerEvent) => void) | undefined;
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
  /** State of the peer of its client, with which a later server continues it. */
  attachment?: Attachment | undefined;
  /**
   * True if no client finds it in a later server, so that it is not saved when this one stops.
   *
   * @default false
   */
  endsWithServer?: boolean | undefined;
  /**
   * True if it pauses when its `ttlMs` are over, instead of ending; `files` if it then keeps its files alone.
   *
   * @default false
   */
  pausesAtEnd?: PausesAtEnd | undefined;
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

/** Options of a lease, and those that other servers read. */
type LeaseRequest =
  & Pick<
    OpenOptions,
    "owner" | "seed" | "once" | "checkpointEvery" | "waitMs" | "signal" | "isShared" | "ttlMs"
  >
  & Pick<LiveSessionOptions, "limits" | "metadata" | "tools">;

/** Opens sessions for clients, finds them by id or name, and ends idle ones. */
export class SessionService implements AsyncDisposable {
  readonly maxSessions: number;
  /** Milliseconds that a request waits for a session. */
  readonly waitMs: number;
  /** Captures and restores the states of its sessions. */
  readonly transfers: CheckpointTransfers;
  readonly #options:
    & Pick<SessionServiceOptions, "pool" | "metrics" | "checkpointStore" | "hibernation">
    & Pick<LiveSessionOptions, "idleMs" | "onError" | "onEvent">;
  readonly #slots: SessionSlots;
  readonly #byId = new Map<string, LiveSession>();
  readonly #named = new NamedSessions();
  readonly #open = new Set<LiveSession>();
  /** Sessions that have an interpreter. */
  readonly #awake = new Set<LiveSession>();
  readonly #stop = new AbortController();
  readonly #shared: SharedSessions;
  readonly #forks: SessionForks;
  #suspended: Promise<SuspendReport> | undefined;

  /** @throws {RangeError} if `maxSessions` is less than 1. */
  constructor(options: SessionServiceOptions) {
    const { pool, metrics, maxSessions, maxSessionsPerToken, owners, checkpointStore, hibernation } = options;
    const { queue = SESSION_QUEUE, waitMs = SESSION_WAIT_MS, idleMs = IDLE_MS } = options;
    const { onError = () => {}, onEvent = () => {} } = options;
    this.maxSessions = maxSessions;
    this.waitMs = waitMs;
    this.transfers = new CheckpointTransfers({ owners, waitMs });
    this.#shared = new SharedSessions(pool, this.#stop.signal);
    this.#options = { pool, metrics, idleMs, checkpointStore, hibernation, onError, onEvent };
    this.#slots = new SessionSlots({
      slots: maxSessions,
      slotsPerOwner: maxSessionsPerToken,
      owners,
      queue,
      waitMs,
      awake: this.#awake,
      stop: this.#stop.signal,
      metrics,
      onError,
    });
    this.#forks = new SessionForks({
      transfers: this.transfers,
      slots: this.#slots,
      shared: this.#shared,
      store: hibernation?.store,
      add: (start, settings) => this.#add(start, settings),
    });
    if (hibernation) { for (const saved of hibernation.saved ?? []) this.#tryContinue(saved, hibernation); }
  }

  /** True if idle sessions hibernate, and can be paused. */
  get canHibernate(): boolean {
    return this.#options.hibernation !== undefined;
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
    this.#publish(session);
    return session;
  }

  /**
   * Opens copies of a session, with its tools, limits, metadata and end, and random numbers of their own. See
   * {@linkcode SessionForks.fork}.
   */
  async fork(parent: LiveSession, count: number, options: ForkCopyOptions): Promise<LiveSession[]> {
    if (parent.waiting) {
      const message =
        "The session's program waits for the answer to a call: a copy would have other random numbers";
      throw new ServerError("conflict", message, { reason: "exec_waiting" });
    }
    const signal = AbortSignal.any([options.signal, this.#stop.signal]);
    const copies = await this.#forks.fork(parent, count, { ...options, signal });
    for (const copy of copies) this.#publish(copy);
    return copies;
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
    const { signal } = options;
    checkSessionLimits(options.limits ?? {}, this.#options.pool);
    const session = this.#add(await this.#lease(options, { isCounted }), options);
    if (!signal.aborted && !this.#stop.signal.aborted) return session;
    await session[Symbol.asyncDispose](); // the caller never receives it
    throw toPublicError(AbortSignal.any([signal, this.#stop.signal]).reason);
  }

  /** Waits for a slot, and leases an interpreter. */
  async #lease(
    options: LeaseRequest,
    { isCounted, near }: { isCounted: boolean; near?: SessionLease | undefined },
  ): Promise<LeasedInterpreter> {
    const { seed, once, checkpointEvery, owner, isShared = false } = options;
    const { pool, checkpointStore } = this.#options;
    const checkpointMemory = checkpointEvery === undefined
      ? undefined
      : checkpointStore?.recoveryMemory(owner, this.transfers.memoryOf(owner));
    const request: SandboxAcquireOptions = { seed, once, checkpointEvery, checkpointMemory, owner, near };
    const acquire = async (signal: AbortSignal) => {
      const lease = await pool.acquire({ ...request, signal });
      return isShared ? await this.#shared.share(lease, options) : lease;
    };
    const { result: lease, slot } = await this.#slots.admit(acquire, { ...options, isCounted });
    return { lease, slot };
  }

  #add(
    start: LeasedInterpreter | HibernatedState,
    options:
      & OpenOptions
      & Pick<LiveSessionOptions, "createdAt" | "expiresAt" | "reseeding">,
  ): LiveSession {
    const hasEnd = options.ttlMs !== undefined || options.expiresAt !== undefined;
    const { idleMs = hasEnd ? Infinity : this.#options.idleMs } = options;
    const { spareMs = hasEnd ? this.#options.idleMs : undefined } = options;
    if (!("lease" in start)) return this.#make({ ...options, start, idleMs, spareMs });
    const { lease } = start;
    const session = this.#make({ ...options, ...this.#shared.identityOf(lease), start, idleMs, spareMs });
    this.#awake.add(session);
    this.#shared.add(session, lease);
    return session;
  }

  /** Continues a session of an earlier server. If that fails, its files remain. */
  #tryContinue(saved: SavedSession, settings: HibernationSettings): void {
    try {
      this.#continue(saved, settings);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #continue(saved: SavedSession, { store }: HibernationSettings): void {
    const record = asOf(saved.record, Date.now());
    const { idleMs = Infinity } = record;
    const expiresAt = record.expiresAt === undefined ? undefined : new Date(record.expiresAt);
    const tools = record.tools && new SessionTools(sessionToolsSchema.parse(record.tools));
    const start = store.adopt(saved, () => session.describe());
    const options = { record, start, expiresAt, idleMs, tools, createdAt: undefined, attachment: undefined };
    const session = this.#make({ ...record, ...options });
    this.#byId.set(session.id, session);
    if (record.name !== undefined) this.#named.add(record.name, session);
  }

  #make(
    options: Omit<LiveSessionOptions, (typeof OWN_PARTS)[number]> & Pick<OpenOptions, "once">,
  ): LiveSession {
    const { owner, once = false, checkpointEvery, endsWithServer = false } = options;
    const { pool, metrics, hibernation, onError, onEvent } = this.#options;
    const session: LiveSession = new LiveSession({
      ...options,
      hibernation: hibernation && !once && isBranchingPool(pool)
        ? {
          store: hibernation.store,
          transfers: this.transfers,
          outlivesServer: hibernation.store.isDurable && !endsWithServer,
          afterMs: hibernation.afterMs ?? HIBERNATE_AFTER_MS,
          acquire: (near) =>
            this.#lease({ owner, checkpointEvery, signal: session.life.endSignal }, {
              isCounted: true,
              near,
            }),
        }
        : undefined,
      metrics,
      onEnd: () => this.#forget(session),
      onError,
      onEvent,
      onUnused: () => this.#slots.makeRoom(owner),
      onChange: (isAwake) => isAwake ? this.#awake.add(session) : this.#awake.delete(session),
      poolLimits: pool.limits,
      states: this.transfers.memoryOf(owner),
      stop: this.#stop.signal,
    });
    this.#open.add(session);
    return session;
  }

  /**
   * Returns the owner's session of this name and opens it if there is none.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free.
   */
  async openNamed(name: string, options: OpenOptions): Promise<NamedSession> {
    return await this.#named.open(name, options, (options) => this.create(options));
  }

  /** Returns the owner's session of this name, as {@linkcode openNamed} does; a new one if it has just been evicted. */
  async openUsable(name: string, options: OpenOptions): Promise<NamedSession> {
    const found = await this.openNamed(name, options);
    return found.session.ended ? await this.openUsable(name, options) : found;
  }

  /**
   * Returns the session of an id. Other owners' sessions are reported as not found.
   *
   * @throws {ServerError} `not_found`, or as {@linkcode SessionService.get} does.
   */
  find(id: string, owner: string): LiveSession {
    const session = this.get(id, owner);
    if (session) return session;
    throw new ServerError("not_found", "There is no such session");
  }

  /**
   * Returns the session of an id, also one that another server over the same pool has opened.
   *
   * @throws {ServerError} `not_found`; `unavailable` if the pool cannot be reached.
   */
  async locate(id: string, owner: string): Promise<LiveSession> {
    const joined = this.#byId.has(id) ? undefined : await this.#shared.join(id, owner, (joined) => {
      const { signal } = new AbortController(); // nothing waits
      const start = { lease: joined.lease, slot: undefined };
      const session = this.#add(start, { ...joined.options, owner, signal });
      this.#publish(session);
      return session;
    });
    return joined ?? this.find(id, owner);
  }

  /** Ends a session for all servers, even if another one has used it last. */
  async end(session: LiveSession): Promise<void> {
    await this.#shared.claim(session);
    await session[Symbol.asyncDispose]();
  }

  /**
   * Returns the session of an id, if it is one of the owner's.
   *
   * @throws {ServerError} with the reason of a checkpoint, if an earlier server had it and its record cannot be read.
   */
  get(id: string, owner: string): LiveSession | undefined {
    const unreadable = this.#options.hibernation?.unreadable?.get(id);
    if (unreadable) throw toUnusableError(unreadable);
    const session = this.#byId.get(id);
    return session?.owner === owner ? session : undefined;
  }

  /** Returns the session of an id, of any owner: for a request that has proved its access to it in another way. */
  peek(id: string): LiveSession | undefined {
    return this.#byId.get(id);
  }

  /** The sessions of all owners that are found by their ids. */
  all(): Iterable<LiveSession> {
    return this.#byId.values();
  }

  /** Returns the owner's sessions with this metadata, oldest first. */
  list(owner: string, metadata: Readonly<Record<string, string>> = {}): LiveSession[] {
    const wanted = Object.entries(metadata);
    const isWanted = (session: LiveSession) =>
      wanted.every(([key, value]) => session.metadata?.[key] === value);
    return [...this.#byId.values()].filter((session) => session.owner === owner && isWanted(session));
  }

  /**
   * Saves the sessions that clients find by id, and ends them, so that a later server continues them. Programs are
   * interrupted. Returns how many were saved, and why others could not be.
   */
  suspend(): Promise<SuspendReport> {
    return this.#suspended ??= this.#suspend();
  }

  /** Ends all sessions, aborts their programs and rejects waiting requests. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.suspend();
    await Promise.all([...this.#open].map((session) => session[Symbol.asyncDispose]()));
  }

  async #suspend(): Promise<SuspendReport> {
    this.#stop.abort(new ServerError("unavailable", "The server is stopping"));
    if (!this.#options.hibernation?.store.isDurable) {
      return toSuspendReport({ saved: 0, kept: 0, errors: [] });
    }
    using deadline = new Deadline(SUSPEND_MS);
    const sessions = [...this.#byId.values()].filter(({ endsWithServer }) => !endsWithServer);
    const kept = sessions.filter(({ life }) => life.unusable !== undefined).length;
    const results = await Promise.allSettled(
      sessions.map((session) => abortable(session.life.suspend(), deadline.signal)),
    );
    const errors = results.flatMap((result) => result.status === "rejected" ? [result.reason] : []);
    return toSuspendReport({ saved: sessions.length - kept - errors.length, kept, errors });
  }

  /** Lets clients find a session by its id. */
  #publish(session: LiveSession): void {
    const { id, owner } = session;
    this.#byId.set(id, session);
    this.#options.onEvent({ kind: "session opened", session: startOfId(id), owner });
  }

  #forget(session: LiveSession): void {
    const { id, name, owner, createdAt, execs, life } = session;
    if (this.#byId.delete(id)) {
      const seconds = (Date.now() - createdAt.getTime()) / 1000;
      this.#options.onEvent({
        kind: life.isSaved ? "session saved" : "session ended",
        session: startOfId(id),
        owner,
        seconds,
        programs: execs,
      });
    }
    if (name !== undefined) this.#named.delete(name, session);
    this.#open.delete(session);
    this.#awake.delete(session);
  }
}

/** Options of a {@linkcode LiveSession} that its service gives. */
const OWN_PARTS = [
  "hibernation",
  "metrics",
  "onEnd",
  "onError",
  "onEvent",
  "onUnused",
  "onChange",
  "poolLimits",
  "states",
  "stop",
] as const;
