import { abortable } from "../../async/abort.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { Env } from "../../envs/env.ts";
import type { Policy } from "../../policy/policy.ts";
import { randomId } from "../../random_id.ts";
import type { AdvantagesOptions } from "../../rollout/advantages.ts";
import type { InteractionResult } from "../../rollout/interaction_result.ts";
import type { CutScore } from "../../rollout/episode/episode_score.ts";
import type { Episode } from "../../rollout/rollout_all.ts";
import { type StreamedRollout, streamRollouts } from "../../rollout/stream_rollouts.ts";
import type { BudgetLease } from "../admission/budget.ts";
import type { EnvConfig } from "../envs/env_config.ts";
import { ServerError } from "../http/http_errors.ts";
import type { RolloutFunctions } from "../../wire/v1_rollouts.ts";
import type { ClientFunctions } from "./client_functions.ts";
import type { SavedRollout } from "./saved_rollout.ts";

/** Configuration of a rollout. */
export interface RolloutConfig extends EnvConfig, RolloutFunctions {
  /** Name of a policy of the server. */
  readonly policy: string;
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly samples: number;
  readonly concurrency: number;
  readonly seed?: number | undefined;
  readonly weightVersion?: number | string | undefined;
  /** True if a rollout that is stopped yields the turns so far of running episodes. */
  readonly partial: boolean;
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  readonly advantages?: Omit<AdvantagesOptions, "groups"> | undefined;
  readonly cutScore: CutScore;
  /** True if the tokens of the episodes are recorded. */
  readonly tokens: boolean;
  /** Partial episodes of an earlier rollout. */
  readonly resumed: readonly InteractionResult[];
}

/** Options of {@linkcode LiveRollout}. */
export interface LiveRolloutOptions {
  readonly config: RolloutConfig;
  /** Owner, who alone may use the rollout. */
  readonly owner: string;
  readonly policy: Policy;
  readonly tokenizer: Tokenizer | undefined;
  /** Sessions of the server, which limit the episodes with Python. */
  readonly maxSessions: number;
  /** Factor of the limits of time of programs. */
  readonly timeScale?: number | undefined;
  /** Memory of the episodes that wait for the client. The memory has the size that the config reserves. */
  readonly memory: BudgetLease;
  /** File of the episodes, if saved. */
  readonly saved?: SavedRollout | undefined;
  readonly makeEnv: () => Env;
  /** Functions of the client, if there are any. */
  readonly functions?: ClientFunctions | undefined;
  /** Called once, at the end. */
  readonly onEnd: () => void;
}

/** A rollout that a client reads. The rollout ends after the last item, when stopped, or with the server. */
export class LiveRollout implements AsyncDisposable {
  /** Unguessable id. */
  readonly id: string = randomId();
  readonly owner: string;
  readonly config: RolloutConfig;
  readonly createdAt: Date = new Date();
  readonly #options: LiveRolloutOptions;
  readonly #stop = new AbortController();
  readonly #serverEnd = new AbortController();
  /** Reason of a stop by the client, which is no failure. */
  readonly #stopped = new DOMException("The rollout was stopped", "AbortError");
  readonly #ended = Promise.withResolvers<void>();
  #weightVersion: number | string | undefined;
  #episodes = 0;
  #sent = 0;
  #taken = 0;
  #newlyTaken = Promise.withResolvers<void>();
  #isRead = false;

  constructor(options: LiveRolloutOptions) {
    this.owner = options.owner;
    this.config = options.config;
    this.#weightVersion = options.config.weightVersion;
    this.#options = options;
  }

  /** Version of the weights, which each turn records at the turn's begin. */
  get weightVersion(): number | string | undefined {
    return this.#weightVersion;
  }

  /**
   * Sets the version of the weights.
   *
   * @throws {ServerError} `conflict` if the rollout began without a version.
   */
  setWeightVersion(version: number | string): void {
    if (this.#weightVersion === undefined) {
      throw new ServerError("conflict", "The rollout has no version: it needs 'weightVersion' at its start");
    }
    this.#weightVersion = version;
  }

  /** Number of episodes, also partial ones, that the client was given. */
  get episodes(): number {
    return this.#episodes;
  }

  /** True if the rollout was stopped. */
  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /**
   * Plays the episodes and yields them, as `streamRollouts()` does, until the last one or {@linkcode LiveRollout.stop}.
   * Can be called once.
   *
   * @throws the reason of `signal`; a `ServerError` if the server stops or has no memory for the episodes that wait.
   */
  async *play(signal: AbortSignal): AsyncGenerator<StreamedRollout> {
    this.#isRead = true;
    try {
      for await (const item of this.#stream(signal)) {
        if (item.kind !== "group" && item.trajectory.parent === undefined) this.#episodes++;
        if (item.kind === "episode") await this.#options.saved?.write(item.trajectory);
        this.#sent++;
        yield item;
      }
    } catch (error) {
      if (error !== this.#stopped) throw error;
    } finally {
      this.#options.onEnd();
      this.#ended.resolve();
    }
  }

  /** Waits until the client has read enough for another item, or the server stops. */
  async waitForClient(room: Promise<void> | undefined): Promise<void> {
    if (room === undefined) return;
    // The next item then has the reason.
    await abortable(room, this.#serverEnd.signal).catch(() => {});
  }

  /** Functions of the client, if there are any. */
  get functions(): ClientFunctions | undefined {
    return this.#options.functions;
  }

  /** Sets the number of items that the client has worked on. */
  setTaken(items: number): void {
    this.#taken = Math.max(this.#taken, items);
    this.#newlyTaken.resolve();
    this.#newlyTaken = Promise.withResolvers();
  }

  /**
   * Waits until a client with functions has worked on all sent items. Such a client reads at once what is sent,
   * as functions may be called, so that the buffers of the connection do not hold the rollout back.
   */
  async waitUntilTaken(signal: AbortSignal): Promise<void> {
    const ends = AbortSignal.any([signal, this.#stop.signal, this.#serverEnd.signal]);
    while (this.functions !== undefined && this.#taken < this.#sent && !ends.aborted) {
      // The next item then has the reason.
      await abortable(this.#newlyTaken.promise, ends).catch(() => {});
    }
  }

  /** Stops the running episodes. With `partial` they are then yielded. */
  stop(): void {
    this.#stop.abort(this.#stopped);
  }

  /** Ends the rollout as the server stops, and waits for the episodes. */
  async [Symbol.asyncDispose](): Promise<void> {
    const reason = new ServerError("unavailable", "The server is stopping");
    this.#stop.abort(reason);
    this.#serverEnd.abort(reason);
    if (!this.#isRead) this.#options.onEnd();
    else await this.#ended.promise;
  }

  #stream(signal: AbortSignal): AsyncGenerator<StreamedRollout> {
    const { config, policy, tokenizer, memory, maxSessions, timeScale, makeEnv } = this.#options;
    const { env, tasks, samples, seed, partial, maxTurns, maxWaiting, maxWaitingBytes } = config;
    const { advantages, cutScore } = config;
    const settings = { samples, seed, partial, maxTurns, maxWaiting, maxWaitingBytes, advantages, cutScore };
    const version = this.#weightVersion;
    const resumed = new Map(config.resumed.map((row) => [keyOf(row.task_id, row.sample), row]));
    return streamRollouts(makeEnv, policy, tasks, {
      ...settings,
      envName: env,
      timeScale,
      concurrency: RUN_PYTHON.includes(env) ? Math.min(config.concurrency, maxSessions) : config.concurrency,
      weightVersion: version === undefined ? undefined : () => this.#weightVersion ?? version,
      onWaiting: (bytes) => memory.resize(Math.max(bytes, maxWaitingBytes)),
      resumed: ({ task, sample }: Episode) => resumed.get(keyOf(task.id, sample)),
      tokens: tokenizer && { tokenizer, onRewrite: "keep" },
      signal: AbortSignal.any([signal, this.#stop.signal]),
    });
  }
}

/** Kinds of env in which each episode has a session. */
const RUN_PYTHON: readonly EnvConfig["env"][] = ["python", "rlm"];

function keyOf(taskId: string, sample: number): string {
  return JSON.stringify([taskId, sample]);
}
