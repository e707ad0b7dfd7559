import { ArgumentTypeError } from "../errors.ts";
import { collateBatch, type CollateOptions, type LazyTask } from "./collated.ts";
import { requireBatchSize, toBatches } from "./in_batches.ts";
import type { RawRow } from "./raw_row.ts";
import { type Rows, splitBatches } from "./unbound_rows.ts";

/** Options of {@linkcode EndlessTasks}. */
export interface EndlessTasksOptions extends CollateOptions {
  /**
   * Number of rows that are loaded and passed to `collate` at once.
   *
   * @default 1
   */
  batchSizeDl?: number | undefined;
}

/**
 * Reads the tasks of a data loader one by one, and starts over at its end. It holds at most one batch in
 * memory. Calls must not overlap.
 */
export class EndlessTasks {
  readonly #open: (pass: number) => Rows;
  readonly #options: CollateOptions;
  readonly #batchSize: number;
  readonly #tasks: LazyTask[] = [];
  #batches: AsyncGenerator<RawRow[]> | undefined;
  #pass = 0;
  #isEmpty = true;
  #failure: { error: unknown } | undefined;

  /** @throws {RangeError} if `batchSizeDl` is not a whole number of at least 1. */
  constructor(open: (pass: number) => Rows, options: EndlessTasksOptions = {}) {
    const { batchSizeDl = 1 } = options;
    requireBatchSize(batchSizeDl);
    this.#open = open;
    this.#options = options;
    this.#batchSize = batchSizeDl;
  }

  /** Returns the next task. A loader that failed or was empty is not used again until `rewind()`. */
  async next(): Promise<LazyTask> {
    if (this.#failure !== undefined) throw this.#failure.error;
    try {
      while (this.#tasks.length === 0) await this.#load();
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    const [task] = this.#tasks.splice(0, 1);
    if (task === undefined) throw new Error("Cannot take task as the batch must not be empty: found no task");
    return task;
  }

  /** Starts over at the first task and closes the current pass. */
  async rewind(): Promise<void> {
    const batches = this.#batches;
    this.#batches = undefined;
    this.#failure = undefined;
    this.#pass = 0;
    this.#isEmpty = true;
    this.#tasks.length = 0;
    await batches?.return(undefined);
  }

  async #load(): Promise<void> {
    this.#batches ??= toBatches(splitBatches(this.#open(this.#pass)), this.#batchSize);
    const { done, value } = await this.#batches.next();
    if (!done) {
      this.#tasks.push(...await collateBatch(value, this.#options));
      this.#isEmpty &&= this.#tasks.length === 0;
      return;
    }
    if (this.#isEmpty) throw emptyLoader(this.#pass);
    this.#batches = undefined;
    this.#isEmpty = true;
    this.#pass++;
  }
}

function emptyLoader(pass: number): TypeError {
  const found = pass === 0
    ? "found none"
    : "found none in the second pass; a generator can be read only once, so use a list or 'dataloaderFactory'";
  return new ArgumentTypeError(`Cannot take task as the data loader must have at least one item: ${found}`);
}
