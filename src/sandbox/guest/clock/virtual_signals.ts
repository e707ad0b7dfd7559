import { SignalSource, type SignalSourceParts, SLICE_SIGNAL } from "../python/signals.ts";
import { PACE, type VirtualClock } from "./virtual_clock.ts";

/** The counter that Python's loop sets to this value before it looks for signals. */
const LOOP_INTERVAL = 50;
/** Multiplier of a hash by Knuth. */
const HASH = 2_654_435_761;

/**
 * The signals of a session with a virtual clock. Python's looks for signals are what advances the clock, so that time
 * slices end after so many of them, whatever the load of the machine is.
 */
export class VirtualSignals extends SignalSource {
  readonly #clock: VirtualClock;
  readonly #exports: SignalSourceParts["exports"];
  #words: Int32Array = new Int32Array(0);
  /** Index of the counter of Python's loop; -1 until it is needed. */
  #counterAt = -1;

  constructor(parts: SignalSourceParts, clock: VirtualClock) {
    super(parts);
    this.#clock = clock;
    this.#exports = parts.exports;
  }

  override next(): number {
    this.#clock.pass(this.#isOfLoop() ? PACE.tick : PACE.shortTick);
    const signal = super.next();
    if (signal === SLICE_SIGNAL) this.#shiftLooks();
    return signal;
  }

  /**
   * Lets Python's next look come after another number of steps. The end of a slice in code of the scheduler has no effect,
   * and without a change all slices of a loop whose length divides the interval could end there.
   */
  #shiftLooks(): void {
    const steps = Math.imul(this.#clock.ns / PACE.shortTick, HASH) >>> 16;
    if (this.#isOfLoop()) this.#words[this.#counterAt] = 1 + steps % LOOP_INTERVAL;
  }

  #isOfLoop(): boolean {
    if (this.#words.length === 0) {
      const { memory, _Py_emscripten_signal_clock: counter } = this.#exports();
      this.#words = new Int32Array(memory.buffer); // empty once the memory has grown
      this.#counterAt = Number(counter.value) >>> 2;
    }
    return this.#words[this.#counterAt] === LOOP_INTERVAL;
  }
}
