import type { CheckpointError } from "../../errors.ts";
import type { Clock } from "../../async/clock.ts";
import { toUnusableError } from "../hibernation/hibernated_state.ts";
import { ServerError } from "../http/http_errors.ts";
import { type ServerEvent, startOfId } from "../server_event.ts";
import type { LiveSession } from "./live_session.ts";

/** A session of a name, and whether the request has opened the session. */
export interface NamedSession {
  readonly session: LiveSession;
  readonly isNew: boolean;
}

/** Options of {@linkcode SessionDirectory.openNamed}. */
export interface NamedOpenOptions {
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Options of {@linkcode SessionDirectory}. */
export interface SessionDirectoryOptions {
  /** Why sessions of an earlier server cannot be read, by their id. */
  readonly unreadable?: ReadonlyMap<string, CheckpointError> | undefined;
  readonly clock: Clock;
  /** Called when a session has opened or ended. */
  readonly onEvent: (event: ServerEvent) => void;
}

/**
 * The sessions of a server that clients find by id, or by a name of their owner. No owner finds the sessions
 * of another.
 */
export class SessionDirectory {
  readonly #options: SessionDirectoryOptions;
  readonly #byId = new Map<string, LiveSession>();
  /** Sessions by owner and name. Each is opened once, for any number of requests. */
  readonly #named = new Map<string, Promise<LiveSession>>();

  constructor(options: SessionDirectoryOptions) {
    this.#options = options;
  }

  /** Adds a session of an earlier server. */
  add(session: LiveSession): void {
    const { id, owner, name } = session;
    this.#byId.set(id, session);
    if (name !== undefined) this.#named.set(keyOf(owner, name), Promise.resolve(session));
  }

  /**
   * Lets clients find a session that has opened. A name is the name given to {@linkcode
   * SessionDirectory.openNamed}.
   */
  publish(session: LiveSession): void {
    const { id, owner } = session;
    this.#byId.set(id, session);
    this.#options.onEvent({ kind: "session opened", session: startOfId(id), owner });
  }

  /** Forgets a session that has ended. */
  delete(session: LiveSession): void {
    const { id, name, owner, createdAt, execs, life } = session;
    if (name !== undefined) this.#named.delete(keyOf(owner, name));
    if (!this.#byId.delete(id)) return;
    this.#options.onEvent({
      kind: life.isSaved ? "session saved" : "session ended",
      session: startOfId(id),
      owner,
      seconds: (this.#options.clock.now() - createdAt.getTime()) / 1000,
      programs: execs,
    });
  }

  /** Returns the owner's session of a name, and opens the session with `create` if there is none. */
  async openNamed<Options extends NamedOpenOptions>(
    name: string,
    options: Options,
    create: (options: Options & { name: string }) => Promise<LiveSession>,
  ): Promise<NamedSession> {
    const key = keyOf(options.owner, name);
    const found = this.#named.get(key);
    if (found) {
      const session = await joined(found, options.signal);
      return session ? { session, isNew: false } : await this.openNamed(name, options, create);
    }
    const opening = create({ ...options, name });
    this.#named.set(key, opening);
    opening.catch(() => this.#named.delete(key));
    return { session: await opening, isNew: true };
  }

  /**
   * Returns the session of an id.
   *
   * @throws {ServerError} `not_found`, or as {@linkcode SessionDirectory.get} does.
   */
  find(id: string, owner: string): LiveSession {
    const session = this.get(id, owner);
    if (session) return session;
    throw new ServerError("not_found", "There is no such session");
  }

  /**
   * Returns the session of an id, if the session is the owner's.
   *
   * @throws {ServerError} with the reason of a checkpoint, if an earlier server had the session and the
   * record cannot be read.
   */
  get(id: string, owner: string): LiveSession | undefined {
    const unreadable = this.#options.unreadable?.get(id);
    if (unreadable) throw toUnusableError(unreadable);
    const session = this.#byId.get(id);
    return session?.owner === owner ? session : undefined;
  }

  /**
   * Returns the session of an id, of any owner: for a request that has proved access to the session in
   * another way.
   */
  peek(id: string): LiveSession | undefined {
    return this.#byId.get(id);
  }

  /** The sessions of all owners. */
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
}

/** Waits for a session that another request opens. Returns `undefined` if that request was cancelled. */
async function joined(opening: Promise<LiveSession>, signal: AbortSignal): Promise<LiveSession | undefined> {
  try {
    return await opening;
  } catch (error) {
    const wasCancelled = error instanceof ServerError && error.cause instanceof DOMException;
    if (!wasCancelled || signal.aborted) throw error;
    return undefined;
  }
}

function keyOf(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}
