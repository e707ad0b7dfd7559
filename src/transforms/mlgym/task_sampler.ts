import { requireKnownOptions } from "../../options.ts";
import type { EnvResetOptions, Observation } from "../../envs/env.ts";
import type { Task } from "../../task.ts";
import { deriveSeed, type Random, randomSeed, seededRandom } from "../../seeded_random.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { addToMLGymRecord } from "./mlgym_record.ts";

/** Options of {@linkcode TaskSampler}. */
export interface TaskSamplerOptions {
  /** Ids of workspace tasks. */
  readonly tasks: readonly string[];
  /**
   * Random seed for resets that have no seed.
   * @default random
   */
  seed?: number | undefined;
}

/**
 * Picks one of several tasks for each episode, with equal probability, unless the episode's task names a workspace: in the
 * field `workspace`, or by the id. The name is added to the observation, to `info` as `task`, and is the group of a task
 * without a group, so that episodes of the same workspace are compared with each other.
 */
export class TaskSampler implements Transform {
  readonly #tasks: readonly string[];
  readonly #random: Random;

  /**
   * @throws {RangeError} when there is no task.
   */
  constructor(options: TaskSamplerOptions) {
    requireKnownOptions("create TaskSampler", options, { tasks: true, seed: true });
    const { tasks, seed = randomSeed() } = options;
    if (tasks.length === 0) {
      throw new RangeError("Cannot sample tasks as there must be at least one: found none");
    }
    this.#tasks = tasks;
    this.#random = seededRandom(seed);
  }

  task(task: Task, { seed }: EnvResetOptions): Task {
    const random = seed === undefined ? this.#random : seededRandom(deriveSeed(seed, 0));
    const sampled = this.#tasks[Math.floor(random() * this.#tasks.length)];
    const workspace = this.#tasks.find((name) => name === (task.fields?.workspace ?? task.id)) ?? sampled;
    const group = task.group ?? workspace;
    return { ...task, fields: { ...task.fields, workspace }, ...(group !== undefined && { group }) };
  }

  reset(observation: Observation, context: TransformContext): Observation {
    const named = withTaskName(observation, context);
    return { ...named, info: { ...named.info, task: String(context.task.fields?.workspace) } };
  }

  step<T extends Observation>(step: T, context: TransformContext): T {
    return withTaskName(step, context);
  }
}

function withTaskName<T extends Observation>(observation: T, { task: { fields } }: TransformContext): T {
  return addToMLGymRecord(observation, { task: String(fields?.workspace) });
}
