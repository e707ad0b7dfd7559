import type { CollateOptions } from "../datasets/collate.ts";
import { DataLoadingPrimer } from "../datasets/data_loading_primer.ts";
import type { DatasetFilesOptions } from "../datasets/files.ts";
import { readRows, requireRowSource, type Rows, type RowSource } from "../datasets/read_rows.ts";
import { shuffleRows } from "../datasets/read_dataset.ts";
import { deriveSeed, randomSeed } from "../seeded_random.ts";
import type { Action } from "./action.ts";
import { type BatchShape, toBatchShape } from "./batch.ts";
import type { Env, Observation } from "./env.ts";
import {
  type ResetOutcome,
  type StepAndMaybeResetResult,
  type StepOutcome,
  VectorEnv,
  type VectorResetOptions,
  type VectorStepOptions,
} from "./vector_env.ts";

/** Episodes of the tasks of a dataset, and how its rows are loaded. */
export interface SamplingOptions extends CollateOptions {
  /**
   * Number of episodes of each task, one after the other. If it is more than 1, `task.group` names the group of an
   * episode.
   *
   * @default 1
   */
  samples?: number | null | undefined;
  /**
   * Multiplies the number of elements by `samples`; neighbouring elements share a task (the groups of GRPO).
   *
   * @default false
   */
  groupSamples?: boolean | undefined;
  /**
   * Number of rows that are loaded, and passed to `collate`, at once.
   *
   * @default 1
   */
  batchSizeDl?: number | undefined;
}

/** A dataset, the order of its rows, and the number of envs. */
export interface DatasetSourceOptions extends DatasetFilesOptions {
  /**
   * A file or folder of JSON lines, CSV or Parquet, a file with one JSON list, rows, or a function that returns the
   * rows of a pass.
   */
  dataset: RowSource;
  /**
   * Shuffles the rows, in a different order in each pass. Beyond 10,000 rows, each row is drawn from a buffer of
   * 10,000.
   *
   * @default true
   */
  shuffle?: boolean | undefined;
  /**
   * Seed of the order.
   *
   * @default a random seed
   */
  seed?: number | null | undefined;
  /**
   * Number of elements, or the length of each axis of the batch.
   *
   * @default 1
   */
  numEnvs?: number | readonly number[] | undefined;
}

/** Envs that play the tasks of a dataset, in order and without end. */
export class DatasetBatch implements AsyncDisposable {
  /** Length of each axis, with the samples of a group included. */
  readonly batchSize: BatchShape;
  /** Number of elements. */
  readonly size: number;
  readonly #primer: DataLoadingPrimer;
  readonly #env: VectorEnv;

  /**
   * @throws {RangeError} if `numEnvs`, `samples` or `batchSizeDl` is out of range.
   * @throws {TypeError} if the dataset is neither a path nor rows nor a function.
   */
  constructor(
    options: SamplingOptions & DatasetSourceOptions,
    makeEnv: (index: number) => Env | Promise<Env>,
  ) {
    const { collate, dataKey, samples, groupSamples, batchSizeDl, numEnvs } = options;
    requireRowSource(options.dataset);
    this.#primer = new DataLoadingPrimer({
      dataloaderFactory: rowsOfPasses(options),
      collate,
      dataKey,
      samples,
      groupSamples,
      batchSizeDl,
    });
    this.#env = new VectorEnv({
      makeEnv,
      batchSize: groupSamples ? shapeWithSamples(toBatchShape(numEnvs, new.target.name), samples) : numEnvs,
    });
    this.batchSize = this.#env.batchSize;
    this.size = this.#env.size;
  }

  /** Current observation of each element; `null` if no episode is running. */
  get observations(): readonly (Observation | null)[] {
    return this.#env.observations;
  }

  /** Starts an episode in each element of the mask with the dataset's next query, and returns the state of every element. */
  reset(options: VectorResetOptions = {}): Promise<ResetOutcome[]> {
    return this.#env.reset(this.#primer, options);
  }

  /** Steps each element of the mask that has an action; the outcome of the others is `null`. */
  step(
    actions: readonly (Action | null)[],
    options: VectorStepOptions = {},
  ): Promise<(StepOutcome | null)[]> {
    return this.#env.step(actions, options);
  }

  /** Steps, and starts an episode with the next query where one has ended. */
  stepAndMaybeReset(
    actions: readonly (Action | null)[],
    options: VectorStepOptions = {},
  ): Promise<StepAndMaybeResetResult> {
    return this.#env.stepAndMaybeReset(actions, { ...options, tasks: this.#primer });
  }

  /** Rewinds the dataset: the next query is the first one again, in the same order. */
  resetDataloader(): this {
    this.#primer.reset();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.use(this.#primer);
    stack.use(this.#env);
  }
}

/** Returns a function that gives the rows of each pass over the dataset. */
function rowsOfPasses(
  options: Pick<DatasetSourceOptions, "dataset" | "shuffle" | "name" | "split" | "seed">,
): (pass: number) => Rows {
  const { dataset, shuffle = true, name, split } = options;
  const seed = options.seed ?? randomSeed();
  return (pass) => {
    const rows = readRows(dataset, { name, split, pass });
    return shuffle ? shuffleRows(rows, { seed: deriveSeed(seed, pass) }) : rows;
  };
}

/** Returns the shape with its last axis multiplied by the samples. */
function shapeWithSamples(shape: BatchShape, samples: number | null | undefined): BatchShape {
  return [...shape.slice(0, -1), (shape.at(-1) ?? 1) * Math.max(1, samples ?? 1)];
}
