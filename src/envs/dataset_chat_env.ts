import type { CollatedOptions } from "../datasets/collated.ts";
import { DataLoadingPrimer } from "../datasets/data_loading_primer.ts";
import type { DatasetFilesOptions } from "../datasets/dataset_files.ts";
import { readRows, type RowSource } from "../datasets/read_rows.ts";
import { shuffled } from "../datasets/shuffled.ts";
import type { Rows } from "../datasets/unbound_rows.ts";
import { derivedSeed, freshSeed } from "../seeded_random.ts";
import { type BatchShape, batchShape } from "./batch_shape.ts";
import { ChatEnv, type ChatEnvOptions } from "./chat_env.ts";
import type { Action, Env, Observation } from "./env.ts";
import {
  type SteppedAndReset,
  VectorEnv,
  type VectorResetOptions,
  type VectorStepOptions,
} from "./vector_env.ts";
import type { ResetOutcome, StepOutcome } from "./vector_outcome.ts";

/** How the elements of a {@linkcode DatasetChatEnv} are asked, beside what they are asked. */
export interface DatasetBatchOptions extends ChatEnvOptions, CollatedOptions {
  /** How often each task is asked, one time after the other. */
  repeats?: number | null | undefined;
  /** Has `repeats` times as many elements, of which neighbours share each task: the groups of GRPO. */
  groupRepeats?: boolean | undefined;
  /** How many rows are loaded, and given to `collate`, at once. */
  batchSizeDl?: number | undefined;
  /**
   * Makes the env of an element, such as a `TransformedEnv` around a `ChatEnv` with these options; a `ChatEnv`
   * unless given.
   */
  makeEnv?: ((index: number, options: ChatEnvOptions) => Env | Promise<Env>) | undefined;
}

/** What a {@linkcode DatasetChatEnv} asks, and how. */
export interface DatasetChatEnvOptions extends DatasetBatchOptions, DatasetFilesOptions {
  /** A file or folder of JSON lines, CSV or Parquet, a file of one JSON list, rows, or a function that gives the rows of a pass. */
  dataset: RowSource;
  /** Asks in an order of chance, another one each time through; of more than 10,000 rows, each drawn from so many. */
  shuffle?: boolean | undefined;
  /** Decides the order; one of chance unless given. */
  seed?: number | null | undefined;
  /** How many episodes are played at once, or the length of each axis of the batch. */
  numEnvs?: number | readonly number[] | undefined;
}

/** What {@linkcode DatasetChatEnv.fromDataloader} may be given. */
export interface FromDataloaderOptions extends DatasetBatchOptions {
  /** How many episodes are played at once, or the length of each axis of the batch. */
  batchSize?: number | readonly number[] | undefined;
}

/**
 * A batch of chats whose queries come from a dataset, first in, first out and without end.
 *
 * A row that is no task fails the element whose turn it was; the others go on, and so does it when it is reset or
 * stepped by {@linkcode DatasetChatEnv.stepAndMaybeReset}.
 */
export class DatasetChatEnv implements AsyncDisposable {
  /** The system prompt of those who give none; for classes that stand for a dataset. */
  static readonly SYSTEM_PROMPT: string | undefined = undefined;

  /** The length of each axis, the repeats of a group among them. */
  readonly batchSize: BatchShape;
  /** How many elements there are. */
  readonly size: number;
  readonly #primer: DataLoadingPrimer;
  readonly #env: VectorEnv;

  /** @throws {RangeError} when a number is not one that it can use. */
  constructor(options: DatasetChatEnvOptions) {
    const { dataset, shuffle, name, split, seed, numEnvs, ...others } = options;
    const { collate, dataKey, repeats, groupRepeats, batchSizeDl, makeEnv, ...chat } = others;
    const chatOptions = { ...chat, systemPrompt: chat.systemPrompt ?? new.target.SYSTEM_PROMPT };
    this.#primer = new DataLoadingPrimer({
      dataloaderFactory: passes({ dataset, shuffle, name, split, seed }),
      collate,
      dataKey,
      repeats,
      groupRepeats,
      batchSizeDl,
    });
    this.#env = new VectorEnv({
      makeEnv: (index) => makeEnv?.(index, chatOptions) ?? new ChatEnv(chatOptions),
      batchSize: groupRepeats ? grouped(batchShape(numEnvs, new.target.name), repeats) : numEnvs,
    });
    this.batchSize = this.#env.batchSize;
    this.size = this.#env.size;
  }

  /** A batch of chats over rows of any making, in their own order. */
  static fromDataloader(
    dataloader: Rows | ((pass: number) => Rows),
    options: FromDataloaderOptions = {},
  ): DatasetChatEnv {
    const { batchSize, ...others } = options;
    return new this({ ...others, dataset: dataloader, shuffle: false, numEnvs: batchSize });
  }

  /** What each element's policy is to answer; `null` where no episode is going on. */
  get observations(): readonly (Observation | null)[] {
    return this.#env.observations;
  }

  /** Asks each element of the mask the dataset's next query, and gives where every element stands. */
  reset(options: VectorResetOptions = {}): Promise<ResetOutcome[]> {
    return this.#env.reset(this.#primer, options);
  }

  /** Steps each element of the mask that is given an action; the outcome of the others is `null`. */
  step(
    actions: readonly (Action | null)[],
    options: VectorStepOptions = {},
  ): Promise<(StepOutcome | null)[]> {
    return this.#env.step(actions, options);
  }

  /** Steps, and asks the next query where an episode ended. */
  stepAndMaybeReset(
    actions: readonly (Action | null)[],
    options: VectorStepOptions = {},
  ): Promise<SteppedAndReset> {
    return this.#env.stepAndMaybeReset(actions, { ...options, tasks: this.#primer });
  }

  /** Starts over: the next query is the first one again, in the same order. */
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

/** Gives the rows of each pass over the dataset. */
function passes(
  options: Pick<DatasetChatEnvOptions, "dataset" | "shuffle" | "name" | "split" | "seed">,
): (pass: number) => Rows {
  const { dataset, shuffle = true, name, split } = options;
  const seed = options.seed ?? freshSeed();
  return (pass) => {
    const rows = readRows(dataset, { name, split, pass });
    return shuffle ? shuffled(rows, { seed: derivedSeed(seed, pass) }) : rows;
  };
}

/** The shape with each element as often as a group needs. */
function grouped(shape: BatchShape, repeats: number | null | undefined): BatchShape {
  return [...shape.slice(0, -1), (shape.at(-1) ?? 1) * Math.max(1, repeats ?? 1)];
}
