import type { SessionLease, SessionPool } from "../sandbox/exec.ts";
import { Gate } from "./gate.ts";
import { LiveSession, type LiveSessionOptions } from "./live_session.ts";
import type { Metrics } from "./metrics.ts";
import { ServerError, sessionError } from "./server_error.ts";
import { traced } from "./tracing.ts";

/** What a {@linkcode SessionService} is made of. */
export interface SessionServiceOptions {
  /** Where interpreters come from. It must have `maxSessions` of them, and stays its owner's. */
  pool: SessionPool;
  metrics: Metrics;
  /** Sessions at once, those of a single program included. */
  maxSessions: number;
  /** Of these at once for one owner; all unless given. */
  maxSessionsEach?: number | undefined;
  /** Requests that may wait for a session. */
  queue?: number | undefined;
  /** Milliseconds that a request waits for a session. */
  waitMs?: number | undefined;
  /** Milliseconds after which a session that nobody uses ends. */
  idleMs?: number | undefined;
  /** Told of what a session throws, before whoever asked is told of it in other words. */
  onFault?: ((thrown: unknown) => void) | undefined;
}

/** What is asked for with a session. */
export interface OpenOptions {
  /** Who asks: nobody else finds the session. */
  owner: string;
  /** What the owner calls it, for one that is found by its name. */
  name?: string | undefined;
  seed?: number | undefined;
  /** Milliseconds without use after which it ends, where it is not as all; never when `Infinity`. */
  idleMs?: number | undefined;
  /**
   * Milliseconds without use after which it ends when its owner wants another one and has no place for it; never
   * unless given. Others wait for it to be left for a minute.
   */
  spareMs?: number | undefined;
  signal: AbortSignal;
}

/** How long a session must be left before it ends for one of somebody else's. */
const OTHERS_SPARE_MS = 60_000;

/** Sessions for whoever is served: opened, found again by their ids, and ended when nobody uses them. */
export class SessionService implements AsyncDisposable {
  readonly maxSessions: number;
  readonly #options:
    & Pick<SessionServiceOptions, "pool" | "metrics" | "maxSessionsEach">
    & Pick<LiveSessionOptions, "idleMs" | "onFault">;
  readonly #gate: Gate;
  readonly #kept = new Map<string, LiveSession>();
  readonly #named = new Map<string, Promise<LiveSession>>();
  readonly #open = new Set<LiveSession>();
  /** The owners of those who are about to open a session, each as often. */
  readonly #opening: string[] = [];
  readonly #stop = new AbortController();

  /** @throws {RangeError} when there is not at least one session. */
  constructor(options: SessionServiceOptions) {
    const { pool, metrics, maxSessions, maxSessionsEach } = options;
    const { queue = 64, waitMs = 30_000, idleMs = 600_000, onFault = () => {} } = options;
    this.maxSessions = maxSessions;
    this.#options = { pool, metrics, maxSessionsEach, idleMs, onFault };
    this.#gate = new Gate({ places: maxSessions, placesEach: maxSessionsEach, queue, waitMs });
    metrics.gauge("paddock_sessions", "Sessions in use.", () => this.#open.size);
    metrics.gauge("paddock_waiting", "Requests that wait for a session.", () => this.#gate.waiting);
  }

  /**
   * Opens a session that is found again by its id.
   *
   * @throws {ServerError} when there are too many.
   */
  async create(options: OpenOptions): Promise<LiveSession> {
    const session = await this.borrow(options);
    this.#kept.set(session.id, session);
    return session;
  }

  /** Opens a session for one use: nobody finds it, and the caller ends it. */
  async borrow({ owner, name, seed, idleMs, spareMs, signal }: OpenOptions): Promise<LiveSession> {
    if (this.#stop.signal.aborted) throw new ServerError("unavailable", "The server stops");
    const { pool, metrics, onFault } = this.#options;
    const either = AbortSignal.any([signal, this.#stop.signal]);
    this.#opening.push(owner);
    try {
      this.#makeRoom(owner);
      const { entered: lease, place } = await traced(
        "paddock.acquire",
        async () =>
          await this.#gate.pass((signal) => pool.acquire({ seed, signal }), { owner, signal: either }),
      );
      const onEnd = () => this.#end(session, lease, place);
      const session: LiveSession = new LiveSession({
        session: lease.session,
        owner,
        name,
        spareMs,
        metrics,
        onEnd,
        onFault,
        onRest: () => this.#makeRoom(owner),
        idleMs: idleMs ?? this.#options.idleMs,
        stop: this.#stop.signal,
      });
      this.#open.add(session);
      if (!either.aborted) return session;
      await session[Symbol.asyncDispose](); // nobody would ever end it
      throw either.reason;
    } catch (error) {
      const told = sessionError(error);
      onFault(told);
      throw told;
    } finally {
      this.#opening.splice(this.#opening.indexOf(owner), 1);
    }
  }

  /** Where a session is wanted and has no place, ends the one that was left longest, of those that may end for it. */
  #makeRoom(owner: string): void {
    const opening = this.#opening.filter((other) => other === owner).length;
    if (opening === 0) return;
    const { maxSessionsEach = Infinity } = this.#options;
    const open = [...this.#open];
    const own = open.filter((session) => session.owner === owner);
    const isOwnLimit = own.length + opening > maxSessionsEach;
    if (!isOwnLimit && open.length + this.#opening.length <= this.maxSessions) return;
    const spare = (isOwnLimit ? own : open).filter((session) =>
      session.isSpare(session.owner === owner ? 0 : OTHERS_SPARE_MS)
    );
    const [oldest] = spare.sort((one, other) => Number(one.usedAt) - Number(other.usedAt));
    oldest?.[Symbol.asyncDispose]().catch(this.#options.onFault);
  }

  /**
   * The session that an owner calls by a name, opened when there is none.
   *
   * @throws {ServerError} when there are too many.
   */
  async named(name: string, options: OpenOptions): Promise<{ session: LiveSession; isNew: boolean }> {
    const key = nameKey(options.owner, name);
    const found = this.#named.get(key);
    if (found) return await this.#found(found, name, options);
    const opening = this.create({ ...options, name });
    this.#named.set(key, opening);
    opening.catch(() => this.#named.delete(key));
    return { session: await opening, isNew: true };
  }

  /** The session that somebody else opens; when they went away before it was open, another one. */
  async #found(
    opening: Promise<LiveSession>,
    name: string,
    options: OpenOptions,
  ): Promise<{ session: LiveSession; isNew: boolean }> {
    try {
      return { session: await opening, isNew: false };
    } catch (error) {
      const wasLeft = error instanceof ServerError && error.cause instanceof DOMException;
      if (!wasLeft || options.signal.aborted) throw error;
      return await this.named(name, options);
    }
  }

  /**
   * The session of an id; one of somebody else's is as good as none.
   *
   * @throws {ServerError} `not_found`.
   */
  find(id: string, owner: string): LiveSession {
    const session = this.#kept.get(id);
    if (session?.owner === owner) return session;
    throw new ServerError("not_found", "There is no such session");
  }

  /** The sessions of an owner's, oldest first. */
  list(owner: string): LiveSession[] {
    return [...this.#kept.values()].filter((session) => session.owner === owner);
  }

  /** Ends every session; what runs in one is cut short, and who waits for one is told. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new ServerError("unavailable", "The server stops"));
    await Promise.all([...this.#open].map((session) => session[Symbol.asyncDispose]()));
  }

  async #end(session: LiveSession, lease: SessionLease, place: Disposable): Promise<void> {
    this.#kept.delete(session.id);
    if (session.name !== undefined) this.#named.delete(nameKey(session.owner, session.name));
    this.#open.delete(session);
    using _place = place;
    await lease[Symbol.asyncDispose]();
  }
}

function nameKey(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}
