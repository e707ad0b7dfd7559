import type { Observation, ResetOptions } from "../../envs/env.ts";
import type { Task } from "../../task.ts";
import { derivedSeed, freshSeed, type Random, seededRandom } from "../../seeded_random.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { addToMLGymRecord } from "./mlgym_record.ts";

/** What a {@linkcode TaskSampler} samples from. */
export interface TaskSamplerOptions {
  /** Ids of workspace tasks. */
  readonly tasks: readonly string[];
  /** Makes the row of tasks reproducible where a reset has no seed of its own. */
  seed?: number | undefined;
}

/** Has each episode play one of several tasks, each as likely as the others, and tells which. */
export class TaskSampler implements Transform {
  readonly #tasks: readonly string[];
  readonly #random: Random;

  /** @throws {RangeError} when there is no task. */
  constructor({ tasks, seed = freshSeed() }: TaskSamplerOptions) {
    if (tasks.length === 0) {
      throw new RangeError("Cannot sample tasks as there must be at least one: there is none");
    }
    this.#tasks = tasks;
    this.#random = seededRandom(seed);
  }

  task(task: Task, { seed }: ResetOptions): Task {
    const random = seed === undefined ? this.#random : seededRandom(derivedSeed(seed, 0));
    const workspace = this.#tasks[Math.floor(random() * this.#tasks.length)];
    return { ...task, fields: { ...task.fields, workspace } };
  }

  reset(observation: Observation, context: TransformContext): Observation {
    return named(observation, context);
  }

  step<T extends Observation>(step: T, context: TransformContext): T {
    return named(step, context);
  }
}

function named<T extends Observation>(observation: T, { task: { fields } }: TransformContext): T {
  return addToMLGymRecord(observation, { task: String(fields?.workspace) });
}
