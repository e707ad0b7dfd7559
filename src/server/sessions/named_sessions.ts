import { ServerError } from "../http/http_errors.ts";
import type { LiveSession } from "./live_session.ts";

/** A session of a name, and whether the request has opened it. */
export interface NamedSession {
  readonly session: LiveSession;
  readonly isNew: boolean;
}

/** Options of {@linkcode NamedSessions.open}. */
export interface NamedOpenOptions {
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** The sessions that clients find by a name of their own. Each is opened once, however many requests need it. */
export class NamedSessions {
  readonly #opened = new Map<string, Promise<LiveSession>>();

  /** Adds a session that is open. */
  add(name: string, session: LiveSession): void {
    this.#opened.set(keyOf(session.owner, name), Promise.resolve(session));
  }

  /** Forgets a session that has ended. */
  delete(name: string, { owner }: LiveSession): void {
    this.#opened.delete(keyOf(owner, name));
  }

  /** Returns the owner's session of a name, and opens it with `create` if there is none. */
  async open<Options extends NamedOpenOptions>(
    name: string,
    options: Options,
    create: (options: Options & { name: string }) => Promise<LiveSession>,
  ): Promise<NamedSession> {
    const key = keyOf(options.owner, name);
    const found = this.#opened.get(key);
    if (found) {
      const session = await joined(found, options.signal);
      return session ? { session, isNew: false } : await this.open(name, options, create);
    }
    const opening = create({ ...options, name });
    this.#opened.set(key, opening);
    opening.catch(() => this.#opened.delete(key));
    return { session: await opening, isNew: true };
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
