import type { Task } from "../task.ts";
import type { MaybeTask } from "./collated.ts";
import { EndlessTasks, type EndlessTasksOptions } from "./endless_tasks.ts";
import type { TaskSource } from "./task_source.ts";
import type { Rows } from "./unbound_rows.ts";

/** What a {@linkcode DataLoadingPrimer} loads, and how it hands it out. */
export interface DataLoadingPrimerOptions extends EndlessTasksOptions {
  /** Rows, or batches of rows, gone through again each time their end is reached. */
  dataloader?: Rows | undefined;
  /** Makes the rows of a pass instead; passes count from 0, and from 0 again after a `reset`. */
  dataloaderFactory?: ((pass: number) => Rows) | undefined;
  /** How often each task is handed out, one time after the other. */
  repeats?: number | null | undefined;
  /**
   * Has as many neighbouring slots as there are repeats share each task: slot by slot they go through the same
   * tasks, even if their episodes end at different times.
   */
  groupRepeats?: boolean | undefined;
}

/** A task that slots of a group have still to get. */
interface SharedTask {
  readonly task: MaybeTask;
  /** The slots that have it. */
  readonly slots: Set<number>;
}

/**
 * Hands out the tasks of a loader to the slots of a batch: first in, first out, one for each slot that is reset,
 * and without end, for behind the last comes the first.
 *
 * It holds a batch of rows, and with `groupRepeats` as many tasks as the slowest slot of a group lags behind.
 */
export class DataLoadingPrimer implements TaskSource, AsyncDisposable {
  readonly #tasks: EndlessTasks;
  readonly #repeats: number;
  readonly #isGrouped: boolean;
  readonly #groups = new Map<number, SharedTask[]>();
  readonly #end = Promise.withResolvers<never>();
  #repeated: { task: MaybeTask; left: number } | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #going = 0;
  #isDisposed = false;

  /**
   * @throws {TypeError} when it is given no loader, or two.
   * @throws {RangeError} when a number is not one that it can use.
   */
  constructor(options: DataLoadingPrimerOptions) {
    this.#tasks = new EndlessTasks(loaderOf(options), options);
    this.#repeats = repeatsOf(options.repeats);
    this.#isGrouped = options.groupRepeats ?? false;
    this.#end.promise.catch(() => {}); // whoever waits for a task is told
  }

  /**
   * The next task, for the slot of that number.
   *
   * @throws {TypeError} when the loader's item is no mapping, or the loader gives none.
   * @throws {SyntaxError} when its row is no task; the next call goes on behind it.
   */
  async take(slot = 0): Promise<Task> {
    if (this.#isDisposed) await this.#end.promise;
    this.#going++;
    const taken = this.#turn.then(() => this.#isGrouped ? this.#nextOfGroup(slot) : this.#nextRepeated());
    this.#turn = taken.catch(() => {}); // whoever asked for it is told
    try {
      const task = await Promise.race([taken, this.#end.promise]);
      return task();
    } finally {
      this.#going--;
    }
  }

  /** Starts over: the next task is the loader's first. */
  reset(): void {
    this.#turn = this.#turn.then(() => this.#rewind());
  }

  /** Closes what is being read; who still waits for a task waits no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    const isIdle = this.#going === 0;
    this.#isDisposed = true;
    this.#end.reject(new Error("Cannot take task as the data loader is disposed"));
    this.reset();
    if (isIdle) await this.#turn; // else the loader may never give what it was asked for
  }

  async #nextRepeated(): Promise<MaybeTask> {
    if (this.#repeated === undefined || this.#repeated.left === 0) {
      this.#repeated = { task: await this.#tasks.next(), left: this.#repeats };
    }
    this.#repeated.left--;
    return this.#repeated.task;
  }

  async #nextOfGroup(slot: number): Promise<MaybeTask> {
    const group = Math.floor(slot / this.#repeats);
    const waiting = this.#groups.get(group) ?? [];
    this.#groups.set(group, waiting);
    let next = waiting.find(({ slots }) => !slots.has(slot));
    if (next === undefined) waiting.push(next = { task: await this.#tasks.next(), slots: new Set() });
    next.slots.add(slot);
    if (next.slots.size === this.#repeats) waiting.shift();
    return next.task;
  }

  async #rewind(): Promise<void> {
    this.#repeated = undefined;
    this.#groups.clear();
    await this.#tasks.rewind().catch(() => {}); // a loader that fails to close is not read again
  }
}

function loaderOf({ dataloader, dataloaderFactory }: DataLoadingPrimerOptions): (pass: number) => Rows {
  if (dataloader !== undefined && dataloaderFactory !== undefined) {
    throw new TypeError("Cannot provide both 'dataloader' and 'dataloaderFactory'. Choose one");
  }
  if (dataloaderFactory !== undefined) return dataloaderFactory;
  if (dataloader !== undefined) return () => dataloader;
  throw new TypeError("Must provide exactly one of 'dataloader' or 'dataloaderFactory'");
}

function repeatsOf(repeats: number | null | undefined): number {
  const count = repeats ?? 1;
  if (!Number.isInteger(count) || count < 0) {
    throw new RangeError(
      `Cannot load rows as 'repeats' must be a whole number >= 0: current value is ${count}`,
    );
  }
  return Math.max(1, count);
}
