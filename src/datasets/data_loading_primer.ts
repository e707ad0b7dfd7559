import { requireKnownOptions } from "../options.ts";
import { ArgumentTypeError } from "../errors.ts";
import type { Task } from "../task.ts";
import { collateBatch, type CollateOptions, type LazyTask, requireBatchSize, toBatches } from "./collate.ts";
import { type Rows, splitBatches } from "./read_rows.ts";
import type { RawRow } from "./row.ts";

/**
 * Options of {@linkcode DataLoadingPrimer}. Exactly one of `dataloader` and `dataloaderFactory` is required.
 */
export interface DataLoadingPrimerOptions extends EndlessTasksOptions {
  /** Rows or batches of rows. They are iterated again each time the end is reached. */
  dataloader?: Rows | undefined;
  /** Returns the rows of a pass. Passes count from 0, and from 0 again after `reset()`. */
  dataloaderFactory?: ((pass: number) => Rows) | undefined;
  /**
   * Number of consecutive times that each task is returned. If the number is more than 1, the tasks have a `group`,
   * which is distinct in each pass.
   *
   * @default 1
   */
  samples?: number | null | undefined;
  /**
   * Groups of `samples` adjacent slots share their tasks: each slot of a group gets the same sequence of
   * tasks, even if their episodes end at different times.
   *
   * @default false
   */
  groupSamples?: boolean | undefined;
}

/** A task that some slots of a group have not taken yet. */
interface SharedTask {
  readonly task: LazyTask;
  /** The slots that took the task. */
  readonly slots: Set<number>;
}

/**
 * Distributes the tasks of a data loader to the slots of a batch: first in, first out, one task for each slot
 * that is reset. After the last task the primer starts over with the first.
 *
 * The primer holds a batch of rows in memory. With `groupSamples`, the primer also holds the tasks that the slowest
 * slot of a group has not taken yet.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { DataLoadingPrimer } from "@paddock/paddock/datasets";
 *
 * await using primer = new DataLoadingPrimer({ dataloader: [{ query: "2 + 2?" }, { query: "3 + 3?" }] });
 * const queries = [await primer.take(), await primer.take(), await primer.take()].map(({ query }) => query);
 * assertEquals(queries.join(" "), "2 + 2? 3 + 3? 2 + 2?");
 * ```
 */
export class DataLoadingPrimer implements TaskSource, AsyncDisposable {
  readonly #tasks: EndlessTasks;
  readonly #samples: number;
  readonly #isGrouped: boolean;
  readonly #groups = new Map<number, SharedTask[]>();
  readonly #disposal = Promise.withResolvers<never>();
  #current: { task: LazyTask; left: number } | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #pending = 0;
  #groupCount = 0;
  #isDisposed = false;

  /**
   * @throws {TypeError} if no data loader is given, or two.
   * @throws {RangeError} if `samples` or `batchSizeDl` is out of range.
   */
  constructor(options: DataLoadingPrimerOptions) {
    requireKnownOptions("create DataLoadingPrimer", options, {
      dataloader: true,
      dataloaderFactory: true,
      samples: true,
      groupSamples: true,
      batchSizeDl: true,
      collate: true,
      dataKey: true,
    });
    this.#tasks = new EndlessTasks(toFactory(options), options);
    this.#samples = requireSamples(options.samples);
    this.#isGrouped = options.groupSamples ?? false;
    this.#disposal.promise.catch(() => {}); // Callers that wait in `take` get this error.
  }

  /**
   * Returns the next task for a slot.
   *
   * @throws {TypeError} if an item of the loader is not a mapping, or the loader has no items.
   * @throws {SyntaxError} if the row does not describe a task; the next call continues with the next row.
   */
  async take(slot = 0): Promise<Task> {
    if (this.#isDisposed) await this.#disposal.promise;
    this.#pending++;
    const next = this.#queue.then(() => this.#isGrouped ? this.#nextOfGroup(slot) : this.#nextOfRow());
    this.#queue = next.catch(() => {}); // The caller of `take` gets this error.
    try {
      const task = await Promise.race([next, this.#disposal.promise]);
      return task();
    } finally {
      this.#pending--;
    }
  }

  /** Starts over: the next task is the loader's first. */
  reset(): void {
    this.#queue = this.#queue.then(() => this.#rewind());
  }

  /** Closes the loader and rejects pending calls of `take()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    const isIdle = this.#pending === 0;
    this.#isDisposed = true;
    this.#disposal.reject(new Error("Cannot take task as the data loader is disposed"));
    this.reset();
    if (isIdle) await this.#queue; // With a pending call this could wait forever, if the loader hangs.
  }

  async #nextOfRow(): Promise<LazyTask> {
    if (this.#current === undefined || this.#current.left === 0) {
      this.#current = { task: await this.#nextGroup(), left: this.#samples };
    }
    this.#current.left--;
    return this.#current.task;
  }

  async #nextOfGroup(slot: number): Promise<LazyTask> {
    const group = Math.floor(slot / this.#samples);
    const sharedTasks = this.#groups.get(group) ?? [];
    this.#groups.set(group, sharedTasks);
    let next = sharedTasks.find(({ slots }) => !slots.has(slot));
    if (next === undefined) sharedTasks.push(next = { task: await this.#nextGroup(), slots: new Set() });
    next.slots.add(slot);
    if (next.slots.size === this.#samples) sharedTasks.shift();
    return next.task;
  }

  /** Returns the next task of the loader, with the id of the task's group if the task has several episodes. */
  async #nextGroup(): Promise<LazyTask> {
    const lazyTask = await this.#tasks.next();
    if (this.#samples === 1) return lazyTask;
    const number = ++this.#groupCount;
    return () => {
      const task = lazyTask();
      return { ...task, group: `${task.id}#${number}` };
    };
  }

  async #rewind(): Promise<void> {
    this.#current = undefined;
    this.#groupCount = 0;
    this.#groups.clear();
    await this.#tasks.rewind().catch(() => {}); // A loader that fails to close is not used again.
  }
}

function toFactory({ dataloader, dataloaderFactory }: DataLoadingPrimerOptions): (pass: number) => Rows {
  if (dataloader !== undefined && dataloaderFactory !== undefined) {
    throw new TypeError("Cannot provide both 'dataloader' and 'dataloaderFactory'. Choose one");
  }
  if (dataloaderFactory !== undefined) return dataloaderFactory;
  if (dataloader !== undefined) return () => dataloader;
  throw new TypeError("Must provide exactly one of 'dataloader' or 'dataloaderFactory'");
}

function requireSamples(samples: number | null | undefined): number {
  const count = samples ?? 1;
  if (!Number.isInteger(count) || count < 1) {
    throw new RangeError(
      `Cannot load rows as 'samples' must be a whole number >= 1: current value is ${count}`,
    );
  }
  return count;
}

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
 * Reads the tasks of a data loader in order, and starts over at the end. At most one batch is in memory. Calls must not
 * overlap.
 */
class EndlessTasks {
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

/** A source of tasks for the elements of a batch, a task for each episode. */
export interface TaskSource {
  /**
   * Returns the next task for a batch element. Concurrent calls get their tasks in the order of the calls; a
   * call that rejects has used up its task.
   */
  take(slot: number): Promise<Task>;
}
