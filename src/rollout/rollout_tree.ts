import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { Semaphore } from "../async/semaphore.ts";
import { ArgumentRangeError, ArgumentTypeError, attributeErrors, EnvError } from "../errors.ts";
import { type BranchingEnv, type EnvCheckpoint, isBranchingEnv } from "../envs/branching_env.ts";
import type { Env } from "../envs/env.ts";
import type { Policy } from "../policy/policy.ts";
import { deriveSeed } from "../seeded_random.ts";
import { type TaskInput, toTask } from "../task.ts";
import { EpisodeRun } from "./episode/episode_run.ts";
import { requireMaxTurns, ROLLOUT_OPTIONS, type RolloutOptions } from "./rollout.ts";
import { EpisodeWriter } from "./tokens/episode_writer.ts";
import { requireTrainable } from "./tokens/require_trainable.ts";
import { TOKEN_FORMAT_OPTIONS, TokenFormat } from "./tokens/token_format.ts";
import { type Trajectory, withFailure } from "./trajectory.ts";

/** A point at which episodes branch. */
export interface BranchPoint {
  /** First turn that each continuation plays by itself, from 1: the turns before are shared. */
  readonly turn: number;
  /** Number of continuations, from 2. */
  readonly count: number;
}

/** Options of {@linkcode rolloutTree}. */
export interface RolloutTreeOptions extends RolloutOptions {
  /** Points at which the episode branches. With several points, each continuation branches again at the later ones. */
  branch: BranchPoint | readonly BranchPoint[];
  /**
   * Maximum number of episodes of the tree that are played at once.
   *
   * @default 8
   */
  concurrency?: number | undefined;
  /**
   * Id of the first episode. A branch has this id with a number.
   *
   * @default a random UUID
   */
  id?: string | undefined;
}

/** Maximum number of episodes of a tree. */
const MAX_EPISODES = 4096;

/**
 * Plays a tree of episodes that share their first turns, and returns the trajectories: first the trajectory without a
 * parent, then the others in the order in which they branch. Each trajectory is complete, with the shared turns and the
 * same messages, rewards, tokens, loss mask and log-probabilities.
 *
 * The first episode is played in `env`, which is reset first and not disposed; each other episode in a copy. A copy
 * continues the interpreter, files and tools of the parent, with other random numbers, and no code runs again. An
 * episode that ends before a turn has no branches there. Copies take their session of the pool when they start, so that
 * a pool of one session is enough.
 *
 * Failures are recorded on the trajectories, also the failure of an env that cannot be copied. The promise rejects as in
 * `rollout`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, rolloutTree, scriptedPolicy, StepCounter, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new StepCounter({ maxSteps: 3 })]);
 * const policy = scriptedPolicy({ script: (history) => `reply ${history.length}` });
 * const tree = await rolloutTree(env, policy, { id: "1", query: "Hello" }, { branch: { turn: 2, count: 4 } });
 * assertEquals(tree.length, 4);
 * assertEquals([tree[3]?.parent?.id, tree[3]?.parent?.turn], [tree[0]?.id, 2]);
 * ```
 *
 * @throws {TypeError} if the env has no checkpoints.
 * @throws {RangeError} if a turn or a count is out of range.
 */
export async function rolloutTree(
  env: BranchingEnv,
  policy: Policy,
  task: TaskInput,
  options: RolloutTreeOptions,
): Promise<Trajectory[]> {
  requireKnownOptions("call rolloutTree", options, {
    ...ROLLOUT_OPTIONS,
    branch: true,
    concurrency: true,
    id: true,
  });
  const { maxTurns = 64, tokens, id = crypto.randomUUID(), concurrency = 8, signal } = options;
  const { envName, timeScale, seed, sample, cutScore, limits } = options;
  requireMaxTurns(maxTurns);
  const points = checkBranchPoints(options.branch, { maxTurns });
  requireBranching(env);
  const slots = new Semaphore(concurrency);
  const format = tokens && (tokens.format ?? new TokenFormat(pickKnownOptions(tokens, TOKEN_FORMAT_OPTIONS)));
  const writer = tokens && new EpisodeWriter({ ...tokens, format });
  if (format !== undefined) await requireTrainable(policy, { format, signal });
  const episode = { id, seed, sample, envName, timeScale, cutScore, limits, signal };
  const run = new EpisodeRun(env, { policy, task: toTask(task), options: episode, writer });
  return await new EpisodeTree(slots, { ...options, id, maxTurns }).play({ env, run, id, points });
}

/**
 * Checks points of branches and sorts them by their turns.
 *
 * @throws {RangeError} if a turn or a count is out of range, two points have the same turn, or there are too many
 * episodes.
 */
export function checkBranchPoints(
  branch: BranchPoint | readonly BranchPoint[],
  { maxTurns }: { maxTurns: number },
): readonly BranchPoint[] {
  const points = ("turn" in branch ? [branch] : [...branch]).sort((one, other) => one.turn - other.turn);
  if (points.length === 0) fail("'branch' must have a point: found none");
  let episodes = 1;
  for (const [index, { turn, count }] of points.entries()) {
    if (!Number.isInteger(turn) || turn < 1 || turn > maxTurns) {
      fail(`'turn' must be from 1 to ${maxTurns}, the maximum number of turns: current value is ${turn}`);
    }
    if (!Number.isInteger(count) || count < 2) {
      fail(`'count' must be a whole number >= 2: current value is ${count}`);
    }
    if (points[index + 1]?.turn === turn) fail(`turn ${turn} must be given once: found two points`);
    episodes *= count;
  }
  if (episodes > MAX_EPISODES) fail(`it must have at most ${MAX_EPISODES} episodes: it has ${episodes}`);
  return points;
}

/**
 * Returns the env if the env has checkpoints.
 *
 * @throws {TypeError} if the env has no checkpoints.
 */
export function requireBranching(env: Env): BranchingEnv {
  if (isBranchingEnv(env)) return env;
  throw new ArgumentTypeError(
    "Cannot roll out tree as the env must have the methods 'checkpoint' and 'fork': found none",
  );
}

function fail(reason: string): never {
  throw new ArgumentRangeError(`Cannot roll out tree as ${reason}`);
}

/** A running episode of a tree. */
interface TreeEpisode {
  readonly env: BranchingEnv;
  readonly run: EpisodeRun;
  readonly id: string;
  /** Points at which the episode branches, in order. */
  readonly points: readonly BranchPoint[];
}

/** Origin of a branch that has not been started. */
interface PendingBranch {
  readonly state: EnvCheckpoint;
  /** Record of the turns that the branch shares. */
  readonly shared: EpisodeRun;
  readonly parent: TreeEpisode;
  readonly turn: number;
  readonly number: number;
}

/** Plays the episodes of a tree. */
class EpisodeTree {
  readonly #slots: Semaphore;
  readonly #options: RolloutTreeOptions & { id: string; maxTurns: number };
  readonly #branches: Promise<void>[] = [];
  readonly #ended: { readonly number: number; readonly trajectory: Trajectory }[] = [];
  /** Number of episodes that have got a number. */
  #count = 1;

  constructor(slots: Semaphore, options: RolloutTreeOptions & { id: string; maxTurns: number }) {
    this.#slots = slots;
    this.#options = options;
  }

  async play(root: TreeEpisode): Promise<Trajectory[]> {
    this.#branches.push(this.#inSlot(() => this.#record(1, () => root.run, () => this.#playEpisode(root))));
    const failures: unknown[] = [];
    for (let branch = this.#branches.shift(); branch !== undefined; branch = this.#branches.shift()) {
      await branch.catch((error: unknown) => void failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
    return this.#ended.sort((one, other) => one.number - other.number).map(({ trajectory }) => trajectory);
  }

  async #inSlot(work: () => Promise<void>): Promise<void> {
    using _slot = await this.#slots.acquire(this.#options.signal);
    await work();
  }

  async #playEpisode({ run, points, ...episode }: TreeEpisode): Promise<void> {
    const { maxTurns } = this.#options;
    for (const [index, point] of points.entries()) {
      if (await run.play(maxTurns, point.turn - 1)) return;
      await this.#branch({ ...episode, run, points: points.slice(index + 1) }, point);
    }
    await run.play(maxTurns);
  }

  /** Starts the further continuations of an episode, which branch at the remaining points. */
  async #branch(parent: TreeEpisode, { turn, count }: BranchPoint): Promise<void> {
    const { signal } = this.#options;
    const state = await attributeErrors(() => parent.env.checkpoint({ signal }), {
      error: EnvError,
      failure: `Cannot branch at turn ${turn}`,
      signal,
    });
    const shared = parent.run.copy(parent.env);
    for (let branch = 2; branch <= count; branch++) {
      const pending = { state, shared, parent, turn, number: ++this.#count };
      const played = this.#inSlot(() => this.#playBranch(pending));
      played.catch(() => {}); // play() awaits the promise
      this.#branches.push(played);
    }
  }

  async #playBranch({ state, shared, parent, turn, number }: PendingBranch): Promise<void> {
    const { seed: rootSeed, sample, cutScore, limits, signal } = this.#options;
    const id = `${this.#options.id}.${number}`;
    const seed = rootSeed === undefined ? undefined : deriveSeed(rootSeed, number);
    const options = { id, parent: { id: parent.id, turn }, seed, sample, cutScore, limits, signal };
    let run = shared.copy(parent.env, options);
    await this.#record(number, () => run, async () => {
      await using env = await attributeErrors(() => state.copy({ reseed: true, seed, signal }), {
        error: EnvError,
        failure: `Cannot continue from turn ${turn}`,
        signal,
      });
      run = shared.copy(env, options);
      await this.#playEpisode({ env, run, id, points: parent.points });
    });
  }

  /** Runs `work` and records the trajectory, with a failure at the end. */
  async #record(number: number, run: () => EpisodeRun, work: () => Promise<void>): Promise<void> {
    const { onAborted, signal } = this.#options;
    let trajectory: Trajectory;
    try {
      await work();
      trajectory = run().trajectory();
    } catch (error) {
      if (signal?.aborted) {
        onAborted?.(run().trajectory());
        throw error;
      }
      trajectory = withFailure(run().trajectory(), error);
    }
    this.#ended.push({ number, trajectory });
  }
}
