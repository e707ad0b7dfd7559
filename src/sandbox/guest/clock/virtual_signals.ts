import { SignalSource, type SignalSourceParts } from "../python/signals.ts";
import { PACE, type VirtualClock } from "./virtual_clock.ts";

/** The counter that Python's loop sets to this value before it looks for signals. */
const LOOP_INTERVAL = 50;

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
    return super.next();
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
