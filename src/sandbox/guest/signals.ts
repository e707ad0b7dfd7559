import type { EmscriptenModule, PythonExports } from "./emscripten.ts";

/** Sent to Python as a signal when a thread has run for `SLICE_MS` and others exist. */
const SLICE_SIGNAL = 64;
const SLICE_MS = 5;
/** The clock is read at one of this many checks for signals. */
const CHECKS_PER_CLOCK = 8;

/** Offset of a thread state's `eval_breaker`, and its bit for signals. */
const EVAL_BREAKER_OFFSET = 12;
const SIGNALS_PENDING = 1 << 1;

/** What a {@linkcode SignalSource} needs. */
export interface SignalSourceParts {
  readonly module: EmscriptenModule;
  /** Bytes that the supervisor sets to interrupt the running code. */
  readonly interrupt: Uint8Array;
  readonly now: () => number;
  /** Returns the functions of the instance. */
  readonly exports: () => PythonExports;
}

/** The object that Emscripten reads signals from: the interrupt bytes, or with threads also the ends of time slices. */
export class SignalSource {
  readonly #module: EmscriptenModule;
  readonly #interrupt: Uint8Array;
  readonly #now: () => number;
  readonly #exports: () => PythonExports;
  readonly #slicing: Uint8Array;
  #checks = 0;
  #sliceEnd = Infinity;
  #isSlicing = false;

  constructor({ module, interrupt, now, exports }: SignalSourceParts) {
    this.#module = module;
    this.#interrupt = interrupt;
    this.#now = now;
    this.#exports = exports;
    this.#slicing = this.#createSlicing();
    module.Py_EmscriptenSignalBuffer = interrupt;
  }

  setSlicing(isSlicing: boolean): void {
    if (isSlicing === this.#isSlicing) return;
    this.#isSlicing = isSlicing;
    this.#module.Py_EmscriptenSignalBuffer = isSlicing ? this.#slicing : this.#interrupt;
  }

  startSlice(): void {
    this.#sliceEnd = this.#now() + SLICE_MS;
  }

  /** Makes the running thread look for signals. C Python does so for the main thread only. */
  #notifyThread(): void {
    const { memory, PyThreadState_Get } = this.#exports();
    const words = new Uint32Array(memory.buffer);
    const at = ((PyThreadState_Get() >>> 0) + EVAL_BREAKER_OFFSET) / 4;
    words[at] = (words[at] ?? 0) | SIGNALS_PENDING;
  }

  /** Creates an object that Emscripten reads as a byte and then sets to 0. */
  #createSlicing(): Uint8Array {
    const read = () => {
      const signal = this.#interrupt[0] as number;
      if (signal !== 0) {
        this.#interrupt[0] = 0;
        this.#notifyThread();
        return signal;
      }
      if (++this.#checks % CHECKS_PER_CLOCK !== 0 || this.#now() < this.#sliceEnd) return 0;
      this.startSlice();
      this.#notifyThread();
      return SLICE_SIGNAL;
    };
    return Object.defineProperty({}, 0, { get: read, set: () => {} }) as Uint8Array;
  }
}
