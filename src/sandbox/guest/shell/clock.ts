import type { BashOptions } from "just-bash";
import { defineGlobals, savedGlobals } from "../realm.ts";

/** The timers are checked once in this many polls. */
const POLLS_PER_TIMER_CHECK = 64;

/** The command is aborted at this interrupt if the earlier ones did not end it. */
const MAX_INTERRUPTS = 4;

interface Timer {
  readonly at: number;
  readonly work: () => void;
  readonly everyMs?: number;
}

/**
 * Timers and interrupts for the shell. The worker's event loop does not run while a command computes, so that no
 * timer would fire and no message arrive. Instead, each read of `signal.aborted` runs due timers and checks for an
 * interrupt.
 */
class ShellClock {
  readonly #timers = new Map<number, Timer>();
  #lastTimer = 0;
  #polls = 0;
  #pendingLoads = 0;
  #interrupts = 0;
  #interrupt: Uint8Array = new Uint8Array(1);
  #onInterrupt: () => void = () => {};
  #offerInterrupt: () => boolean = () => false;
  /** Called at each step of the shell, if the session has a virtual clock. */
  #onStep: (() => void) | undefined;
  #lastDigest: Promise<unknown> = Promise.resolve();
  #command = new ShellAbortController();
  #isWaiting = false;
  #onIdle: (() => void) | undefined;
  /** Called in turn when nothing but timers is left to run. */
  #blocked: (() => void)[] = [];

  /**
   * Sets the byte that interrupts. `offerInterrupt` is called before the clock handles an interrupt, and returns true
   * if Python will. `onStep` is called at each step of a command.
   */
  attach(interrupt: Uint8Array, offerInterrupt: () => boolean, onStep: (() => void) | undefined): void {
    this.#interrupt = interrupt;
    this.#offerInterrupt = offerInterrupt;
    this.#onStep = onStep;
  }

  /**
   * Starts a command and returns its signal. The first interrupt calls `onInterrupt` and fires every timer. If the
   * command still runs after more interrupts, the signal is aborted, and the command's output is lost.
   */
  startCommand(onInterrupt: () => void): ShellSignal {
    this.#interrupts = 0;
    this.#onInterrupt = onInterrupt;
    this.#command = new ShellAbortController();
    return this.#command.signal;
  }

  /** True if the command has been interrupted. */
  get interrupted(): boolean {
    return this.#interrupts > 0;
  }

  /** Ends the running command at once. */
  abort(): void {
    this.#interrupts++;
    this.#command.abort();
  }

  /** Handles an interrupt and, in some of the calls, runs due timers. */
  poll(): void {
    this.#onStep?.();
    if (this.#interrupt[0] !== 0) this.#handleInterrupt();
    if (this.#timers.size > 0 && ++this.#polls % POLLS_PER_TIMER_CHECK === 0) this.#runDueTimers();
  }

  /**
   * Waits for `work`. When nothing but timers is left to run, the call blocks with `pause` until the next timer is
   * due.
   *
   * @throws {Error} if no timer is left that could end it.
   */
  async waitFor<T>(work: Promise<T>, pause: (ms: number) => void): Promise<T> {
    if (this.#isWaiting) return await work; // the other wait handles the timers
    this.#isWaiting = true;
    let isDone = false;
    const ended = work.finally(() => isDone = true).catch(() => {}); // the error is thrown below
    try {
      while (!isDone) {
        await this.#untilIdle(ended);
        if (isDone || this.#pendingLoads > 0) continue;
        const unblock = this.#blocked.shift();
        if (unblock) unblock();
        else if (this.#onIdle) this.#onIdle();
        else this.#waitForTimer(pause);
      }
      return await work;
    } finally {
      this.#isWaiting = false;
    }
  }

  /** Waits like {@linkcode ShellClock.waitFor}, and calls `onIdle` when nothing but timers is left to run. */
  async waitUntilIdle(work: Promise<void>, onIdle: () => void): Promise<void> {
    this.#onIdle = onIdle;
    this.#runDueTimers();
    try {
      await this.waitFor(work, () => {});
    } finally {
      this.#onIdle = undefined;
    }
  }

  /** Waits until `work` is done, or nothing but timers is left to run. The caller runs inside {@linkcode waitFor}. */
  async waitUntilBlocked(work: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#blocked.push(resolve);
    await Promise.race([work, promise]);
    this.#blocked = this.#blocked.filter((other) => other !== resolve);
  }

  /** Fires all timers until `work` is done or nothing is left that could end it. */
  async drain(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const ended = work.then(() => isDone = true);
    while (!isDone) {
      const due = [...this.#timers.values()];
      this.#timers.clear();
      due.forEach((timer) => timer.work());
      await this.#untilIdle(ended);
      if (this.#timers.size === 0 && this.#pendingLoads === 0) return;
    }
  }

  /** Waits until `ended`, or until this thread has nothing to run. */
  async #untilIdle(ended: Promise<unknown>): Promise<void> {
    const { promise: idle, resolve } = Promise.withResolvers<void>();
    const cancel = savedGlobals.whenIdle(resolve);
    await Promise.race([ended, idle]);
    cancel();
  }

  /** Removes all timers. */
  clearTimers(): void {
    this.#timers.clear();
  }

  /** Adds a timer and returns its number. Throws for source text, which would have to be compiled. */
  startTimer(work: () => void, ms = 0, repeat = false): number {
    if (typeof work !== "function") {
      throw new TypeError("Cannot start timer as its callback must be a function");
    }
    const everyMs = Math.max(0, Number(ms) || 0);
    this.#timers.set(++this.#lastTimer, {
      at: performance.now() + everyMs,
      work,
      ...(repeat && { everyMs }),
    });
    return this.#lastTimer;
  }

  /** Removes a timer. */
  stopTimer(timer: number): void {
    this.#timers.delete(timer);
  }

  /** Computes a hash, on another thread. Hashes of several jobs are ready in the order of the requests. */
  async digest(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
    const before = this.#lastDigest;
    const digest = this.load(() => before.then(() => savedGlobals.digest(name, bytes)));
    this.#lastDigest = digest.catch(() => {}); // the caller gets the error
    return await digest;
  }

  /** Waits for something that ends without a timer, such as the import of a module. */
  async load<T>(work: () => Promise<T>): Promise<T> {
    this.#pendingLoads++;
    try {
      return await work();
    } finally {
      this.#pendingLoads--;
    }
  }

  #waitForTimer(pause: (ms: number) => void): void {
    const next = Math.min(...[...this.#timers.values()].map(({ at }) => at));
    if (next === Infinity) throw new Error("the command waits, but no timer is left that could end it");
    pause(next - performance.now());
    if (this.#interrupt[0] !== 0) this.#handleInterrupt();
    this.#runDueTimers();
  }

  /** Handles an interrupt. The host repeats interrupts until the command has ended. */
  #handleInterrupt(): void {
    if (this.#offerInterrupt()) return;
    this.#interrupt[0] = 0;
    if (++this.#interrupts >= MAX_INTERRUPTS) this.#command.abort();
    if (this.#interrupts > 1) return;
    this.#onInterrupt();
    this.#runDueTimers(Infinity);
  }

  #runDueTimers(now = performance.now()): void {
    for (const [number, { at, work, everyMs }] of [...this.#timers]) {
      if (at > now) continue;
      if (everyMs === undefined) this.#timers.delete(number);
      else this.#timers.set(number, { at: at + everyMs, work, everyMs });
      work();
    }
  }
}

/** A replacement for `AbortSignal`. */
export class ShellSignal {
  reason: unknown;
  #aborted = false;
  readonly #listeners = new Set<() => void>();

  /** True if the signal was aborted before. */
  get isAborted(): boolean {
    return this.#aborted;
  }

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

  /** Aborts the signal. Called by its controller. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.reason = reason;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    listeners.forEach((listener) => listener());
  }
}

class ShellAbortController {
  readonly signal = new ShellSignal();

  abort(reason: unknown = new Error("aborted")): void {
    this.signal.abort(reason);
  }
}

/** The clock of this worker. Importing this file also defines the globals that use it. */
export const clock: ShellClock = new ShellClock();

defineGlobals({
  setTimeout: (work: () => void, ms?: number) => clock.startTimer(work, ms),
  setInterval: (work: () => void, ms?: number) => clock.startTimer(work, ms, true),
  clearTimeout: (timer: number) => clock.stopTimer(timer),
  clearInterval: (timer: number) => clock.stopTimer(timer),
  AbortController: ShellAbortController,
  AbortSignal: ShellSignal,
  DOMException: class extends Error {},
});
Object.defineProperty(globalThis.crypto, "subtle", {
  value: { digest: (name: string, bytes: Uint8Array<ArrayBuffer>) => clock.digest(name, bytes) },
});

const UNLIMITED = Number.MAX_SAFE_INTEGER;
const MIB = 1024 * 1024;

/** Limits that the engine supports. */
export type ShellLimits = NonNullable<BashOptions["executionLimits"]>;
/** Limits that stop the engine at its next step. As at any limit, it returns the output up to there. */
export const STOP_LIMITS: ShellLimits = { maxCommandCount: 0, maxLoopIterations: 0, maxWorkUnits: 0 };
/** Matches the engine's message about such a limit, which would mean nothing to a user. */
export const STOP_MESSAGE =
  /[^\n]*(?:executionLimits\.\w+|limit exceeded[^\n]*|exceeded max[^\n]*|aborted)\n$/;

/** Returns limits of commands that compute without a pause, which poll for an interrupt at each of their steps. */
export function createInterruptibleLimits(isStopped: () => boolean): ShellLimits {
  const limit = {
    valueOf(): number {
      clock.poll();
      return isStopped() ? 0 : UNLIMITED;
    },
  } as unknown as number;
  return { maxAwkIterations: limit, maxSedIterations: limit, maxJqIterations: limit };
}

/** Returns limits of a whole job, which stop its engine at the next step when its shell is stopped. */
export function createJobLimits(isStopped: () => boolean): ShellLimits {
  const limit = { valueOf: () => isStopped() ? 0 : UNLIMITED } as unknown as number;
  const steps = { maxCommandCount: limit, maxLoopIterations: limit, maxWorkUnits: limit };
  return { ...createInterruptibleLimits(isStopped), ...steps };
}

/** The interruptible limits of the session's shell. Set them after the engine has validated its limits. */
export const INTERRUPTIBLE_LIMITS: ShellLimits = createInterruptibleLimits(() => clock.interrupted);

/** Returns the engine's limits. They limit memory only, since the host limits the time. */
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
