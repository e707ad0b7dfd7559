import type { Env } from "../../envs/env.ts";
import { keepRecursive } from "../../envs/rlm/recursive_env.ts";
import type { Tool } from "../../tools/tool.ts";
import type { GraderPool } from "../../rewards/worker/grader_pool.ts";
import { type Budget, type BudgetLease, Budgets } from "../admission/budget.ts";
import { type Graders, guardGrader } from "../graders.ts";
import { type EnvConfig, type EnvOffer, makeEnv, type ToolGroup } from "./env_config.ts";
import { EpisodeEnv } from "./episode_env.ts";
import { EnvSessions, LiveEnv } from "./live_env.ts";
import { IDLE_MS, MAX_ENVS } from "../limits.ts";
import type { Metrics } from "../metrics.ts";
import { ServerError } from "../http/http_errors.ts";
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
  /** Files with tools that run in a session of each episode. */
  toolFiles?: readonly ToolGroup[] | undefined;
  /**
   * Maximum number of envs.
   *
   * @default 1024
   */
  maxEnvs?: number | undefined;
  /**
   * Memory of the envs.
   *
   * @default 256 MiB
   */
  budgets?: Budgets | undefined;
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
  readonly #count: Budget;
  readonly #kept: Budget;
  readonly #options: EnvServiceOptions;
  readonly #envs = new Map<string, LiveEnv>();
  #stopped = false;

  constructor(options: EnvServiceOptions) {
    const { maxEnvs = MAX_ENVS, budgets = new Budgets() } = options;
    this.maxEnvs = maxEnvs;
    this.#kept = budgets.kept;
    this.#count = budgets.counting({ total: maxEnvs, unit: "envs", advice: "end one", retryAfter: 10 });
    this.#options = options;
    options.metrics.addGauge("paddock_envs", "Envs in use.", (owner) => this.#count.used(owner));
    options.metrics.addGauge(
      "paddock_kept_bytes",
      "Memory of envs and of responses to requests with an id.",
      (owner) => budgets.kept.used(owner),
    );
    options.metrics.addGauge(
      "paddock_waiting_bytes",
      "Memory of requests, messages and output that wait.",
      (owner) => budgets.waiting.used(owner),
    );
  }

  /**
   * Creates an env that can be found by its id.
   *
   * @throws {ServerError} `busy` if the owner has too many envs; `invalid` if the config names an unknown tool or grader.
   */
  create(config: EnvConfig, owner: string): LiveEnv {
    if (this.#stopped) throw new ServerError("unavailable", "The server is stopping");
    const slot = this.#count.take(owner, 1);
    try {
      return this.#open(config, owner, slot);
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  }

  #open(config: EnvConfig, owner: string, slot: Disposable): LiveEnv {
    const { tools = [], toolFiles = [], idleMs = IDLE_MS, onError = () => {} } = this.#options;
    const sessions = new EnvSessions(this.#options.sessions, owner);
    const env: LiveEnv = new LiveEnv({
      env: makeEnv(config, { graders: this.#gradersFor(owner), tools, toolFiles }, sessions),
      config,
      sessions,
      owner,
      idleMs,
      onError,
      memory: this.#kept.account(owner),
      onEnd: () => {
        this.#envs.delete(env.id);
        slot[Symbol.dispose]();
      },
    });
    this.#envs.set(env.id, env);
    return env;
  }

  /** Maximum number of sessions, which each have the Python of an episode. */
  get maxSessions(): number {
    return this.#options.sessions.maxSessions;
  }

  /**
   * Makes the env of an episode that the server plays. Its Python waits for a session without limit. The caller
   * disposes it.
   *
   * @throws {ServerError} `invalid` if the config names an unknown tool or grader.
   */
  openForEpisode(
    config: EnvConfig,
    owner: string,
    { memory, functions }: { memory: BudgetLease; functions?: EnvOffer["functions"] },
  ): Env {
    const { tools = [], toolFiles = [], onError = () => {} } = this.#options;
    const sessions = new EnvSessions(this.#options.sessions, owner, { waitMs: Infinity });
    const env = makeEnv(config, { graders: this.#gradersFor(owner), tools, toolFiles, functions }, sessions);
    return keepRecursive(new EpisodeEnv({ env, sessions, memory, onError }), env);
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
    return new Map(
      [...graders].map(([name, make]) => [name, () => guardGrader(make(), { pool: graderPool, owner })]),
    );
  }
}
