import { ServerError } from "../server/http/http_errors.ts";
import type { KeyedSandbox, KeyedSandboxes } from "../server/peers/e2b/keyed_sandboxes.ts";
import type { SessionSettings } from "./state/session_journal.ts";
import { keysOf, type SessionIdentity } from "./session_keys.ts";

/** Sandbox that a session begins with. */
export interface SandboxRequest {
  /** Name of the profile. @default the server's profile */
  readonly profile?: string | undefined;
  /** Makes the randomness of programs reproducible. */
  readonly seed?: number | undefined;
}

/** The sandboxes of a server, for the sessions of a gateway. */
export interface SandboxSource {
  readonly service: KeyedSandboxes;
  /** Name of the profile of all sandboxes. */
  readonly profile: string;
}

/** Opens the sandboxes of sessions. The key of a session opens its sandbox. */
export class SessionSandboxes {
  readonly #source: SandboxSource | undefined;

  constructor(source: SandboxSource | undefined) {
    this.#source = source;
  }

  /**
   * Opens the sandbox of a new session. The caller disposes it.
   *
   * @throws {ServerError} `invalid` if there is no such sandbox; `busy` or `timeout` if no sandbox is free.
   */
  async open(
    { profile, seed }: SandboxRequest,
    { owner, key, signal }: SessionIdentity & { readonly owner: string; readonly signal: AbortSignal },
  ): Promise<KeyedSandbox> {
    const source = this.#require();
    if (profile !== undefined && profile !== source.profile) {
      throw new ServerError(
        "invalid",
        `sandbox.profile must be that of the server, '${source.profile}': found '${profile.slice(0, 80)}'`,
      );
    }
    return await source.service.open({ owner, seed, keys: keysOf(key), signal });
  }

  /**
   * Opens a copy of a sandbox. The caller disposes it.
   *
   * @throws {ServerError} `conflict` if the sandbox has ended; `busy` or `timeout` if no sandbox is free.
   */
  async fork(
    sandbox: KeyedSandbox,
    { key, signal }: SessionIdentity & { readonly signal: AbortSignal },
  ): Promise<KeyedSandbox> {
    if (sandbox.session.ended) throw new ServerError("conflict", "The sandbox of the session has ended");
    return await this.#require().service.fork(sandbox, { keys: keysOf(key), signal });
  }

  /**
   * Returns a session's sandbox that an earlier server has saved. If this server cannot continue it, that is
   * reported.
   */
  find(
    { owner, sandboxId }: Pick<SessionSettings, "owner" | "sandboxId">,
    { key, onError }: { key: string; onError: (error: unknown) => void },
  ): KeyedSandbox | undefined {
    if (sandboxId === undefined) return undefined;
    try {
      return this.#source?.service.find(sandboxId, { owner, keys: keysOf(key) });
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  #require(): SandboxSource {
    if (this.#source !== undefined) return this.#source;
    throw new ServerError(
      "invalid",
      "sandbox: this gateway has no sandboxes: start 'paddock serve' with --gateway-policy",
    );
  }
}
