import type { Channel } from "../channel.ts";
import type { Pointer, PythonExports } from "../emscripten.ts";

/** Sent to Python as a signal when a thread has run for `SLICE_MS` and others exist. */
export const SLICE_SIGNAL = 64;
const SLICE_MS = 5;
const SIGALRM = 14;
/** Sent when a timer of `timers.py` is due. */
const TIMER_SIGNAL = 63;
/** Number of checks for signals of which a single check reads the clock. */
const CHECKS_PER_CLOCK = 16;

/** Offset of a thread state's `eval_breaker`, and its bit for signals. */
const EVAL_BREAKER_OFFSET = 12;
const SIGNALS_PENDING = 1 << 1;

/** Parts of a {@linkcode SignalSource}. */
export interface SignalSourceParts {
  /** Bytes that the supervisor sets to interrupt the running code. */
  readonly interrupt: Uint8Array;
  readonly now: () => number;
  readonly channel: Pick<Channel, "waitedMs" | "sendIfDue">;
  /** Returns the functions of the instance. */
  readonly exports: () => PythonExports;
}

/** The signals that Python receives: interrupts, alarms, timers and, with threads, the ends of time slices. */
export class SignalSource {
  readonly #interrupt: Uint8Array;
  readonly #now: () => number;
  readonly #channel: SignalSourceParts["channel"];
  readonly #exports: () => PythonExports;
  #checks = 0;
  #sliceEnd = Infinity;
  #alarmAt = Infinity;
  #alarmEveryMs = 0;
  #cpuAt = Infinity;
  #wallAt = Infinity;
  #cpuStart: number;
  #isSlicing = false;
  /** True if there is a clock to watch. */
  #isTimed = false;

  constructor({ interrupt, now, channel, exports }: SignalSourceParts) {
    this.#interrupt = interrupt;
    this.#now = now;
    this.#channel = channel;
    this.#cpuStart = now() - channel.waitedMs;
    this.#exports = exports;
  }

  /** Returns the number of the next signal; 0 if there is none. Python calls this all the time. */
  next(): number {
    const signal = this.#interrupt[0] as number;
    if (signal === 0) {
      if (++this.#checks % CHECKS_PER_CLOCK !== 0) return 0;
      this.#channel.sendIfDue();
      return this.#isTimed ? this.#dueSignal() : 0;
    }
    this.#interrupt[0] = 0;
    if (this.#isSlicing) this.#notifyThread();
    return signal;
  }

  setSlicing(isSlicing: boolean): void {
    this.#isSlicing = isSlicing;
    this.#watchClocks();
  }

  startSlice(): void {
    this.#sliceEnd = this.#now() + SLICE_MS;
  }

  /** Sends SIGALRM after `afterMs`, and then every `everyMs`. 0 stops it. */
  setAlarm(afterMs: number, everyMs: number): void {
    this.#alarmAt = afterMs > 0 ? this.#now() + afterMs : Infinity;
    this.#alarmEveryMs = everyMs;
    this.#watchClocks();
  }

  /** Sends the signal of timers after so much time of each clock. 0 stops it. */
  setTimers(cpuMs: number, wallMs: number): void {
    const now = this.#now();
    this.#cpuAt = cpuMs > 0 ? now - this.#channel.waitedMs + cpuMs : Infinity;
    this.#wallAt = wallMs > 0 ? now + wallMs : Infinity;
    this.#watchClocks();
  }

  /** Stops the alarm and the timers. When the next timer fires does not depend on earlier execs. */
  stopTimers(): void {
    this.#checks = 0;
    this.setAlarm(0, 0);
    this.setTimers(0, 0);
  }

  /** CPU time, in milliseconds. */
  get cpuMs(): number {
    return this.#now() - this.#channel.waitedMs - this.#cpuStart;
  }

  /** Begins to count CPU time from `usedMs`. */
  resetCpuTime(usedMs = 0): void {
    this.#cpuStart = this.#now() - this.#channel.waitedMs - usedMs;
  }

  /** Writes the CPU time in nanoseconds to an address. Returns 0 as C's `clock_gettime` does. */
  writeCpuTime(address: Pointer): number {
    new BigInt64Array(this.#exports().memory.buffer)[address >>> 3] = BigInt(Math.round(this.cpuMs * 1e6));
    return 0;
  }

  #watchClocks(): void {
    this.#isTimed = this.#isSlicing || Math.min(this.#alarmAt, this.#cpuAt, this.#wallAt) < Infinity;
  }

  #dueSignal(): number {
    const now = this.#now();
    let signal = 0;
    if (now >= this.#alarmAt) {
      this.setAlarm(this.#alarmEveryMs, this.#alarmEveryMs);
      signal = SIGALRM;
    } else if (now >= this.#wallAt || now - this.#channel.waitedMs >= this.#cpuAt) {
      this.setTimers(0, 0);
      signal = TIMER_SIGNAL;
    } else if (this.#isSlicing && now >= this.#sliceEnd) {
      this.startSlice();
      signal = SLICE_SIGNAL;
    }
    if (signal !== 0 && this.#isSlicing) this.#notifyThread();
    return signal;
  }

  /** Makes the running thread look for signals. C Python does so for the main thread only. */
  #notifyThread(): void {
    const { memory, PyThreadState_Get } = this.#exports();
    const words = new Uint32Array(memory.buffer);
    const at = ((PyThreadState_Get() >>> 0) + EVAL_BREAKER_OFFSET) / 4;
    words[at] = (words[at] ?? 0) | SIGNALS_PENDING;
  }
}
