import { Deadline } from "../../async/abort.ts";
import { Budget } from "../budget.ts";
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
  /**
   * Number of owners, each of which has a share of the slots: see {@linkcode Budget}.
   *
   * @default 1
   */
  owners?: number | undefined;
  /**
   * Number of requests that may wait; further requests are rejected.
   *
   * @default no limit
   */
  queue?: number | undefined;
  /** Milliseconds that a request may wait. */
  waitMs: number;
  /**
   * Name of a slot in messages.
   *
   * @default "slot"
   */
  name?: string | undefined;
  /**
   * Advice in messages, such as the flag to raise.
   *
   * @default "retry later"
   */
  advice?: string | undefined;
}

/** Options of {@linkcode AdmissionQueue.run}. */
export interface AdmissionOptions {
  signal: AbortSignal;
  /**
   * Owner of the slot.
   *
   * @default ""
   */
  owner?: string;
  /**
   * Milliseconds that the request may wait.
   *
   * @default the queue's `waitMs`
   */
  waitMs?: number | undefined;
  /**
   * False if the time alone bounds the wait: the request may wait however many others do, and is never evicted.
   *
   * @default true
   */
  isCounted?: boolean;
}

const NAME = "slot";
const ADVICE = "retry later";

/** Waiting request. */
interface Waiting {
  readonly isCounted: boolean;
  readonly admit: (slot: Disposable) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Bounds the number of concurrent operations. A request gets a slot, waits for a bounded time, or is rejected. The
 * next slot goes to the owner with the fewest slots; owners with equally many take turns. When the queue is full, the
 * owner with most waiting requests loses its newest one.
 */
export class AdmissionQueue {
  readonly #options: AdmissionQueueOptions;
  /** Waiting requests by owner, oldest first. The owner that was served last is at the end. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #slots: Budget;

  /** Slots that one owner may hold. */
  readonly slotsPerOwner: number;

  /** @throws {RangeError} if there are fewer than one slot. */
  constructor(options: AdmissionQueueOptions) {
    const { slots } = options;
    if (!Number.isInteger(slots) || slots < 1) {
      throw new RangeError(
        `Cannot create admission queue as 'slots' must be an integer >= 1: current value is ${slots}`,
      );
    }
    this.#options = options;
    const { owners, name = NAME, advice = ADVICE } = options;
    this.#slots = new Budget({ total: slots, owners, unit: `${name}s`, advice });
    this.slotsPerOwner = Math.min(this.#slots.most, options.slotsPerOwner ?? slots);
  }

  /** Returns the number of waiting requests of one owner, or of all. */
  waiting(owner?: string): number {
    if (owner !== undefined) return this.#waiting.get(owner)?.size ?? 0;
    return this.#waiting.values().reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Waits for a slot and runs `start`. Disposing the returned slot frees it.
   *
   * @throws {ServerError} `busy` if the queue is full; `timeout` if the wait and `start` together take too long.
   */
  async run<T>(
    start: (signal: AbortSignal) => Promise<T>,
    options: AdmissionOptions,
  ): Promise<{ result: T; slot: Disposable }> {
    const { signal, owner = "", waitMs = this.#options.waitMs, isCounted = true } = options;
    using wait = new Deadline(waitMs, { signal, reason: () => this.#waitTimeout(waitMs) });
    const slot = await this.#acquire(owner, { signal: wait.signal, isCounted });
    try {
      return { result: await start(wait.signal), slot };
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  }

  async #acquire(
    owner: string,
    { signal, isCounted }: { signal: AbortSignal; isCounted: boolean },
  ): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#admits(owner)) return this.#take(owner);
    if (isCounted) this.#evict(owner);
    const { promise, resolve: admit, reject } = Promise.withResolvers<Disposable>();
    const waiting = { isCounted, admit, reject };
    const onAbort = () => {
      this.#remove(owner, waiting);
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort);
    this.#waiting.getOrInsertComputed(owner, () => new Set()).add(waiting);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #admits(owner: string): boolean {
    return this.#slots.available(owner) > 0 && this.#slots.used(owner) < this.slotsPerOwner;
  }

  #take(owner: string): Disposable {
    const lease = this.#slots.take(owner, 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        lease[Symbol.dispose]();
        this.#admitNext();
      },
    };
  }

  #admitNext(): void {
    const [owner] = [...this.#waiting.keys()].filter((owner) => this.#admits(owner))
      .sort((one, other) => this.#slots.used(one) - this.#slots.used(other));
    if (owner === undefined) return;
    const requests = this.#waiting.get(owner) ?? new Set();
    const [next] = requests;
    if (next === undefined) return;
    this.#waiting.delete(owner);
    requests.delete(next);
    if (requests.size > 0) this.#waiting.set(owner, requests); // at the end: it is another owner's turn
    next.admit(this.#take(owner));
  }

  #remove(owner: string, waiting: Waiting): void {
    const requests = this.#waiting.get(owner);
    requests?.delete(waiting);
    if (requests?.size === 0) this.#waiting.delete(owner);
  }

  /** When the queue is full, evicts the newest request of the owner with most waiting, unless that is the caller. */
  #evict(owner: string): void {
    const { slots, queue = Infinity, name = NAME, advice = ADVICE } = this.#options;
    const counted = [...this.#waiting].map(([owner, requests]) => ({
      owner,
      requests: [...requests].filter(({ isCounted }) => isCounted),
    }));
    if (counted.reduce((sum, { requests }) => sum + requests.length, 0) < queue) return;
    const full = new ServerError(
      "busy",
      `All ${slots} ${name}s are in use and ${queue} requests wait: ${advice}`,
      { retryAfter: 1 },
    );
    const [most] = counted.toSorted((one, other) => other.requests.length - one.requests.length);
    const own = counted.find((other) => other.owner === owner)?.requests.length ?? 0;
    const last = most?.requests.at(-1);
    if (most === undefined || last === undefined || most.requests.length <= own + 1) throw full;
    this.#remove(most.owner, last);
    last.reject(full);
  }

  #waitTimeout(waitMs: number): ServerError {
    const { slots, name = NAME, advice = ADVICE } = this.#options;
    return new ServerError(
      "timeout",
      `No ${name} was free within ${waitMs} ms as all ${slots} were in use: ${advice}`,
      { retryAfter: 1 },
    );
  }
}
