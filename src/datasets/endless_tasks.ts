import { collated, type CollatedOptions, type MaybeTask } from "./collated.ts";
import { inBatches, requireBatchSize } from "./in_batches.ts";
import type { RawRow } from "./raw_row.ts";
import { type Rows, unboundRows } from "./unbound_rows.ts";

/** How {@linkcode EndlessTasks} loads. */
export interface EndlessTasksOptions extends CollatedOptions {
  /** How many rows are loaded, and given to `collate`, at once. */
  batchSizeDl?: number | undefined;
}

/** The tasks of a loader, one after the other and over again; no more is held than a batch. Not for two at once. */
export class EndlessTasks {
  readonly #open: (pass: number) => Rows;
  readonly #options: CollatedOptions;
  readonly #batchSize: number;
  readonly #waiting: MaybeTask[] = [];
  #batches: AsyncGenerator<RawRow[]> | undefined;
  #pass = 0;
  #isEmpty = true;
  #failure: { error: unknown } | undefined;

  /** @throws {RangeError} when the size of a batch is not a whole number of at least 1. */
  constructor(open: (pass: number) => Rows, options: EndlessTasksOptions = {}) {
    const { batchSizeDl = 1 } = options;
    requireBatchSize(batchSizeDl);
    this.#open = open;
    this.#options = options;
    this.#batchSize = batchSizeDl;
  }

  /** The next task. A loader that fails, or gives nothing, is not tried again until it is rewound. */
  async next(): Promise<MaybeTask> {
    if (this.#failure !== undefined) throw this.#failure.error;
    try {
      while (this.#waiting.length === 0) await this.#load();
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    const [task] = this.#waiting.splice(0, 1);
    if (task === undefined) throw new Error("Cannot take task as there is none");
    return task;
  }

  /** Starts over at the first task, and closes what was being read. */
  async rewind(): Promise<void> {
    const batches = this.#batches;
    this.#batches = undefined;
    this.#failure = undefined;
    this.#pass = 0;
    this.#isEmpty = true;
    this.#waiting.length = 0;
    await batches?.return(undefined);
  }

  async #load(): Promise<void> {
    this.#batches ??= inBatches(unboundRows(this.#open(this.#pass)), this.#batchSize);
    const { done, value } = await this.#batches.next();
    if (!done) {
      this.#waiting.push(...await collated(value, this.#options));
      this.#isEmpty &&= this.#waiting.length === 0;
      return;
    }
    if (this.#isEmpty) throw emptyLoader(this.#pass);
    this.#batches = undefined;
    this.#isEmpty = true;
    this.#pass++;
  }
}

function emptyLoader(pass: number): TypeError {
  const why = pass === 0
    ? "it gives none"
    : "it gave none when it was started over, as a generator does: give a list or 'dataloaderFactory'";
  return new TypeError(`Cannot take task as the data loader must give at least one item: ${why}`);
}
