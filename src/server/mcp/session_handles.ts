import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Budget } from "../admission/budget.ts";
import { ServerError } from "../http/http_errors.ts";
import { MCP_IDLE_MS } from "../limits.ts";
import type { ClientSession } from "./client_session.ts";
import type { ToolSessions } from "./tool_sessions.ts";

/** A session that calls, or the URL of a client, name. */
interface HandledSession {
  readonly owner: string;
  readonly client: ClientSession;
  /** Place among the owner's clients. */
  readonly slot: Disposable;
  /** Number of calls that use the session now. */
  users: number;
  /** True once a call has named the session. A client that names no session leaves sessions behind. */
  isKept: boolean;
  /** Time of the last use, by the monotonic clock. */
  usedAt: number;
}

/** Options of {@linkcode SessionHandles}. */
export interface SessionHandlesOptions {
  /** Makes a session of an owner; `isNamed` is true for the session of a URL. */
  readonly open: (owner: string, isNamed: boolean) => ClientSession;
  /** Counts sessions with handles and connections together. */
  readonly count: Budget;
  readonly hasCheckpoints: boolean;
  /**
   * Returns the time in milliseconds.
   *
   * @default the monotonic clock
   */
  readonly now?: (() => number) | undefined;
}

const MAX_SHOWN = 40;
const ADVICE = "pass it as `session` to later calls to keep its variables and files";

/**
 * Sessions of clients whose protocol has no connection. A call without a handle opens a session, and the result states
 * the handle; the URL of a client can name a session for all calls. Only the owner of a session can name the session.
 * A session ends after an hour without use; an owner without room for another session loses the longest unused
 * session, first among sessions that no later call has named.
 */
export class SessionHandles {
  readonly #options: SessionHandlesOptions;
  readonly #now: () => number;
  readonly #sessions = new Map<string, HandledSession>();

  constructor(options: SessionHandlesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Returns the sessions of an owner for the owner's tools.
   *
   * @param name session that the client's URL names, which all calls use: see {@linkcode isSessionName}
   */
  of(owner: string, name?: string): ToolSessions {
    const { hasCheckpoints } = this.#options;
    if (name !== undefined) {
      const key = `${name} of ${owner}`; // no handle has a space
      return {
        hasCheckpoints,
        hasHandles: false,
        use: async (_, work) =>
          await this.#use(this.#sessions.get(key) ?? await this.#openNamed(key, owner), work),
      };
    }
    return {
      hasCheckpoints,
      hasHandles: true,
      use: async (handle, work) => {
        if (handle !== undefined && handle !== "") return await this.#use(this.#find(owner, handle), work);
        return await this.#useNew(owner, work);
      },
    };
  }

  /** Ends the sessions that were not used for an hour. */
  async endIdle(): Promise<void> {
    for (const [handle, { users, usedAt }] of this.#sessions) {
      if (users === 0 && this.#now() - usedAt > MCP_IDLE_MS) await this.#end(handle);
    }
  }

  async #use(
    session: HandledSession,
    work: (client: ClientSession) => Promise<CallToolResult>,
  ): Promise<CallToolResult> {
    session.users++;
    try {
      return await work(session.client);
    } finally {
      session.users--;
      session.usedAt = this.#now();
    }
  }

  async #useNew(
    owner: string,
    work: (client: ClientSession) => Promise<CallToolResult>,
  ): Promise<CallToolResult> {
    const [handle, session] = await this.#open(owner);
    try {
      return withHandle(handle, await this.#use(session, work));
    } catch (error) {
      await this.#end(handle); // the client has no result with the handle
      throw error;
    }
  }

  async #openNamed(key: string, owner: string): Promise<HandledSession> {
    const slot = await this.takeSlot(owner);
    const opened = this.#sessions.get(key); // another call may have opened the session
    if (opened === undefined) return this.#add(key, { owner, slot, isKept: true });
    slot[Symbol.dispose]();
    return opened;
  }

  #find(owner: string, handle: string): HandledSession {
    const session = this.#sessions.get(handle);
    if (session?.owner !== owner) {
      throw new ServerError(
        "not_found",
        `Cannot use session '${
          handle.slice(0, MAX_SHOWN)
        }' as it has ended or never existed: run_python_code ` +
          "without `session` opens a new one",
      );
    }
    session.isKept = true;
    return session;
  }

  async #open(owner: string): Promise<[handle: string, session: HandledSession]> {
    const slot = await this.takeSlot(owner);
    const handle = crypto.getRandomValues(new Uint8Array(8)).toHex();
    return [handle, this.#add(handle, { owner, slot, isKept: false })];
  }

  #add(key: string, settings: Pick<HandledSession, "owner" | "slot" | "isKept">): HandledSession {
    const client = this.#options.open(settings.owner, settings.isKept);
    const session = { ...settings, client, users: 0, usedAt: this.#now() };
    this.#sessions.set(key, session);
    return session;
  }

  /**
   * Takes a place among the owner's clients. Sessions that were not used for an hour end, and without room the longest
   * unused session.
   *
   * @throws {ServerError} `busy` if there is no room.
   */
  async takeSlot(owner: string): Promise<Disposable> {
    await this.endIdle();
    while (true) {
      try {
        return this.#options.count.take(owner, 1);
      } catch (error) {
        const oldest = this.#oldest(owner);
        if (oldest === undefined || !(error instanceof ServerError && error.code === "busy")) throw error;
        await this.#end(oldest);
      }
    }
  }

  /** Returns the handle of the session of an owner that ends first for another session. */
  #oldest(owner: string): string | undefined {
    const unused = [...this.#sessions].filter(([, session]) =>
      session.owner === owner && session.users === 0
    );
    const [first] = unused.sort(([, one], [, other]) =>
      Number(one.isKept) - Number(other.isKept) || one.usedAt - other.usedAt
    );
    return first?.[0];
  }

  async #end(handle: string): Promise<void> {
    const session = this.#sessions.get(handle);
    this.#sessions.delete(handle);
    session?.slot[Symbol.dispose]();
    await session?.client[Symbol.asyncDispose]();
  }
}

/** Returns a result that states the handle, for the model as text and for programs in `_meta`. */
function withHandle(handle: string, result: CallToolResult): CallToolResult {
  const [first, ...others] = result.content;
  const text = { type: "text" as const, text: `session: ${handle} (new: ${ADVICE})` };
  return {
    ...result,
    content: [...(first === undefined ? [] : [first]), text, ...others],
    _meta: { ...result._meta, "paddock/session": handle },
  };
}

/** True if a text can name a session: 1 to 64 letters, digits, `.`, `_` and `-`. */
export function isSessionName(name: string): boolean {
  return /^[\w.-]{1,64}$/.test(name);
}
