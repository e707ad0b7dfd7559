import type { SessionLease, SessionPool } from "../sandbox/exec.ts";
import type { LiveSession } from "./live_session.ts";
import type { SessionService } from "./session_service.ts";

/** How an env takes its interpreter. */
export interface TakeOptions {
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The interpreters of one env, of which it has one at a time. It can be taken before the step that needs it, so
 * that a step for which none is free is refused before it has changed anything.
 */
export class EnvSessions implements SessionPool, AsyncDisposable {
  readonly #sessions: SessionService;
  readonly #owner: string;
  #session: LiveSession | undefined;

  constructor(sessions: SessionService, owner: string) {
    this.#sessions = sessions;
    this.#owner = owner;
  }

  /**
   * Has an interpreter ready, unless there is one.
   *
   * @throws {ServerError} when none is free for too long.
   */
  async prepare(options: TakeOptions): Promise<void> {
    await this.#taken(options);
  }

  async acquire(options: TakeOptions = {}): Promise<SessionLease> {
    const session = await this.#taken(options);
    return { session, [Symbol.asyncDispose]: () => this[Symbol.asyncDispose]() };
  }

  /** Gives the interpreter back. */
  async [Symbol.asyncDispose](): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.[Symbol.asyncDispose]();
  }

  async #taken({ seed, signal = new AbortController().signal }: TakeOptions): Promise<LiveSession> {
    return this.#session ??= await this.#sessions.borrow({
      owner: this.#owner,
      seed,
      signal,
      idleMs: Infinity, // the env ends for want of use, and its interpreter with it
    });
  }
}
