import { Deadline } from "../../async/abort.ts";
import { WaitList } from "../../async/wait_list.ts";
import { Budget } from "./budget.ts";
import { ServerError } from "../http/http_errors.ts";

/** Options of {@linkcode AdmissionQueue}. */
export interface AdmissionQueueOptions {
  /** Number of slots. */
  slots: number;
  /**
   * Slots that an owner may hold.
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
  /**
   * True if a request that waits for more slots than are free keeps later requests from these slots, so that many
   * small requests do not pass a large request forever. Each owner has the reserved share all the same. Set the option
   * for slots that are free soon.
   *
   * @default false
   */
  keepsOrder?: boolean | undefined;
}

/** Slots of a request. Disposal frees all of them. */
export interface HeldSlots extends Disposable {
  /** Frees those beyond so many. */
  shrink(slots: number): void;
  /** Returns the single slots, each of which frees itself when disposed. */
  split(): Disposable[];
}

/** Options of {@linkcode AdmissionQueue.run}. */
export interface AdmissionOptions {
  signal?: AbortSignal | undefined;
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
   * Number of slots that the request takes at once, at most `slotsPerOwner`.
   *
   * @default 1
   */
  slots?: number | undefined;
  /**
   * False if the time alone bounds the wait: the request may wait however many others do, and is never evicted.
   *
   * @default true
   */
  isCounted?: boolean;
}

const NAME = "slot";
const ADVICE = "retry later";

/** A request that waits. */
interface WaitingRequest {
  readonly slots: number;
  readonly isCounted: boolean;
}

/**
 * Bounds the number of concurrent operations, or the bytes that they take. A request gets all slots at once, waits for
 * a bounded time, or is rejected. The requests of an owner are served in their order. The next slots go to the owner
 * with the fewest; owners with equally many take turns. When the queue is full, the owner with most waiting requests
 * loses its newest request.
 */
export class AdmissionQueue {
  readonly #options: AdmissionQueueOptions;
  /** Waiting requests by owner, oldest first. The owner that was served last is at the end. */
  readonly #waiting = new Map<string, WaitList<HeldSlots, WaitingRequest>>();
  readonly #slots: Budget;

  /** Slots that an owner may hold. */
  readonly slotsPerOwner: number;

  /** @throws {RangeError} if there is no slot. */
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

  /** Returns the number of waiting requests of an owner, or of all. */
  waiting(owner?: string): number {
    if (owner !== undefined) return this.#waiting.get(owner)?.size ?? 0;
    return this.#waiting.values().reduce((sum, { size }) => sum + size, 0);
  }

  /** Takes slots if they are free at once, and nothing of the owner waits for them; otherwise returns `undefined`. */
  tryTake(owner: string, slots: number): HeldSlots | undefined {
    return this.#isNext(owner, slots) ? this.#take(owner, slots) : undefined;
  }

  /** Waits for slots, as {@linkcode AdmissionQueue.run} does. */
  async acquire(options: AdmissionOptions): Promise<HeldSlots> {
    return (await this.run(() => Promise.resolve(), options)).slot;
  }

  /**
   * Waits for slots and runs `start`. Disposing the returned slots frees them.
   *
   * @throws {ServerError} `busy` if the queue is full; `timeout` if the wait and `start` together take too long.
   * @throws {RangeError} if an owner can never have so many slots.
   */
  async run<T>(
    start: (signal: AbortSignal) => Promise<T>,
    options: AdmissionOptions,
  ): Promise<{ result: T; slot: HeldSlots }> {
    const { signal, owner = "", waitMs = this.#options.waitMs, isCounted = true, slots = 1 } = options;
    if (slots > this.slotsPerOwner) {
      throw new RangeError(
        `Cannot admit request as 'slots' must be at most ${this.slotsPerOwner}: current value is ${slots}`,
      );
    }
    using wait = new Deadline(waitMs, { signal, reason: () => this.#waitTimeout(owner, { slots, waitMs }) });
    const slot = await this.#acquire(owner, { slots, signal: wait.signal, isCounted });
    try {
      return { result: await start(wait.signal), slot };
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  }

  async #acquire(
    owner: string,
    { slots, signal, isCounted }: { slots: number; signal: AbortSignal; isCounted: boolean },
  ): Promise<HeldSlots> {
    signal.throwIfAborted();
    if (this.#isNext(owner, slots)) return this.#take(owner, slots);
    if (isCounted) this.#evict(owner);
    const requests = this.#waiting.getOrInsertComputed(owner, () => new WaitList());
    try {
      return await requests.add({ slots, isCounted }, signal).promise;
    } catch (error) {
      this.#admitNext(); // the requests that it kept from free slots
      throw error;
    } finally {
      if (requests.size === 0 && this.#waiting.get(owner) === requests) this.#waiting.delete(owner);
    }
  }

  /** True if a new request of an owner need not wait. */
  #isNext(owner: string, slots: number): boolean {
    if (this.waiting(owner) > 0 || !this.#fits(owner, slots)) return false;
    const own = this.#slots.used(owner);
    return this.#isOfShare(owner, slots) ||
      !this.#waiting.keys().some((other) => this.waiting(other) > 0 && this.#slots.used(other) <= own);
  }

  #fits(owner: string, slots: number): boolean {
    return this.#slots.available(owner) >= slots && this.#slots.used(owner) + slots <= this.slotsPerOwner;
  }

  /** True if no request of another owner keeps an owner from so many slots. */
  #isOfShare(owner: string, slots: number): boolean {
    return !this.#options.keepsOrder || this.#slots.used(owner) + slots <= this.#slots.share;
  }

  #take(owner: string, slots: number): HeldSlots {
    const lease = this.#slots.take(owner, slots);
    let held = slots;
    const shrink = (left: number) => {
      if (left >= held) return;
      held = left;
      lease.resize(left);
      this.#admitNext();
    };
    const freeOne = () => {
      const slot = new DisposableStack(); // frees the slot once
      slot.defer(() => shrink(held - 1));
      return slot;
    };
    return { shrink, split: () => Array.from({ length: held }, freeOne), [Symbol.dispose]: () => shrink(0) };
  }

  /** Admits the requests for which there are slots. */
  #admitNext(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { owner, requests, first } = next;
      this.#waiting.delete(owner);
      first.resolve(this.#take(owner, first.request.slots));
      if (requests.size > 0) this.#waiting.set(owner, requests); // at the end: another owner takes a turn
    }
  }

  /** Returns the next request for which there are slots. */
  #next() {
    return this.#waiting.entries()
      .flatMap(([owner, requests]) => requests.first ? [{ owner, requests, first: requests.first }] : [])
      .toArray().sort((one, other) => this.#slots.used(one.owner) - this.#slots.used(other.owner))
      .find(({ owner, first: { request: { slots } } }, at) =>
        this.#fits(owner, slots) && (at === 0 || this.#isOfShare(owner, slots))
      );
  }

  /** When the queue is full, evicts the newest request of the owner with most waiting, unless that is the caller. */
  #evict(owner: string): void {
    const { queue = Infinity, name = NAME, advice = ADVICE } = this.#options;
    const counted = [...this.#waiting].map(([owner, requests]) => ({
      owner,
      requests: [...requests].filter(({ request }) => request.isCounted),
    }));
    if (counted.reduce((sum, { requests }) => sum + requests.length, 0) < queue) return;
    const full = new ServerError(
      "busy",
      `No ${name} is free as ${this.#shortage(owner, 1)}, and ${queue} requests wait: ${advice}`,
      { retryAfter: 1 },
    );
    const [most] = counted.toSorted((one, other) => other.requests.length - one.requests.length);
    const own = counted.find((other) => other.owner === owner)?.requests.length ?? 0;
    const last = most?.requests.at(-1);
    if (most === undefined || last === undefined || most.requests.length <= own + 1) throw full;
    last.reject(full);
  }

  #waitTimeout(owner: string, { slots, waitMs }: { slots: number; waitMs: number }): ServerError {
    const { name = NAME, advice = ADVICE } = this.#options;
    return new ServerError(
      "timeout",
      `No ${name} was free within ${waitMs} ms as ${this.#shortage(owner, slots)}: ${advice}`,
      { retryAfter: 1 },
    );
  }

  /** Returns why an owner cannot have so many slots now. The reason tells nothing of how many others hold. */
  #shortage(owner: string, slots: number): string {
    const { slots: total } = this.#options;
    if (total - this.#slots.used() < slots) return `all ${total} are in use`;
    if (this.#slots.used(owner) + slots > this.slotsPerOwner) {
      const others = this.slotsPerOwner < this.#slots.most
        ? ""
        : ", and the others are reserved for other tokens";
      return `a token may hold ${this.slotsPerOwner} of ${total}${others}`;
    }
    return `all ${total} are in use or reserved for other tokens`;
  }
}
