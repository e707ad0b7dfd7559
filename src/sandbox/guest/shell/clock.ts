import type { BashOptions } from "just-bash";
import { defineGlobals, savedGlobals } from "../realm.ts";

/** How many looks at a signal go by between two looks at the clock. */
const POLLS_PER_LOOK = 64;

/** How many interrupts a command may let pass before it is cut off. */
const LAST_INTERRUPT = 4;

interface Timer {
  readonly at: number;
  readonly work: () => void;
  readonly everyMs?: number;
}

/**
 * Time for the shell. Its worker never comes to rest while a command runs, so that no timer would fire and no
 * message arrive: whoever asks a signal whether it is aborted lets timers run and hears the interrupt.
 */
class ShellClock {
  readonly #timers = new Map<number, Timer>();
  #lastTimer = 0;
  #polls = 0;
  #hashing = 0;
  #interrupts = 0;
  #interrupt: Uint8Array = new Uint8Array(1);
  #onInterrupt: () => void = () => {};
  #command = new ShellAbort();

  /**
   * Gives the signal of the command that runs from now on. At the first interrupt `onInterrupt` is called and
   * every timer ends; when that does not help, the signal is aborted, by which the command's output is lost.
   */
  begin(interrupt: Uint8Array, onInterrupt: () => void): ShellSignal {
    this.#timers.clear();
    this.#interrupts = 0;
    this.#interrupt = interrupt;
    this.#onInterrupt = onInterrupt;
    this.#command = new ShellAbort();
    return this.#command.signal;
  }

  /** Whether the command has been interrupted. */
  get interrupted(): boolean {
    return this.#interrupts > 0;
  }

  /** Ends the running command at once. */
  abort(): void {
    this.#interrupts++;
    this.#command.abort();
  }

  /** Hears the interrupt and, now and then, runs the timers that are due. */
  poll(): void {
    if (this.#interrupt[0] !== 0) this.#hear();
    if (this.#timers.size > 0 && ++this.#polls % POLLS_PER_LOOK === 0) this.#runDue();
  }

  /**
   * Waits for `work`, which goes on by itself but for timers: when nothing else is left to do, blocks by
   * `pause` until the next one is due.
   *
   * @throws {Error} when nothing is left that could end it.
   */
  async settle<T>(work: Promise<T>, pause: (ms: number) => void): Promise<T> {
    let over = false;
    const ended = work.finally(() => over = true).catch(() => {}); // the caller hears of it below
    while (!over) {
      const { promise: idle, resolve } = Promise.withResolvers<void>();
      const cancel = savedGlobals.whenIdle(resolve);
      await Promise.race([ended, idle]);
      cancel();
      if (!over && this.#hashing === 0) this.#passTime(pause);
    }
    return await work;
  }

  /** Adds a timer and gives its number. Throws for a text, which would have to be compiled. */
  start(work: () => void, ms = 0, repeat = false): number {
    if (typeof work !== "function") throw new TypeError("a timer must be given a function");
    const everyMs = Math.max(0, Number(ms) || 0);
    this.#timers.set(++this.#lastTimer, {
      at: savedGlobals.now() + everyMs,
      work,
      ...(repeat && { everyMs }),
    });
    return this.#lastTimer;
  }

  /** Forgets a timer. */
  stop(timer: number): void {
    this.#timers.delete(timer);
  }

  /** A hash, which another thread takes. */
  async digest(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
    this.#hashing++;
    try {
      return await savedGlobals.digest(name, bytes);
    } finally {
      this.#hashing--;
    }
  }

  #passTime(pause: (ms: number) => void): void {
    const next = Math.min(...[...this.#timers.values()].map(({ at }) => at));
    if (next === Infinity) throw new Error("the shell waits for nothing");
    pause(next - savedGlobals.now());
    if (this.#interrupt[0] !== 0) this.#hear();
    this.#runDue();
  }

  /** The host repeats an interrupt until it is answered. */
  #hear(): void {
    this.#interrupt[0] = 0;
    if (++this.#interrupts >= LAST_INTERRUPT) this.#command.abort();
    if (this.#interrupts > 1) return;
    this.#onInterrupt();
    this.#runDue(Infinity);
  }

  #runDue(now = savedGlobals.now()): void {
    for (const [number, { at, work, everyMs }] of [...this.#timers]) {
      if (at > now) continue;
      if (everyMs === undefined) this.#timers.delete(number);
      else this.#timers.set(number, { at: at + everyMs, work, everyMs });
      work();
    }
  }
}

/** What the shell takes for an `AbortSignal`. */
export class ShellSignal {
  reason: unknown;
  #aborted = false;
  readonly #listeners = new Set<() => void>();

  get aborted(): boolean {
    if (!this.#aborted) clock.poll();
    return this.#aborted;
  }

  addEventListener(_type: string, listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: string, listener: () => void): void {
    this.#listeners.delete(listener);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** Called by its controller. */
  raise(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.reason = reason;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    listeners.forEach((listener) => listener());
  }
}

class ShellAbort {
  readonly signal = new ShellSignal();

  abort(reason: unknown = new Error("aborted")): void {
    this.signal.raise(reason);
  }
}

/** The clock of this worker. Importing this file defines the globals that stand on it. */
export const clock: ShellClock = new ShellClock();

defineGlobals({
  setTimeout: (work: () => void, ms?: number) => clock.start(work, ms),
  setInterval: (work: () => void, ms?: number) => clock.start(work, ms, true),
  clearTimeout: (timer: number) => clock.stop(timer),
  clearInterval: (timer: number) => clock.stop(timer),
  AbortController: ShellAbort,
  AbortSignal: ShellSignal,
  DOMException: class extends Error {},
});
Object.defineProperty(globalThis.crypto, "subtle", {
  value: { digest: (name: string, bytes: Uint8Array<ArrayBuffer>) => clock.digest(name, bytes) },
});

const UNLIMITED = Number.MAX_SAFE_INTEGER;
const MIB = 1024 * 1024;

/** The bounds that the engine knows. */
export type ShellLimits = NonNullable<BashOptions["executionLimits"]>;
/** With these the engine stops at its next step and, as it does at a limit, gives what was printed before. */
export const STOP_LIMITS: ShellLimits = { maxCommandCount: 0, maxLoopIterations: 0, maxWorkUnits: 0 };
/** What it then says, in words that mean nothing to a user. */
export const STOP_MESSAGE =
  /[^\n]*(?:executionLimits\.\w+|limit exceeded[^\n]*|exceeded max[^\n]*|aborted)\n$/;

/** A limit for commands that compute without a pause, and compare with it at each step: it hears the interrupt. */
const UNTIL_INTERRUPT = {
  valueOf(): number {
    clock.poll();
    return clock.interrupted ? 0 : UNLIMITED;
  },
} as unknown as number;

/** The limits of such commands, for an engine that has checked its own already. */
export const INTERRUPTIBLE_LIMITS: ShellLimits = {
  maxAwkIterations: UNTIL_INTERRUPT,
  maxSedIterations: UNTIL_INTERRUPT,
  maxJqIterations: UNTIL_INTERRUPT,
};

/** Bounds on memory; time is bounded from outside. */
export function shellLimits(outputBytes: number): ShellLimits {
  return {
    maxCommandCount: UNLIMITED,
    maxLoopIterations: UNLIMITED,
    maxWorkUnits: UNLIMITED,
    maxGlobOperations: UNLIMITED,
    maxTraversalWork: UNLIMITED,
    maxExecutionTimeMs: Infinity,
    maxStringLength: 32 * MIB,
    maxLiveBytes: 128 * MIB,
    maxOutputSize: Math.max(32 * MIB, 2 * outputBytes),
  };
}
