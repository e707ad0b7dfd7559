import { ServerError } from "../../http/http_errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { OpenOptions } from "../../sessions/session_factory.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import { E2B_HOME } from "./home_session.ts";
import { toSandboxId } from "./sandbox_access.ts";
import type { SandboxKeys } from "./sandbox_keys.ts";

/** Options of {@linkcode KeyedSandboxes.open}. */
export interface OpenKeyedOptions extends Pick<OpenOptions, "owner" | "seed" | "signal"> {
  /** Secrets that open the sandbox, beside the owner's token. */
  readonly keys: readonly string[];
}

/** Sandboxes that end with something else of their owner, and that keys open. */
export class KeyedSandboxes {
  readonly #sessions: SessionService;
  readonly #keys: SandboxKeys;

  constructor(sessions: SessionService, keys: SandboxKeys) {
    this.#sessions = sessions;
    this.#keys = keys;
  }

  /**
   * Opens a sandbox. The caller disposes the sandbox.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free.
   */
  async open({ keys, ...options }: OpenKeyedOptions): Promise<KeyedSandbox> {
    const session = await this.#sessions.create({ ...options, idleMs: Infinity, attachment: ATTACHMENT });
    return this.#add(session, keys);
  }

  /** Returns a sandbox that an earlier server has saved, if this server continues the sandbox. */
  find(id: string, { owner, keys }: Pick<OpenKeyedOptions, "owner" | "keys">): KeyedSandbox | undefined {
    const session = this.#sessions.directory.get(id, owner);
    return session && this.#add(session, keys);
  }

  /**
   * Opens a copy of a sandbox, with files and the interpreter's memory.
   *
   * @throws {ServerError} as {@linkcode SessionService.fork} does.
   */
  async fork(
    parent: KeyedSandbox,
    { keys, signal }: Pick<OpenKeyedOptions, "keys" | "signal">,
  ): Promise<KeyedSandbox> {
    const [copy] = await this.#sessions.fork(parent.session, 1, { signal });
    if (copy === undefined) throw new ServerError("unavailable", "The sandbox could not be copied");
    copy.attachment = ATTACHMENT;
    return this.#add(copy, keys);
  }

  #add(session: LiveSession, keys: readonly string[]): KeyedSandbox {
    for (const key of keys) this.#keys.add(key, session);
    return new KeyedSandbox(session, this.#sessions);
  }
}

/** Program that enters the home directory, from which modules are imported. The program's value is the path. */
const ENTER = `import os, sys
os.chdir("${E2B_HOME}") if os.path.isdir("${E2B_HOME}") else None
sys.path.insert(0, os.getcwd())
os.getcwd()`;

/** Settings by which E2B's routes find the sandbox. Only disposal ends the sandbox. */
const ATTACHMENT = {
  toText: () =>
    JSON.stringify({
      system: "e2b",
      opensLate: true,
      templateId: "base",
      envVars: {},
      ttlMs: 86_400_000,
      resumesOnUse: false,
    }),
};

/** A sandbox that keys open. */
export class KeyedSandbox implements AsyncDisposable {
  readonly session: LiveSession;
  readonly #sessions: SessionService;

  constructor(session: LiveSession, sessions: SessionService) {
    this.session = session;
    this.#sessions = sessions;
  }

  /** Id in `/v1/sessions`. */
  get id(): string {
    return this.session.id;
  }

  /** Id in E2B's routes. */
  get e2bId(): string {
    return toSandboxId(this.id);
  }

  /** Milliseconds since the end of the last use; 0 while a request uses the sandbox. */
  get unusedMs(): number {
    const { isUsed, unusedMs } = this.session.life;
    return isUsed ? 0 : unusedMs;
  }

  /**
   * Reads a file. A relative path is in E2B's home directory, else in the working directory of `/v1`.
   *
   * @throws {ServerError} `not_found` if there is no such file.
   */
  async readFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
    const { files } = this.session;
    if (path.startsWith("/")) return await files.read(path, signal);
    try {
      return await files.read(`${E2B_HOME}/${path}`, signal);
    } catch (error) {
      if (!(error instanceof ServerError) || error.code !== "not_found") throw error;
      return await files.read(path, signal);
    }
  }

  /**
   * Returns a fresh interpreter that has the files. Changes of the sandbox's programs in their interpreter have no
   * effect there. The interpreter begins in E2B's home directory, if the directory exists. The caller disposes the
   * interpreter.
   *
   * @throws {ServerError} `conflict` if the sandbox has something that no checkpoint can hold, such as a running thread.
   */
  async copyFiles(signal: AbortSignal): Promise<{ session: LiveSession; folder: string }> {
    const { transfers } = this.#sessions;
    const files = await transfers.checkpoint(this.session, { signal, memory: false });
    const copy = await this.#sessions.borrow({ owner: this.session.owner, signal });
    try {
      await transfers.restore(copy, files, signal);
      const entered = await copy.exec(ENTER, { timeoutMs: 10_000, signal });
      if (entered.status === "ok") return { session: copy, folder: String(entered.valueJson) };
      throw new ServerError("unavailable", "The files of the sandbox could not be copied");
    } catch (error) {
      await copy[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session[Symbol.asyncDispose]();
  }
}
