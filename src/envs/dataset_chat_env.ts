import type { CollateOptions } from "../datasets/collate.ts";
import { DataLoadingPrimer } from "../datasets/data_loading_primer.ts";
import type { DatasetFilesOptions } from "../datasets/files.ts";
import { readRows, type Rows, type RowSource } from "../datasets/read_rows.ts";
import { shuffleRows } from "../datasets/read_dataset.ts";
import { deriveSeed, randomSeed } from "../seeded_random.ts";
import { type BatchShape, toBatchShape } from "./batch.ts";
import { ChatEnv, type ChatEnvOptions } from "./chat_env.ts";
import type { Action } from "./action.ts";
import type { Env, Observation } from "./env.ts";
import {
  type ResetOutcome,
  type StepAndMaybeResetResult,
  type StepOutcome,
  VectorEnv,
  type VectorResetOptions,
  type VectorStepOptions,
} from "./vector_env.ts";

/** Options of {@linkcode DatasetChatEnv} that do not concern the dataset. */
export interface DatasetBatchOptions extends ChatEnvOptions, CollateOptions {
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
  /**
   * Makes the env of an element, such as a `TransformedEnv` around a `ChatEnv` with these options.
   *
   * @default a `ChatEnv` with these options
   */
  makeEnv?: ((index: number, options: ChatEnvOptions) => Env | Promise<Env>) | undefined;
}

/** Options of {@linkcode DatasetChatEnv}. */
export interface DatasetChatEnvOptions extends DatasetBatchOptions, DatasetFilesOptions {
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

/** Options of {@linkcode DatasetChatEnv.fromDataloader}. */
export interface FromDataloaderOptions extends DatasetBatchOptions {
  /**
   * Number of elements, or the length of each axis of the batch.
   *
   * @default 1
   */
  batchSize?: number | readonly number[] | undefined;
}

/**
 * A batch of chats whose queries come from a dataset, in order and without end.
 *
 * With `groupSamples`, neighbouring elements play the same task, and `task.group` names their group for
 * `advantages()`.
 *
 * An invalid row fails only the element that takes it. That element continues when it is reset, or stepped by
 * {@linkcode DatasetChatEnv.stepAndMaybeReset}.
 *
 * @example A batch of two tasks
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { DatasetChatEnv } from "@paddock/paddock";
 *
 * const dataset = [{ query: "What is 2 + 2?", answer: "4" }, { query: "What is 3 + 3?", answer: "6" }];
 * await using env = new DatasetChatEnv({ dataset, numEnvs: 2, shuffle: false });
 * const [first] = await env.reset();
 * assertEquals(first?.observation?.task.query, "What is 2 + 2?");
 * ```
 *
 * @example Groups of two episodes of each task, and their advantages
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { advantages, ChatEnv, DatasetChatEnv, GradeEpisode, groupOf, numberMatch } from "@paddock/paddock";
 * import { EndOnFinalReply, replyAction, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new DatasetChatEnv({
 *   dataset: [{ query: "What is 2 + 2?", answer: "4" }],
 *   samples: 2,
 *   groupSamples: true,
 *   makeEnv: (_index, options) =>
 *     new TransformedEnv(new ChatEnv(options), [
 *       new EndOnFinalReply(),
 *       new GradeEpisode({ grader: numberMatch() }),
 *     ]),
 * });
 * await env.reset();
 * const outcomes = await env.step([replyAction("It is 4."), replyAction("It is 5.")]);
 * const steps = outcomes.flatMap((outcome) => outcome?.step ?? []);
 * const rewards = steps.map(({ reward }) => reward);
 * const groups = steps.map(({ task }) => groupOf(task));
 * assertEquals(rewards, [1, 0]);
 * assertEquals(groups[0], groups[1]);
 * assertEquals(advantages(rewards, { groups, method: "rloo" }), [1, -1]);
 * ```
 */
export class DatasetChatEnv implements AsyncDisposable {
  /** Default system prompt; for subclasses that represent one dataset. */
  static readonly SYSTEM_PROMPT: string | undefined = undefined;

  /** Length of each axis, with the samples of a group included. */
  readonly batchSize: BatchShape;
  /** Number of elements. */
  readonly size: number;
  readonly #primer: DataLoadingPrimer;
  readonly #env: VectorEnv;

  /** @throws {RangeError} if `numEnvs`, `samples` or `batchSizeDl` is out of range. */
  constructor(options: DatasetChatEnvOptions) {
    const { dataset, shuffle, name, split, seed, numEnvs, ...rest } = options;
    const { collate, dataKey, samples, groupSamples, batchSizeDl, makeEnv, ...chat } = rest;
    const chatOptions = { ...chat, systemPrompt: chat.systemPrompt ?? new.target.SYSTEM_PROMPT };
    this.#primer = new DataLoadingPrimer({
      dataloaderFactory: rowsOfPasses({ dataset, shuffle, name, split, seed }),
      collate,
      dataKey,
      samples,
      groupSamples,
      batchSizeDl,
    });
    this.#env = new VectorEnv({
      makeEnv: (index) => makeEnv?.(index, chatOptions) ?? new ChatEnv(chatOptions),
      batchSize: groupSamples ? shapeWithSamples(toBatchShape(numEnvs, new.target.name), samples) : numEnvs,
    });
    this.batchSize = this.#env.batchSize;
    this.size = this.#env.size;
  }

  /** Creates a batch of chats over rows from any loader, in the order of the loader. */
  static fromDataloader(
    dataloader: Rows | ((pass: number) => Rows),
    options: FromDataloaderOptions = {},
  ): DatasetChatEnv {
    const { batchSize, ...rest } = options;
    return new this({ ...rest, dataset: dataloader, shuffle: false, numEnvs: batchSize });
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
  options: Pick<DatasetChatEnvOptions, "dataset" | "shuffle" | "name" | "split" | "seed">,
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
