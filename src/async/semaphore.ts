import { WaitList } from "./wait_list.ts";

/** Options of {@linkcode SerialQueue.run}. */
export interface SerialQueueRunOptions {
  /** Ends the wait for earlier work. Work that has started is not stopped. */
  signal?: AbortSignal | undefined;
}

/** Limits how many holders there are at once; further ones wait, first come, first served. */
export class Semaphore {
  readonly #waiting = new WaitList<void>();
  #free: number;

  /** @throws {RangeError} when the count is not a whole number of at least 1. */
  constructor(count: number) {
    if (!Number.isInteger(count) || count < 1) {
      throw new RangeError(
        `Cannot create semaphore as 'concurrency' must be a whole number >= 1: current value is ${count}`,
      );
    }
    this.#free = count;
  }

  /** Waits for a slot. Disposing the slot releases the slot. Rejects with the signal's reason. */
  async acquire(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#waiting.add(undefined, signal).promise;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#release();
        isHeld = false;
      },
    };
  }

  #release(): void {
    const next = this.#waiting.first;
    if (next) next.resolve();
    else this.#free++;
  }
}

/** Runs work in the order of its addition, one piece at a time. */
export class SerialQueue {
  /** Orders queues: code that waits in several queues at once enters the queue with the smallest id first. */
  readonly id: string = crypto.randomUUID();
  readonly #turn = new Semaphore(1);

  /** Runs `work` when all earlier work has ended, with any outcome. */
  async run<T>(work: () => T | Promise<T>, options: SerialQueueRunOptions = {}): Promise<T> {
    const { signal } = options;
    using _turn = await this.#turn.acquire(signal);
    signal?.throwIfAborted();
    return await work();
  }

  /** Waits until all work that was added so far has ended. */
  async whenIdle(): Promise<void> {
    using _turn = await this.#turn.acquire();
  }
}
