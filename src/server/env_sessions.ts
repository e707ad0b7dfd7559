import { SerialQueue } from "../async/semaphore.ts";
import type { SessionLease, SessionPool } from "../sandbox/exec.ts";
import type { LiveSession } from "./live_session.ts";
import type { SessionService } from "./session_service.ts";

/** Options of {@linkcode EnvSessions.acquire}. */
export interface AcquireOptions {
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Sessions of one env, one at a time. A session can be acquired before the step that needs it, so that a step is
 * refused before it has changed anything when none is free.
 */
export class EnvSessions implements SessionPool, AsyncDisposable {
  /** {@inheritDoc SessionPool.pairQueue} */
  readonly pairQueue: SerialQueue = new SerialQueue();
  readonly #sessions: SessionService;
  readonly #owner: string;
  #session: LiveSession | undefined;

  constructor(sessions: SessionService, owner: string) {
    this.#sessions = sessions;
    this.#owner = owner;
  }

  /**
   * Acquires a session if there is none yet.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free.
   */
  async prepare(options: AcquireOptions): Promise<void> {
    await this.#borrow(options);
  }

  async acquire(options: AcquireOptions = {}): Promise<SessionLease> {
    const session = await this.#borrow(options);
    return { session, [Symbol.asyncDispose]: () => this[Symbol.asyncDispose]() };
  }

  /** Returns the session. */
  async [Symbol.asyncDispose](): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.[Symbol.asyncDispose]();
  }

  async #borrow({ seed, signal = new AbortController().signal }: AcquireOptions): Promise<LiveSession> {
    return this.#session ??= await this.#sessions.borrow({
      owner: this.#owner,
      seed,
      signal,
      idleMs: Infinity, // the env has the idle time, and ends its session
    });
  }
}
