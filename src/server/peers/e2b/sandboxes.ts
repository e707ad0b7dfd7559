import * as z from "zod";
import { parseUntrustedJson } from "../../../json.ts";
import type { Checkpoint } from "../../../sandbox/contract/checkpoint.ts";
import type { AppContext } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import type { PausesAtEnd } from "../../hibernation/session_record.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import { SandboxGoneError } from "./e2b_errors.ts";
import { GuestFiles } from "./envd/guest_files.ts";
import { HomeSession } from "./home_session.ts";
import { Processes } from "./envd/processes.ts";
import { grantOf, type SandboxAccess, sandboxIdOf, toSandboxId, toSessionId } from "./sandbox_access.ts";
import { Watchers } from "./envd/watchers.ts";

const stateSchema = z.strictObject({
  system: z.literal("e2b"),
  templateId: z.string(),
  envVars: z.record(z.string(), z.string()),
  ttlMs: z.number().positive(),
  resumesOnUse: z.boolean(),
  continues: z.boolean().default(false).describe("true if it started with the state of another sandbox"),
  opensLate: z.boolean().optional().describe(
    "true if programs may have run before it was used as a sandbox of E2B",
  ),
});

/** Settings of a sandbox beside the session. */
export type SandboxSettings = Omit<z.output<typeof stateSchema>, "system">;

/** Options of {@linkcode E2bSandboxes.create}. */
export interface CreateSandboxOptions extends SandboxSettings {
  readonly owner: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** True if the sandbox pauses at the end of the time, in place of ending; `files` if the pause keeps the files only. */
  readonly pausesAtEnd: PausesAtEnd;
  /** State at the start. */
  readonly from?: Checkpoint | undefined;
  readonly signal: AbortSignal;
}

/** Options of {@linkcode E2bSandboxes.fork}. */
export interface ForkSandboxOptions {
  readonly count: number;
  /** Life of the copies, in milliseconds. */
  readonly ttlMs: number;
  readonly signal: AbortSignal;
}

/** A snapshot with which sandboxes start. */
export interface StartState {
  /** The id or name by which the client knows the state. */
  readonly templateId: string;
  readonly checkpoint: Checkpoint;
  /** True for a state of a sandbox with the home directory. */
  readonly continues: boolean;
}

/** A sandbox of E2B: a session, and data that clients share. */
export class E2bSandbox {
  readonly id: string;
  readonly settings: SandboxSettings;
  /** Token with which clients reach the sandbox, and sign URLs of files. */
  readonly accessToken: string;
  /** First interpreter, which has the files of the sandbox. */
  readonly home: HomeSession;
  readonly files: GuestFiles;
  readonly processes: Processes;
  readonly watchers: Watchers;
  /** Texts by name that clients gave to files, by path. */
  readonly fileMetadata = new Map<string, Readonly<Record<string, string>>>();

  constructor(
    session: LiveSession,
    settings: SandboxSettings,
    { accessToken, isPrepared = false }: { accessToken: string; isPrepared?: boolean },
  ) {
    const { templateId, envVars, ttlMs, resumesOnUse, continues, opensLate } = settings;
    this.id = toSandboxId(session.id);
    this.accessToken = accessToken;
    this.settings = { templateId, envVars, ttlMs, resumesOnUse, continues, opensLate };
    this.home = new HomeSession(session, envVars, { isPrepared, continues });
    this.files = new GuestFiles(this.home);
    this.processes = new Processes(this.home);
    this.watchers = new Watchers(this.home, this.files);
    session.attachment = { toText: () => JSON.stringify({ system: "e2b", ...this.settings }) };
  }

  get session(): LiveSession {
    return this.home.session;
  }

  get templateId(): string {
    return this.settings.templateId;
  }

  get envVars(): Readonly<Record<string, string>> {
    return this.settings.envVars;
  }
}

/** The sandboxes of E2B's clients. Each sandbox is a session of the server, which counts and ends the session. */
export class E2bSandboxes {
  readonly #sessions: SessionService;
  readonly #access: SandboxAccess;
  readonly #sandboxes = new WeakMap<LiveSession, E2bSandbox>();

  constructor(sessions: SessionService, access: SandboxAccess) {
    this.#sessions = sessions;
    this.#access = access;
  }

  /** @throws {ServerError} `busy` or `timeout` if no session becomes free. */
  async create(options: CreateSandboxOptions): Promise<E2bSandbox> {
    const { owner, ttlMs, metadata, pausesAtEnd, from, signal } = options;
    const session = await this.#sessions.create({ owner, ttlMs, metadata, pausesAtEnd, from, signal });
    return this.#add(session, options);
  }

  /**
   * Opens copies of a sandbox, which may be paused and stays so.
   *
   * @throws {ServerError} as {@linkcode SessionService.fork} does.
   */
  async fork(parent: E2bSandbox, { count, ttlMs, signal }: ForkSandboxOptions): Promise<E2bSandbox[]> {
    const { isPrepared } = parent.home;
    const sessions = await this.#sessions.fork(parent.session, count, { signal });
    return sessions.map((session) => {
      session.life.endAfter(ttlMs);
      const settings = {
        ...parent.settings,
        ttlMs,
        continues: parent.settings.continues && session.life.pause.hasMemory,
      };
      return this.#add(session, settings, { isPrepared: isPrepared && session.life.pause.hasMemory });
    });
  }

  /**
   * Opens copies of a snapshot, by way of a sandbox that starts with the snapshot and then ends.
   *
   * @throws {ServerError} as {@linkcode E2bSandboxes.create} and {@linkcode E2bSandboxes.fork} do.
   */
  async forkSnapshot(
    { checkpoint: from, continues, ...snapshot }: StartState,
    { owner, ...options }: ForkSandboxOptions & { readonly owner: string },
  ): Promise<E2bSandbox[]> {
    const { ttlMs, signal } = options;
    const settings = { ...snapshot, envVars: {}, ttlMs, resumesOnUse: false, continues };
    const parent = await this.create({ ...settings, owner, metadata: {}, pausesAtEnd: false, from, signal });
    await using _session = parent.session;
    return await this.fork(parent, options);
  }

  /** True if sandboxes can be paused. */
  get canPause(): boolean {
    return this.#sessions.canHibernate;
  }

  /** Milliseconds that a pause waits for a program or command. */
  get pauseWaitMs(): number {
    return this.#sessions.waitMs;
  }

  /**
   * Returns the sandbox that the path of a request names.
   *
   * @throws {ServerError} `not_found` if the owner has none of this id.
   */
  ofPath(c: AppContext): E2bSandbox {
    const id = c.req.param("id") ?? "";
    const sandbox = this.find(id, c.get("owner"));
    if (sandbox) return sandbox;
    throw new ServerError("not_found", `Sandbox ${id.slice(0, 64)} not found`);
  }

  /**
   * Returns the sandbox of a request that may use a single sandbox only, with further environment variables.
   *
   * @throws {ServerError} `not_found` if the sandbox has ended.
   */
  granted(c: AppContext, envVars: Readonly<Record<string, string>> = {}): E2bSandbox | undefined {
    const grant = grantOf(c);
    if (!grant?.isWhole) return undefined;
    const sandbox = this.find(grant.sandboxId, grant.owner);
    if (sandbox === undefined) throw new ServerError("not_found", "The sandbox has ended");
    if (Object.keys(envVars).length === 0) return sandbox;
    const variables = { ...sandbox.envVars, ...envVars };
    const settings = { ...sandbox.settings, envVars: variables, continues: sandbox.home.hasHome };
    return this.#add(sandbox.session, settings);
  }

  /** Returns the owner's sandboxes with this metadata, oldest first. */
  list(owner: string, metadata?: Readonly<Record<string, string>>): E2bSandbox[] {
    return this.#sessions.directory.list(owner, metadata).flatMap((session) => this.#of(session) ?? []);
  }

  /** Returns the owner's sandbox of an id, if there is such a sandbox. Throws as {@linkcode SessionService.get} does. */
  find(id: string, owner: string): E2bSandbox | undefined {
    const session = this.#sessions.directory.get(toSessionId(id), owner);
    return session && this.#of(session);
  }

  /**
   * Returns the sandbox that a request names by the header `E2b-Sandbox-Id`, by the host name or by a signature;
   * `undefined` if the request names no sandbox. With a grant, returns the sandbox of the grant.
   *
   * @throws {SandboxGoneError} if the sandbox does not exist, is paused, or belongs to another owner.
   */
  named(c: AppContext): E2bSandbox | undefined {
    const id = grantOf(c)?.sandboxId ?? sandboxIdOf(c);
    if (id === undefined) return undefined;
    const sandbox = this.find(id, c.get("owner"));
    const { isPaused, hasMemory } = sandbox?.session.life.pause ?? {};
    if (sandbox && isPaused && hasMemory && sandbox.settings.resumesOnUse) {
      sandbox.session.life.pause.end();
      sandbox.session.life.endAfter(sandbox.settings.ttlMs);
    }
    if (sandbox === undefined || sandbox.session.life.isPaused) throw new SandboxGoneError(id.slice(0, 64));
    return sandbox;
  }

  /** Returns the sandbox of a session, also of a session of an earlier server. */
  #of(session: LiveSession): E2bSandbox | undefined {
    const sandbox = this.#sandboxes.get(session);
    if (sandbox || session.attachment === undefined) return sandbox;
    const { success, data: settings } = stateSchema.safeParse(parseText(session.attachment.toText()));
    if (!success) return undefined;
    return this.#add(session, settings, { isPrepared: session.execs > 0 && !settings.opensLate });
  }

  #add(session: LiveSession, settings: SandboxSettings, options?: { isPrepared: boolean }): E2bSandbox {
    const accessToken = this.#access.tokenOf(toSandboxId(session.id));
    const sandbox = new E2bSandbox(session, settings, { accessToken, ...options });
    this.#sandboxes.set(session, sandbox);
    return sandbox;
  }
}

function parseText(text: string): unknown {
  try {
    return parseUntrustedJson(text);
  } catch {
    return undefined; // another peer's
  }
}
