import { Deadline } from "../../async/abort.ts";
import { ServerError } from "../http/errors.ts";

/** Options of {@linkcode AdmissionQueue}. */
export interface AdmissionQueueOptions {
  /** Number of slots. */
  slots: number;
  /**
   * Slots that one owner may hold.
   *
   * @default all slots
   */
  slotsPerOwner?: number | undefined;
  /** Number of requests that may wait; further requests are rejected. */
  queue: number;
  /** Milliseconds that a request may wait. */
  waitMs: number;
}

/** Waiting request. */
interface Waiting {
  readonly owner: string;
  readonly admit: (slot: Disposable) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Bounds the number of concurrent operations. A request gets a slot, waits in a bounded queue for a bounded time, or
 * is rejected. The next slot goes to the owner with the fewest slots. When the queue is full, the owner with most
 * waiting requests loses its newest one.
 */
export class AdmissionQueue {
  readonly #options: AdmissionQueueOptions;
  readonly #queue = new Set<Waiting>();
  readonly #slotsByOwner = new Map<string, number>();
  #taken = 0;

  /** @throws {RangeError} if there are fewer than one slot. */
  constructor(options: AdmissionQueueOptions) {
    const { slots } = options;
    if (!Number.isInteger(slots) || slots < 1) {
      throw new RangeError(
        `Cannot create admission queue as 'slots' must be an integer >= 1: current value is ${slots}`,
      );
    }
    this.#options = options;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Waits for a slot and runs `start`. Disposing the returned slot frees it.
   *
   * @throws {ServerError} `busy` if the queue is full; `timeout` if the wait and `start` together take too long.
   */
  async run<T>(
    start: (signal: AbortSignal) => Promise<T>,
    { signal, owner = "" }: { signal: AbortSignal; owner?: string },
  ): Promise<{ result: T; slot: Disposable }> {
    const { waitMs } = this.#options;
    using wait = new Deadline(waitMs, { signal, reason: () => waitTimeout(waitMs) });
    const slot = await this.#acquire(owner, wait.signal);
    try {
      return { result: await start(wait.signal), slot };
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  }

  async #acquire(owner: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#admits(owner)) return this.#take(owner);
    this.#evict(owner);
    const { promise, resolve: admit, reject } = Promise.withResolvers<Disposable>();
    const waiting = { owner, admit, reject };
    const onAbort = () => {
      this.#queue.delete(waiting);
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort);
    this.#queue.add(waiting);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #admits(owner: string): boolean {
    const { slots, slotsPerOwner = slots } = this.#options;
    return this.#taken < slots && this.#count(owner) < slotsPerOwner;
  }

  #count(owner: string): number {
    return this.#slotsByOwner.get(owner) ?? 0;
  }

  #take(owner: string): Disposable {
    this.#taken++;
    this.#slotsByOwner.set(owner, this.#count(owner) + 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#release(owner);
        isHeld = false;
      },
    };
  }

  #release(owner: string): void {
    this.#taken--;
    const left = this.#count(owner) - 1;
    if (left > 0) this.#slotsByOwner.set(owner, left);
    else this.#slotsByOwner.delete(owner);
    const [next] = [...this.#queue].filter((waiting) => this.#admits(waiting.owner))
      .sort((one, other) => this.#count(one.owner) - this.#count(other.owner));
    if (next === undefined) return;
    this.#queue.delete(next);
    next.admit(this.#take(next.owner));
  }

  /** When the queue is full, evicts the newest request of the owner with most waiting, unless that is the caller. */
  #evict(owner: string): void {
    const { slots, queue } = this.#options;
    if (this.#queue.size < queue) return;
    const full = new ServerError("busy", `All ${slots} sessions are in use and ${queue} requests wait`, {
      retryAfter: 1,
    });
    const owners = Map.groupBy(this.#queue, (waiting) => waiting.owner);
    const [most = []] = [...owners.values()].sort((one, other) => other.length - one.length);
    if (most.length <= (owners.get(owner)?.length ?? 0) + 1) throw full;
    const last = most.at(-1);
    if (last !== undefined) this.#queue.delete(last);
    last?.reject(full);
  }
}

function waitTimeout(waitMs: number): ServerError {
  return new ServerError("timeout", `No session was free within ${waitMs} ms`, { retryAfter: 1 });
}
