import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { abortable } from "../async/abort.ts";
import type { Env } from "../envs/env.ts";
import { keepRecursive } from "../envs/rlm/recursive_env.ts";
import { jsonLength } from "../json.ts";
import type { Policy } from "../policy/policy.ts";
import type { TaskInput } from "../task.ts";
import type { Transform } from "../transforms/transform.ts";
import { TransformedEnv } from "../transforms/transformed_env.ts";
import { advantages, type AdvantagesOptions } from "./advantages.ts";
import type { InteractionTurn } from "./interaction_result.ts";
import { ROLLOUT_ALL_OPTIONS, rolloutAll, type RolloutAllOptions } from "./rollout_all.ts";
import { type GroupedEpisode, OpenGroups } from "./open_groups.ts";
import { groupOfEpisode, type Trajectory } from "./trajectory.ts";

/** Options of {@linkcode streamRollouts}. */
export interface StreamRolloutsOptions extends
  Omit<
    RolloutAllOptions,
    "makeEnv" | "policy" | "ordered" | "branch" | "onTrajectory" | "onEnd" | "onAborted"
  > {
  /**
   * Returns the version of the weights that the trainer has given to the policy's server. It is read before each turn
   * and recorded as the turn's `policyVersion`.
   */
  weightVersion?: (() => number | string) | undefined;
  /**
   * Yields the turns so far of the running episodes when `signal` is aborted, and then ends. Without it, an abort
   * rejects with the signal's reason, and the episodes that the consumer has not taken are dropped.
   *
   * @default false
   */
  partial?: boolean | undefined;
  /**
   * Maximum number of finished episodes that wait for the consumer. At the limit, an episode that ends keeps its place
   * among the concurrent ones, so at most `maxWaiting + concurrency` episodes are ahead of the consumer.
   *
   * @default 64
   */
  maxWaiting?: number | undefined;
  /**
   * Approximate memory of the finished episodes that wait for the consumer, in bytes. It limits as `maxWaiting` does.
   *
   * @default 268435456
   */
  maxWaitingBytes?: number | undefined;
  /**
   * Called with the approximate memory of the items that wait for the consumer, in bytes, before each of them is added
   * and after it is taken. If it throws, the rollout rejects with its error.
   */
  onWaiting?: ((bytes: number) => void) | undefined;
  /**
   * Method of the advantages of each group, and its options.
   *
   * @default { method: "grpo" }
   */
  advantages?: Omit<AdvantagesOptions, "groups"> | undefined;
}

/** Item of {@linkcode streamRollouts}. */
export type StreamedRollout =
  /** Episode that has ended, or that was stopped before its end (`partial`). */
  | { readonly kind: "episode" | "partial"; readonly group: string; readonly trajectory: Trajectory }
  /** Group whose episodes have all been yielded, with their advantages in the order of their starts. */
  | { readonly kind: "group"; readonly group: string; readonly episodes: readonly StreamedAdvantage[] };

/** Advantage of one episode of a group. */
export interface StreamedAdvantage extends GroupedEpisode {
  /** `null` if the episode was not scored, which is not the same as 0. */
  readonly advantage: number | null;
}

/**
 * Plays the episodes of tasks ahead of a trainer, and yields them in the order of their ends. After the last episode of
 * a group it yields the group with its advantages. A group consists of the samples of a task, or of the adjacent tasks
 * with the same `group`. If the env chooses what the episodes play, as `makeMLGym` with several tasks does, a group for
 * each choice among them is yielded.
 *
 * Episodes are played while the trainer works on earlier ones, until `maxWaiting` or `maxWaitingBytes` is reached. If
 * the consumer stops, running episodes are stopped and their envs disposed. An episode that fails is yielded with its
 * `error`. If reading the tasks fails, the episodes before are yielded first, and the error is thrown.
 *
 * @throws {RangeError} if a number among the options is out of range.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, EndOnFinalReply, scriptedPolicy, streamRollouts, TransformedEnv } from "@paddock/paddock";
 *
 * let version = 1; // the trainer counts its weight updates
 * const makeEnv = () => new TransformedEnv(new ChatEnv(), [new EndOnFinalReply()]);
 * const policy = scriptedPolicy({ replies: () => ["Hi."] });
 * const kinds: string[] = [];
 * for await (
 *   const item of streamRollouts(makeEnv, policy, [{ id: "1", query: "Hello" }], {
 *     samples: 2,
 *     weightVersion: () => version,
 *   })
 * ) {
 *   kinds.push(item.kind);
 *   if (item.kind === "group") version++;
 *   else assertEquals(item.trajectory.steps[0]?.policyVersion, 1);
 * }
 * assertEquals(kinds, ["episode", "episode", "group"]);
 * ```
 */
export async function* streamRollouts(
  makeEnv: RolloutAllOptions["makeEnv"],
  policy: Policy,
  tasks: AsyncIterable<TaskInput> | Iterable<TaskInput>,
  options: StreamRolloutsOptions = {},
): AsyncGenerator<StreamedRollout> {
  requireKnownOptions("call streamRollouts", options, OPTIONS);
  const { weightVersion, partial = false, maxWaiting = 64, maxWaitingBytes = 2 ** 28, onWaiting } = options;
  requireLimit("maxWaiting", maxWaiting);
  requireLimit("maxWaitingBytes", maxWaitingBytes);
  advantages([], options.advantages); // checks its options
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
  const queue = new WaitingRollouts({ maxWaiting, maxWaitingBytes, onWaiting });
  const groups = new OpenGroups((group, episodes) => {
    const relative = advantages(episodes.map(({ reward }) => reward), options.advantages);
    const rated = episodes.map((episode, at) => ({ ...episode, advantage: relative[at] ?? null }));
    queue.add({ kind: "group", group, episodes: rated });
  });
  const play = async () => {
    const episodes = rolloutAll(groups.watch(tasks), {
      ...pickKnownOptions(options, ROLLOUT_ALL_OPTIONS),
      makeEnv: async (task, resumed) =>
        withVersion(await makeEnv(task, resumed), { weightVersion, replayed: resumed?.turns }),
      policy,
      signal,
      ordered: false,
      onStart: (episode) => {
        groups.start(episode);
        options.onStart?.(episode);
      },
      onTrajectory: async (trajectory) => {
        queue.add({ kind: "episode", group: groupOfEpisode(trajectory), trajectory });
        await queue.room(signal);
      },
      onEnd: ([trajectory]) => groups.end(trajectory),
      onAborted: (trajectory) => {
        if (!partial || trajectory.turns === 0) return;
        queue.add({ kind: "partial", group: groupOfEpisode(trajectory), trajectory });
      },
    });
    for await (const _ of episodes);
  };
  const end = play().then(() => undefined, (error: unknown) => ({ error })).finally(() => queue.end());
  try {
    while (true) {
      if (!partial) options.signal?.throwIfAborted();
      const item = queue.take();
      if (item !== undefined) yield item;
      else if (queue.isEnded) break;
      else await queue.changed();
    }
    const failure = await end;
    if (failure !== undefined && !(partial && options.signal?.aborted)) throw failure.error;
  } finally {
    stop.abort();
    await end;
  }
}

interface VersionOptions {
  readonly weightVersion: StreamRolloutsOptions["weightVersion"];
  /** Turns of the saved episode that is replayed: they keep the versions that sampled them. */
  readonly replayed: readonly InteractionTurn[] | undefined;
}

/** Adds the trainer's version to what the policy sees, so that each turn records it. */
function withVersion(env: Env, { weightVersion, replayed }: VersionOptions): Env {
  if (weightVersion === undefined) return env;
  const versionAfter = (turns: number) => replayed?.[turns]?.policy_version ?? weightVersion();
  const transform: Transform = {
    reset: (observation) => ({ ...observation, policyVersion: versionAfter(0) }),
    step: (step, { turn }) => ({ ...step, policyVersion: versionAfter(turn) }),
  };
  const versioned = new TransformedEnv(env, [transform]);
  return keepRecursive(versioned, env, (call) => ({ ...call, policyVersion: weightVersion() }));
}

function requireLimit(name: string, value: number): void {
  if (Number.isInteger(value) && value >= 0) return;
  throw new RangeError(
    `Cannot stream rollouts as '${name}' must be a whole number >= 0: current value is ${value}`,
  );
}

/** Options of {@linkcode WaitingRollouts}. */
interface WaitingOptions {
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  readonly onWaiting: StreamRolloutsOptions["onWaiting"];
}

/** Items between the rollout and a slower consumer. */
class WaitingRollouts {
  readonly #options: WaitingOptions;
  #items: { readonly item: StreamedRollout; readonly bytes: number }[] = [];
  #episodes = 0;
  #bytes = 0;
  #isEnded = false;
  #changed = Promise.withResolvers<void>();

  constructor(options: WaitingOptions) {
    this.#options = options;
  }

  /** True if nothing is added any more. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  add(item: StreamedRollout): void {
    const bytes = 2 * jsonLength(item);
    this.#options.onWaiting?.(this.#bytes + bytes);
    this.#items.push({ item, bytes });
    this.#count(item, { sign: 1, bytes });
  }

  take(): StreamedRollout | undefined {
    const first = this.#items.shift();
    if (first === undefined) return undefined;
    this.#count(first.item, { sign: -1, bytes: first.bytes });
    this.#options.onWaiting?.(this.#bytes);
    return first.item;
  }

  /** Waits until there is room for another episode. */
  async room(signal: AbortSignal): Promise<void> {
    const { maxWaiting, maxWaitingBytes } = this.#options;
    while (!signal.aborted && (this.#episodes > maxWaiting || this.#bytes > maxWaitingBytes)) {
      // An abort ends the wait; the episode itself is in the queue.
      await abortable(this.changed(), signal).catch(() => {});
    }
  }

  /** Resolves at the next change. */
  async changed(): Promise<void> {
    await this.#changed.promise;
  }

  end(): void {
    this.#isEnded = true;
    this.#notify();
  }

  #count({ kind }: StreamedRollout, { sign, bytes }: { sign: 1 | -1; bytes: number }): void {
    this.#bytes += sign * bytes;
    if (kind !== "group") this.#episodes += sign;
    this.#notify();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof StreamRolloutsOptions, true>> = {
  timeScale: true,
  weightVersion: true,
  partial: true,
  maxWaiting: true,
  maxWaitingBytes: true,
  onWaiting: true,
  advantages: true,
  concurrency: true,
  envName: true,
  resumed: true,
  tokens: true,
  maxTurns: true,
  cutScore: true,
  limits: true,
  onStart: true,
  signal: true,
  samples: true,
  seed: true,
  skip: true,
};
