import { ServerError } from "./server_error.ts";

/** How many may be inside, and how many may wait. */
export interface GateOptions {
  /** At once inside. */
  places: number;
  /** At once inside of one owner's; all unless given. */
  placesEach?: number | undefined;
  /** At once in line; who comes later is turned away. */
  queue: number;
  /** Milliseconds that one may stand in line. */
  waitMs: number;
}

/** Who stands in line. */
interface Waiting {
  readonly owner: string;
  readonly enter: (place: Disposable) => void;
  readonly leave: (reason: unknown) => void;
}

/**
 * Bounds what goes on at once: a place, a place in line, or a refusal; never an endless wait. Of several owners
 * the one with the fewest places is next, and the one who waits most often gives way when the line is full.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #line = new Set<Waiting>();
  readonly #inside = new Map<string, number>();
  #taken = 0;

  /** @throws {RangeError} when there is not at least one place. */
  constructor(options: GateOptions) {
    const { places } = options;
    if (!Number.isInteger(places) || places < 1) {
      throw new RangeError(
        `Cannot bound what runs at once as there must be a place or more: current value is ${places}`,
      );
    }
    this.#options = options;
  }

  /** How many stand in line. */
  get waiting(): number {
    return this.#line.size;
  }

  /**
   * Runs `enter` with a place, which is free again when the returned one is disposed.
   *
   * @throws {ServerError} `busy` when the line is full, `timeout` when the wait, `enter` included, is too long.
   */
  async pass<T>(
    enter: (signal: AbortSignal) => Promise<T>,
    { signal, owner = "" }: { signal: AbortSignal; owner?: string },
  ): Promise<{ entered: T; place: Disposable }> {
    using wait = new Deadline(this.#options.waitMs, signal);
    const place = await this.#place(owner, wait.signal);
    try {
      return { entered: await enter(wait.signal), place };
    } catch (error) {
      place[Symbol.dispose]();
      throw error;
    }
  }

  async #place(owner: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#admits(owner)) return this.#take(owner);
    this.#makeRoom(owner);
    const { promise, resolve: enter, reject: leave } = Promise.withResolvers<Disposable>();
    const waiting = { owner, enter, leave };
    const onAbort = () => {
      this.#line.delete(waiting);
      leave(signal.reason);
    };
    signal.addEventListener("abort", onAbort);
    this.#line.add(waiting);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #admits(owner: string): boolean {
    const { places, placesEach = places } = this.#options;
    return this.#taken < places && this.#count(owner) < placesEach;
  }

  #count(owner: string): number {
    return this.#inside.get(owner) ?? 0;
  }

  #take(owner: string): Disposable {
    this.#taken++;
    this.#inside.set(owner, this.#count(owner) + 1);
    let inside = true;
    return {
      [Symbol.dispose]: () => {
        if (inside) this.#giveBack(owner);
        inside = false;
      },
    };
  }

  #giveBack(owner: string): void {
    this.#taken--;
    const left = this.#count(owner) - 1;
    if (left > 0) this.#inside.set(owner, left);
    else this.#inside.delete(owner);
    const [next] = [...this.#line].filter((waiting) => this.#admits(waiting.owner))
      .sort((one, other) => this.#count(one.owner) - this.#count(other.owner));
    if (next === undefined) return;
    this.#line.delete(next);
    next.enter(this.#take(next.owner));
  }

  /** Has the last of whoever waits most often leave a full line, unless that is the one who comes. */
  #makeRoom(owner: string): void {
    const { places, queue } = this.#options;
    if (this.#line.size < queue) return;
    const full = new ServerError("busy", `All ${places} sessions are in use and ${queue} requests wait`, {
      retryAfter: 1,
    });
    const owners = Map.groupBy(this.#line, (waiting) => waiting.owner);
    const [most = []] = [...owners.values()].sort((one, other) => other.length - one.length);
    if (most.length <= (owners.get(owner)?.length ?? 0) + 1) throw full;
    const last = most.at(-1);
    if (last !== undefined) this.#line.delete(last);
    last?.leave(full);
  }
}

/** A signal that is aborted when the time is over or another one is. */
class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(waitMs: number, signal: AbortSignal) {
    const over = new AbortController();
    this.#timer = setTimeout(() => over.abort(tooLong(waitMs)), waitMs);
    this.signal = AbortSignal.any([over.signal, signal]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

function tooLong(waitMs: number): ServerError {
  return new ServerError("timeout", `No session was free within ${waitMs} ms`, { retryAfter: 1 });
}
