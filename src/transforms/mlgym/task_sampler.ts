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
 * Picks one of several tasks for each episode, with equal probability, and adds its name to the observation.
 */
export class TaskSampler implements Transform {
  readonly #tasks: readonly string[];
  readonly #random: Random;

  /**
   * @throws {RangeError} when there is no task.
   */
  constructor({ tasks, seed = randomSeed() }: TaskSamplerOptions) {
    if (tasks.length === 0) {
      throw new RangeError("Cannot sample tasks as there must be at least one: found none");
    }
    this.#tasks = tasks;
    this.#random = seededRandom(seed);
  }

  task(task: Task, { seed }: EnvResetOptions): Task {
    const random = seed === undefined ? this.#random : seededRandom(deriveSeed(seed, 0));
    const workspace = this.#tasks[Math.floor(random() * this.#tasks.length)];
    return { ...task, fields: { ...task.fields, workspace } };
  }

  reset(observation: Observation, context: TransformContext): Observation {
    return withTaskName(observation, context);
  }

  step<T extends Observation>(step: T, context: TransformContext): T {
    return withTaskName(step, context);
  }
}

function withTaskName<T extends Observation>(observation: T, { task: { fields } }: TransformContext): T {
  return addToMLGymRecord(observation, { task: String(fields?.workspace) });
}
