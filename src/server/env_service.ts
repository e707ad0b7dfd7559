import type { Tool } from "../tools/tool.ts";
import { boundedGraders } from "./bounded_graders.ts";
import { type EnvConfig, makeEnv } from "./env_config.ts";
import { EnvSessions } from "./env_sessions.ts";
import { LiveEnv } from "./live_env.ts";
import type { Metrics } from "./metrics.ts";
import { ServerError } from "./server_error.ts";
import type { SessionService } from "./session_service.ts";
import type { Graders } from "./v1/grade.ts";

/** What an {@linkcode EnvService} is made of. */
export interface EnvServiceOptions {
  /** Where the Python of envs runs. It stays its owner's. */
  sessions: SessionService;
  metrics: Metrics;
  /** Who may score episodes. */
  graders?: Graders | undefined;
  /** What envs may call. They stay their owner's, and all envs share them. */
  tools?: readonly Tool[] | undefined;
  /** Envs at once. */
  maxEnvs?: number | undefined;
  /** Milliseconds after which an env that nobody uses ends. */
  idleMs?: number | undefined;
  /** Told of what an env throws, before whoever asked is told of it in other words. */
  onFault?: ((thrown: unknown) => void) | undefined;
}

/** Tasks and conversations that all envs may keep together. */
const MAX_CHARACTERS = 512 * 1024 * 1024;

/** Envs for whoever is served: made from configs, found again by their ids, and ended when nobody uses them. */
export class EnvService implements AsyncDisposable {
  readonly maxEnvs: number;
  readonly #options: EnvServiceOptions;
  readonly #envs = new Map<string, LiveEnv>();
  #stopped = false;

  constructor(options: EnvServiceOptions) {
    this.maxEnvs = options.maxEnvs ?? 1024;
    this.#options = options;
    options.metrics.gauge("paddock_envs", "Envs in use.", () => this.#envs.size);
  }

  /**
   * Makes an env that is found again by its id.
   *
   * @throws {ServerError} when there are too many, or the config names what is not there.
   */
  create(config: EnvConfig, owner: string): LiveEnv {
    if (this.#stopped) throw new ServerError("unavailable", "The server stops");
    if (this.#envs.size >= this.maxEnvs) {
      throw new ServerError("busy", `All ${this.maxEnvs} envs are in use`, { retryAfter: 10 });
    }
    this.#requireRoom();
    const { graders = new Map(), tools = [], idleMs = 600_000, onFault = () => {} } = this.#options;
    const sessions = new EnvSessions(this.#options.sessions, owner);
    const env: LiveEnv = new LiveEnv({
      env: makeEnv(config, { graders: boundedGraders(graders), tools }, sessions),
      config,
      sessions,
      owner,
      idleMs,
      onFault,
      requireRoom: () => this.#requireRoom(),
      onEnd: () => this.#envs.delete(env.id),
    });
    this.#envs.set(env.id, env);
    return env;
  }

  /**
   * The env of an id; one of somebody else's is as good as none.
   *
   * @throws {ServerError} `not_found`.
   */
  find(id: string, owner: string): LiveEnv {
    const env = this.#envs.get(id);
    if (env?.owner === owner) return env;
    throw new ServerError("not_found", "There is no such env");
  }

  /** The envs of an owner's, oldest first. */
  list(owner: string): LiveEnv[] {
    return [...this.#envs.values()].filter((env) => env.owner === owner);
  }

  /** Ends every env; what runs in one is cut short. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#envs.values()].map((env) => env[Symbol.asyncDispose]()));
  }

  #requireRoom(): void {
    const kept = this.#envs.values().reduce((sum, { characters }) => sum + characters, 0);
    if (kept <= MAX_CHARACTERS) return;
    throw new ServerError("busy", `All envs keep ${MAX_CHARACTERS} characters already`, { retryAfter: 10 });
  }
}
