import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { Policy } from "../../policy/policy.ts";
import type { ENV_KINDS } from "../../wire/v1_envs.ts";
import { type Budget, Budgets } from "../admission/budget.ts";
import type { EnvService } from "../envs/env_service.ts";
import { ServerError } from "../http/http_errors.ts";
import { MAX_ROLLOUTS } from "../limits.ts";
import type { Metrics } from "../metrics.ts";
import { ClientFunctions } from "./client_functions.ts";
import { LiveRollout, type RolloutConfig } from "./live_rollout.ts";
import { SavedRollout } from "./saved_rollout.ts";

/** Options of a policy that a client may set. */
export interface RolloutPolicyOptions {
  /** Name of the model, if given by the client. */
  readonly model?: string | undefined;
  /** Sampling temperature, if given by the client. */
  readonly temperature?: number | undefined;
  /** Maximum number of tokens of a reply. */
  readonly maxTokens?: number | undefined;
  /** Number of episodes at once. */
  readonly concurrency: number;
  /** True if the episodes are recorded for a trainer. */
  readonly recordsTokens: boolean;
}

/** Policies and envs that the rollouts of clients may use. All others are refused. */
export interface RolloutOffer {
  /**
   * Policies by name. A function throws an `ArgumentTypeError` if the options of the client are wrong.
   */
  readonly policies: ReadonlyMap<string, (options: RolloutPolicyOptions) => Policy | Promise<Policy>>;
  /** Kinds of env that episodes may have. */
  readonly envs: readonly (typeof ENV_KINDS)[number][];
  /** Tokenizer of the model. Without a tokenizer, episodes have no tokens. */
  readonly tokenizer?: Tokenizer | undefined;
  /** Folder in which each rollout has a file of episodes. */
  readonly saveTo?: string | undefined;
}

/** Options of {@linkcode RolloutService}. */
export interface RolloutServiceOptions {
  /** Envs of the episodes. The caller disposes the envs. */
  envs: EnvService;
  metrics: Metrics;
  /** Policies and envs that clients may use; none by default. */
  offer?: RolloutOffer | undefined;
  /**
   * Memory of the episodes that wait for their client.
   *
   * @default 256 MiB
   */
  budgets?: Budgets | undefined;
  /** Factor of the limits of time of programs, for the rows. @default none */
  timeScale?: number | undefined;
}

const NO_OFFER: RolloutOffer = { policies: new Map(), envs: [] };

/** Starts the rollouts of clients, finds them by id, and stops them with the server. */
export class RolloutService implements AsyncDisposable {
  /** Policies and envs that clients may use. */
  readonly offer: RolloutOffer;
  readonly #envs: EnvService;
  readonly #timeScale: number | undefined;
  readonly #kept: Budget;
  readonly #count: Budget;
  readonly #rollouts = new Map<string, LiveRollout>();
  #isStopped = false;

  constructor(
    { envs, metrics, offer = NO_OFFER, budgets = new Budgets(), timeScale }: RolloutServiceOptions,
  ) {
    this.offer = offer;
    this.#envs = envs;
    this.#timeScale = timeScale;
    this.#kept = budgets.kept;
    this.#count = budgets.counting({
      total: MAX_ROLLOUTS,
      unit: "rollouts",
      advice: "end one",
      retryAfter: 10,
    });
    metrics.addGauge("paddock_rollouts", "Rollouts that run.", (owner) => this.#count.used(owner));
  }

  /**
   * Makes a rollout, which begins when the items are read.
   *
   * @throws {ServerError} `forbidden` if the server does not allow the policy or env; `invalid` if options are wrong;
   * `busy` if the owner has too many rollouts or no memory for the episodes that wait.
   */
  async open(config: RolloutConfig, owner: string): Promise<LiveRollout> {
    if (this.#isStopped) throw new ServerError("unavailable", "The server is stopping");
    const makePolicy = this.#check(config);
    const { model, temperature, maxTokens, concurrency, tokens: recordsTokens } = config;
    const policy = await makePolicy({ model, temperature, maxTokens, concurrency, recordsTokens });
    const hasFunctions = config.clientGrader !== undefined || config.clientTools !== undefined;
    const functions = hasFunctions ? new ClientFunctions(config) : undefined;
    const makeEnv = () =>
      this.#envs.openForEpisode(config, owner, { memory: this.#kept.take(owner, 0), functions });
    await makeEnv()[Symbol.asyncDispose](); // a wrong config is an error before the rollout begins
    using stack = new DisposableStack();
    stack.use(this.#count.take(owner, 1));
    const memory = stack.use(this.#kept.take(owner, config.maxWaitingBytes));
    const { saveTo } = this.offer;
    const saved = saveTo === undefined ? undefined : stack.use(await SavedRollout.create(saveTo));
    const resources = stack.move();
    const rollout: LiveRollout = new LiveRollout({
      config,
      owner,
      policy,
      memory,
      saved,
      tokenizer: config.tokens ? this.offer.tokenizer : undefined,
      maxSessions: this.#envs.maxSessions,
      timeScale: this.#timeScale,
      makeEnv,
      functions,
      onEnd: () => {
        this.#rollouts.delete(rollout.id);
        resources[Symbol.dispose]();
      },
    });
    this.#rollouts.set(rollout.id, rollout);
    return rollout;
  }

  /**
   * Returns the rollout of an id. Other owners' rollouts are reported as not found.
   *
   * @throws {ServerError} `not_found`.
   */
  find(id: string, owner: string): LiveRollout {
    const rollout = this.#rollouts.get(id);
    if (rollout?.owner === owner) return rollout;
    throw new ServerError("not_found", "There is no such rollout");
  }

  /** Returns the owner's rollouts, oldest first. */
  list(owner: string): LiveRollout[] {
    return [...this.#rollouts.values()].filter((rollout) => rollout.owner === owner);
  }

  /** Ends all rollouts and waits for their episodes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#rollouts.values()].map((rollout) => rollout[Symbol.asyncDispose]()));
  }

  #check(
    { policy, env, tokens, resumed, partial, grader, clientGrader }: RolloutConfig,
  ): (options: RolloutPolicyOptions) => Policy | Promise<Policy> {
    const { policies, envs, tokenizer } = this.offer;
    const make = policies.get(policy);
    if (make === undefined) throw forbidden("policy", [...policies.keys()]);
    if (!envs.includes(env)) throw forbidden("env", envs);
    if (tokens && tokenizer === undefined) {
      throw new ServerError(
        "invalid",
        "tokens: the server has no tokenizer for rollouts, which its operator can give it",
      );
    }
    if (grader !== undefined && clientGrader !== undefined) {
      throw new ServerError("invalid", "clientGrader: it cannot be used with 'grader'");
    }
    const continues = partial ? "partial" : resumed.length > 0 ? "resumed" : undefined;
    if (env === "rlm" && continues !== undefined) {
      throw new ServerError(
        "invalid",
        `${continues}: an episode of kind 'rlm' cannot be continued, as its questions are rows of their own`,
      );
    }
    if (resumed.length > 0 && !tokens) throw new ServerError("invalid", "resumed: it needs 'tokens'");
    return make;
  }
}

function forbidden(name: string, allowed: readonly string[]): ServerError {
  const list = allowed.length > 0
    ? `must be one of ${allowed.join(", ")}`
    : "is refused: the server allows none";
  return new ServerError("forbidden", `${name} ${list}; its operator can allow more`);
}
