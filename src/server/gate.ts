import { Slots } from "../policy/slots.ts";
import { ServerError } from "./server_error.ts";

/** How many may be inside, and how many may wait. */
export interface GateOptions {
  /** At once inside. */
  places: number;
  /** At once in line; who comes later is turned away. */
  queue: number;
  /** Milliseconds that one may stand in line. */
  waitMs: number;
}

/** Bounds what goes on at once: a place, a place in line, or a refusal; never an endless wait. */
export class Gate {
  readonly #slots: Slots;
  readonly #options: GateOptions;
  #waiting = 0;
  #inside = 0;

  /** @throws {RangeError} when there is not at least one place. */
  constructor(options: GateOptions) {
    this.#slots = new Slots(options.places);
    this.#options = options;
  }

  /** How many stand in line. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Runs `enter` with a place, which is free again when the returned one is disposed.
   *
   * @throws {ServerError} `busy` when the line is full, `timeout` when the wait, `enter` included, is too long.
   */
  async pass<T>(
    enter: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<{ entered: T; place: Disposable }> {
    const { places, queue, waitMs } = this.#options;
    if (this.#inside >= places && this.#waiting >= queue) {
      throw new ServerError("busy", `All ${places} sessions are in use and ${queue} requests wait`, {
        retryAfter: 1,
      });
    }
    using wait = new Deadline(waitMs, signal);
    const place = await this.#place(wait.signal);
    try {
      return { entered: await enter(wait.signal), place };
    } catch (error) {
      place[Symbol.dispose]();
      throw error;
    }
  }

  async #place(signal: AbortSignal): Promise<Disposable> {
    this.#waiting++;
    try {
      const slot = await this.#slots.take(signal);
      this.#inside++;
      let inside = true;
      return {
        [Symbol.dispose]: () => {
          if (!inside) return;
          inside = false;
          this.#inside--;
          slot[Symbol.dispose]();
        },
      };
    } finally {
      this.#waiting--;
    }
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
