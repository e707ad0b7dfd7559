import { MAX_TIMER_MS, requireTimeout } from "../../async/abort.ts";
import { Semaphore } from "../../async/semaphore.ts";
import { ArgumentRangeError } from "../../errors.ts";
import type { ToolRunnerOptions } from "../tool_runner.ts";

/** Limits of the tools that code calls. */
export interface CodeToolLimits extends Pick<ToolRunnerOptions, "timeoutMs" | "rateLimits"> {
  /**
   * Maximum number of calls of a block; further ones are refused. `hostToolCalls` of the profile bounds them as well.
   * @default 10_000
   */
  maxCalls?: number | undefined;
  /**
   * Maximum number of calls of a block that run at the same time; further ones wait.
   * @default 32
   */
  maxConcurrentCalls?: number | undefined;
  /**
   * Maximum size of a result as JSON, in bytes. A call with a larger result fails.
   * @default 4_194_304
   */
  maxResultBytes?: number | undefined;
  /**
   * Maximum time during which calls of a block run, in milliseconds. Time with several calls counts once.
   * @default 60_000
   */
  maxTotalMs?: number | undefined;
}

/** Names of the limits. */
export const CODE_TOOL_LIMITS: Readonly<Record<keyof CodeToolLimits, true>> = {
  timeoutMs: true,
  rateLimits: true,
  maxCalls: true,
  maxConcurrentCalls: true,
  maxResultBytes: true,
  maxTotalMs: true,
};

/** Limits with their defaults. */
export type CheckedLimits = Required<
  {
    readonly [Name in Exclude<keyof CodeToolLimits, "timeoutMs" | "rateLimits">]: number;
  }
>;

/**
 * Returns limits with their defaults.
 *
 * @throws {RangeError} when a limit is out of range.
 */
export function checkLimits(limits: CodeToolLimits): CheckedLimits {
  const {
    maxCalls = 10_000,
    maxConcurrentCalls = 32,
    maxResultBytes = 4 * 1024 * 1024,
    maxTotalMs = 60_000,
  } = limits;
  requireTimeout(maxTotalMs, "call tools from code");
  for (const [name, value] of Object.entries({ maxCalls, maxConcurrentCalls, maxResultBytes })) {
    if (value === Infinity || Number.isInteger(value) && value >= 1) continue;
    throw new ArgumentRangeError(
      `Cannot call tools from code as '${name}' must be a whole number >= 1: current value is ${value}`,
    );
  }
  return { maxCalls, maxConcurrentCalls, maxResultBytes, maxTotalMs };
}

/** Admits the calls of a block: bounds their number, how many run at the same time, and their total time. */
export class CallGate implements Disposable {
  readonly #limits: CheckedLimits;
  readonly #turns: Semaphore | undefined;
  readonly #end = new AbortController();
  #combined: { readonly of: AbortSignal; readonly signal: AbortSignal } | undefined;
  #calls = 0;
  #running = 0;
  /** Time in which calls have run, without the time of calls that run now. */
  #usedMs = 0;
  #startedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(limits: CheckedLimits) {
    const { maxConcurrentCalls } = limits;
    this.#limits = limits;
    this.#turns = maxConcurrentCalls === Infinity ? undefined : new Semaphore(maxConcurrentCalls);
  }

  /** Returns a signal that aborts with the block's signal, or when the calls have used up their total time. */
  signalWith(signal: AbortSignal): AbortSignal {
    // The calls of a block have the same signal, and a combined signal costs as much as a short call.
    if (this.#combined?.of !== signal) {
      this.#combined = { of: signal, signal: AbortSignal.any([signal, this.#end.signal]) };
    }
    return this.#combined.signal;
  }

  /** Counts a call. Returns the reason of a refusal. */
  count(): string | undefined {
    const { maxCalls, maxTotalMs } = this.#limits;
    if (++this.#calls > maxCalls) return `a block may make ${maxCalls} calls`;
    return this.#end.signal.aborted
      ? `the calls of a block may run for ${maxTotalMs} ms together`
      : undefined;
  }

  /** Waits for a turn. Disposing the turn ends the turn. Rejects if the signal aborts first. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    const turn = await this.#turns?.acquire(signal);
    if (this.#running++ === 0) this.#startedAt = performance.now();
    this.#timer ??= this.#startTimer();
    return {
      [Symbol.dispose]: () => {
        turn?.[Symbol.dispose]();
        if (--this.#running === 0) this.#usedMs += performance.now() - this.#startedAt;
      },
    };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  /**
   * Starts a timer for the rest of the time. The timer runs on between calls, and is set again if they left time unused.
   */
  #startTimer(): ReturnType<typeof setTimeout> | undefined {
    const leftMs = this.#limits.maxTotalMs - this.#elapsedMs();
    if (leftMs <= 0) return void this.#end.abort(new TotalTimeError(this.#limits.maxTotalMs));
    return setTimeout(() => {
      this.#timer = this.#running > 0 || this.#elapsedMs() >= this.#limits.maxTotalMs
        ? this.#startTimer()
        : undefined;
    }, Math.min(leftMs, MAX_TIMER_MS));
  }

  #elapsedMs(): number {
    return this.#usedMs + (this.#running > 0 ? performance.now() - this.#startedAt : 0);
  }
}

/** The calls of a block have run for the whole time that they may. */
export class TotalTimeError extends Error {
  override readonly name = "TotalTimeError";

  constructor(totalMs: number) {
    super(`the calls of a block may run for ${totalMs} ms together`);
  }
}
