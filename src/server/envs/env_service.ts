import type { Tool } from "../../tools/tool.ts";
import type { GraderPool } from "../../rewards/worker/grader_pool.ts";
import { type Graders, guardGrader } from "../graders.ts";
import { type EnvConfig, makeEnv } from "./env_config.ts";
import { EnvSessions, LiveEnv } from "./live_env.ts";
import { IDLE_MS, MAX_ENV_CHARACTERS, MAX_ENVS } from "../limits.ts";
import type { Metrics } from "../metrics.ts";
import { ServerError } from "../http/errors.ts";
import type { SessionService } from "../sessions/session_service.ts";

/** Options of {@linkcode EnvService}. */
export interface EnvServiceOptions {
  /** Sessions for the Python of envs. The caller disposes them. */
  sessions: SessionService;
  metrics: Metrics;
  /** Graders by name. */
  graders?: Graders | undefined;
  /** Workers of the graders. The caller disposes them. */
  graderPool: GraderPool;
  /** Tools that envs may call. All envs share them; the caller disposes them. */
  tools?: readonly Tool[] | undefined;
  /**
   * Maximum number of envs.
   *
   * @default 1024
   */
  maxEnvs?: number | undefined;
  /**
   * Milliseconds without use after which an env ends.
   *
   * @default 600_000
   */
  idleMs?: number | undefined;
  /** Called with each error of an env, before the client gets its public form. */
  onError?: ((thrown: unknown) => void) | undefined;
}

/** Creates envs from configs, finds them by id, and ends idle ones. */
export class EnvService implements AsyncDisposable {
  readonly maxEnvs: number;
  readonly #options: EnvServiceOptions;
  readonly #envs = new Map<string, LiveEnv>();
  #stopped = false;

  constructor(options: EnvServiceOptions) {
    this.maxEnvs = options.maxEnvs ?? MAX_ENVS;
    this.#options = options;
    options.metrics.addGauge("paddock_envs", "Envs in use.", () => this.#envs.size);
  }

  /**
   * Creates an env that can be found by its id.
   *
   * @throws {ServerError} `busy` if there are too many envs; `invalid` if the config names an unknown tool or grader.
   */
  create(config: EnvConfig, owner: string): LiveEnv {
    if (this.#stopped) throw new ServerError("unavailable", "The server is stopping");
    if (this.#envs.size >= this.maxEnvs) {
      throw new ServerError("busy", `All ${this.maxEnvs} envs are in use`, { retryAfter: 10 });
    }
    this.#requireRoom();
    const { tools = [], idleMs = IDLE_MS, onError = () => {} } = this.#options;
    const sessions = new EnvSessions(this.#options.sessions, owner);
    const env: LiveEnv = new LiveEnv({
      env: makeEnv(config, { graders: this.#gradersFor(owner), tools }, sessions),
      config,
      sessions,
      owner,
      idleMs,
      onError,
      requireRoom: () => this.#requireRoom(),
      onEnd: () => this.#envs.delete(env.id),
    });
    this.#envs.set(env.id, env);
    return env;
  }

  /**
   * Returns the env of an id. Other owners' envs are reported as not found.
   *
   * @throws {ServerError} `not_found`.
   */
  find(id: string, owner: string): LiveEnv {
    const env = this.#envs.get(id);
    if (env?.owner === owner) return env;
    throw new ServerError("not_found", "There is no such env");
  }

  /** Returns the owner's envs, oldest first. */
  list(owner: string): LiveEnv[] {
    return [...this.#envs.values()].filter((env) => env.owner === owner);
  }

  /** Ends all envs and aborts their programs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#envs.values()].map((env) => env[Symbol.asyncDispose]()));
  }

  #gradersFor(owner: string): Graders {
    const { graders = new Map(), graderPool } = this.#options;
    return new Map([...graders].map(([name, make]) => [name, () => guardGrader(make(), graderPool, owner)]));
  }

  #requireRoom(): void {
    const stored = this.#envs.values().reduce((sum, { characters }) => sum + characters, 0);
    if (stored <= MAX_ENV_CHARACTERS) return;
    throw new ServerError(
      "busy",
      `All envs together store at most ${MAX_ENV_CHARACTERS} characters, and that is reached`,
      { retryAfter: 10 },
    );
  }
}
