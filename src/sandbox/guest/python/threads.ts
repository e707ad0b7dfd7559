import type { Pointer, PythonExports } from "../emscripten.ts";
import { MAX_THREADS } from "./max_threads.ts";
import { VirtualSignals } from "../clock/virtual_signals.ts";
import type { VirtualClock } from "../clock/virtual_clock.ts";
import { SignalSource, type SignalSourceParts } from "./signals.ts";

/**
 * A descriptor with this bit is a request about the thread in its lower bits. `os.fdatasync` leaves the stack for that
 * thread. `os.fsync`, which is no suspending import, returns without an error if that is possible.
 */
const REQUEST = 1 << 30;
const NUMBER_MASK = (1 << 20) - 1;
const STACK_SHIFT = 20;
const STACK_MASK = 63;
/** Bits of other requests by `os.fsync`: to allocate the C stack of a thread that is to start, and to end a thread. */
const RESERVE = 1 << 26;
const END = 1 << 27;
/** Bit of the request to let commands of the shell run. */
const COMMANDS = 1 << 28;
const MAIN_THREAD = 0;

const SMALL_STACK_BYTES = 128 * 1024;
const STACK_UNIT_BYTES = 512 * 1024;
/** C stacks start at addresses that are multiples of this. */
const ALIGNMENT = 16;

const [EAGAIN, EBUSY, EINVAL] = [6, 10, 28];

/** JavaScript that calls C, and so Python, from which no thread can leave its stack. */
const REENTRANT_IMPORTS = ["ffi_call_js", "__call_sighandler", "_PyEM_TrampolineCall_JS", "_dlopen_js"];

/** The CPU time of the process and of the thread, by the numbers of C's clocks. */
const CPU_CLOCKS = [2, 3];

type ReadClock = (clock: number, precision: bigint, address: Pointer) => number;

/** A thread that has left its stack. */
interface ParkedThread {
  readonly stackPointer: number;
  readonly resume: () => void;
  readonly end: (reason: ThreadEnded) => void;
}

/** The C stack of a thread. */
interface CStack {
  readonly address: Pointer;
  readonly bytes: number;
}

/** A stack for a thread that has not started, and memory that is freed for its start. */
interface ReservedStack extends CStack {
  readonly spare: Pointer;
}

/**
 * A thread that starts takes less. Without this room, a thread that starts when a program has used up all memory ends
 * Python.
 */
const START_BYTES = 64 * 1024;

/** A C stack of a thread that has ended, which the next thread gets. */
export type FreeStack = CStack;

/** Thrown on the stack of a thread that is ended from outside. */
class ThreadEnded extends Error {}

/** Runs a Python thread on a new stack. Resolves with the thread to continue with, as Python encodes it. */
export type RunThread = (number: number, stack: CStack) => Promise<number>;

/**
 * The threads of an interpreter. Each has its own Wasm stack, C stack and thread state, and a single thread runs at a
 * time. Python decides which. All numbers come from the guest: a false number harms only the guest.
 */
export class PythonThreads {
  readonly #exports: () => PythonExports;
  readonly #maxStackBytes: number;
  readonly #parked = new Map<number, ParkedThread>();
  readonly #live = new Map<number, Promise<void>>();
  /** C stacks of threads that have started and not run. */
  readonly #reserved = new Map<number, ReservedStack>();
  readonly #freeStacks = new Map<number, CStack[]>();
  readonly #failed = Promise.withResolvers<never>();
  #runThread: RunThread | undefined;
  #current = MAIN_THREAD;
  #reentries = 0;
  #canSwitch = false;
  #signals: SignalSource | undefined;
  #waitForCommands: (() => Promise<void>) | undefined;

  /**
   * @param exports Returns the functions of the instance.
   * @param maxStackBytes Maximum size of a thread's C stack, which V8's stacks are large enough for.
   */
  constructor(exports: () => PythonExports, maxStackBytes: number) {
    this.#exports = exports;
    this.#maxStackBytes = maxStackBytes;
    this.#failed.promise.catch(() => {}); // it is raced with the main thread
  }

  /** True if a thread has started since the heap was the image's, beside the main thread. */
  get wereUsed(): boolean {
    return this.#live.size + this.#reserved.size + this.#freeStacks.size > 0;
  }

  /** Number of threads that have started and not ended, beside the main thread. */
  get liveCount(): number {
    return this.#live.size + this.#reserved.size;
  }

  /** C stacks in the heap that no thread uses. To set them is right only with the heap that they are in. */
  get freeStacks(): readonly FreeStack[] {
    return [...this.#freeStacks.values()].flat();
  }

  set freeStacks(stacks: readonly FreeStack[]) {
    this.#freeStacks.clear();
    for (const stack of stacks) this.#freeStack(stack);
  }

  /** Returns the imports with the import by which a thread leaves its stack. */
  wrapImports(imports: WebAssembly.Imports, Suspending: SuspendingConstructor): WebAssembly.Imports {
    const env = { ...imports.env };
    const wasi = { ...imports.wasi_snapshot_preview1 };
    const dataSync = env.__syscall_fdatasync as (fd: number) => number;
    const sync = wasi.fd_sync as (fd: number) => number;
    env.__syscall_fdatasync = new Suspending((fd) => isRequest(fd) ? this.#leave(fd) : dataSync(fd));
    wasi.fd_sync = (fd: number) => isRequest(fd) ? this.#handle(fd) : sync(fd);
    env._Py_CheckEmscriptenSignals_Helper = () => this.#signals?.next() ?? 0;
    const readClock = wasi.clock_time_get as ReadClock;
    wasi.clock_time_get = (clock: number, precision: bigint, address: Pointer) =>
      CPU_CLOCKS.includes(clock) && this.#signals
        ? this.#signals.writeCpuTime(address)
        : readClock(clock, precision, address);
    for (const name of REENTRANT_IMPORTS) {
      const call = env[name];
      if (typeof call === "function") env[name] = this.#countReentries(call as (...args: number[]) => number);
    }
    return { ...imports, env, wasi_snapshot_preview1: wasi };
  }

  /** Sets how a new thread runs. */
  onStart(runThread: RunThread): void {
    this.#runThread = runThread;
  }

  /** Sets how commands of the shell run while a thread has left its stack. */
  onWaitForCommands(wait: () => Promise<void>): void {
    this.#waitForCommands = wait;
  }

  /** Lets Python see interrupts, alarms, the end of each time slice while there are threads, and CPU time. */
  attachSignals(parts: Omit<SignalSourceParts, "exports">, clock: VirtualClock | undefined): SignalSource {
    const all = { ...parts, exports: this.#exports };
    return this.#signals = clock ? new VirtualSignals(all, clock) : new SignalSource(all);
  }

  /** Runs the main thread on its stack, which it may leave. Rejects if any thread fails. */
  async runMain<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#canSwitch; // programs of the shell run inside another call
    this.#canSwitch = true;
    try {
      return await Promise.race([work(), this.#failed.promise]);
    } finally {
      this.#canSwitch = before;
    }
  }

  /** Calls `work` on the main thread, which cannot leave this stack. */
  runUnswitched<T>(work: () => T): T {
    const before = this.#canSwitch;
    this.#canSwitch = false;
    try {
      return work();
    } finally {
      this.#canSwitch = before;
    }
  }

  /** Ends all threads and frees their Wasm stacks. Their code does not run again. The heap is then to be restored. */
  async endAll(): Promise<void> {
    for (const number of [...this.#parked.keys()]) this.#end(number);
    await Promise.all(this.#live.values());
    this.#reserved.clear();
    this.#freeStacks.clear();
    this.#current = MAIN_THREAD;
  }

  #countReentries<Args extends unknown[], T>(call: (...args: Args) => T): (...args: Args) => T {
    return (...args) => {
      this.#reentries++;
      try {
        return call(...args);
      } finally {
        this.#reentries--;
      }
    };
  }

  /** Handles a request that returns at once. Returns 0 or an error code. */
  #handle(word: number): number {
    const number = word & NUMBER_MASK;
    if (word & RESERVE) return this.#reserve(number, word);
    if (word & END) return this.#end(number);
    if (!this.#canSwitch || this.#reentries > 0) return EBUSY;
    if (word & COMMANDS) return this.#waitForCommands ? 0 : EINVAL;
    return this.#parked.has(number) || this.#reserved.has(number) ? 0 : EINVAL;
  }

  /** Leaves the running thread's stack for another thread. Returns 0 or a negative error code. */
  #leave(word: number): number | Promise<number> {
    const number = word & NUMBER_MASK;
    const errorCode = this.#handle(word & (NUMBER_MASK | COMMANDS));
    if (errorCode !== 0) return -errorCode;
    if (word & COMMANDS) return this.#leaveForCommands();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#parked.set(this.#current, {
      stackPointer: Number(this.#exports().__stack_pointer.value),
      resume: () => resolve(0),
      end: reject,
    });
    // A new stack is entered after this stack is left. A parked stack continues no earlier anyway.
    if (this.#parked.has(number)) this.#enter(number);
    else Promise.resolve().then(() => this.#enter(number));
    return promise;
  }

  /** Leaves the running thread's stack while commands of the shell run. */
  async #leaveForCommands(): Promise<number> {
    const { __stack_pointer: stackPointer } = this.#exports();
    const { value } = stackPointer;
    await this.#waitForCommands?.();
    stackPointer.value = value;
    this.#signals?.startSlice();
    return 0;
  }

  /** Continues a thread, or runs a new thread. */
  #enter(number: number): void {
    this.#current = number;
    this.#signals?.startSlice();
    const parked = this.#parked.get(number);
    const stack = this.#reserved.get(number);
    this.#reserved.delete(number);
    if (parked) {
      this.#parked.delete(number);
      this.#exports().__stack_pointer.value = parked.stackPointer;
      parked.resume();
    } else if (stack && this.#runThread) {
      this.#exports().free(stack.spare);
      this.#live.set(number, Promise.resolve()); // the thread runs now, until it leaves its stack
      this.#signals?.setSlicing(true);
      const run = this.#runThread(number, stack).then((word) => this.#afterThread(number, { stack, word }));
      this.#live.set(number, run.catch((error) => this.#afterFailure(number, error)));
    } else this.#failed.reject(new Error("the Python runner named a thread that does not exist"));
  }

  #afterThread(number: number, { stack, word }: { stack: CStack; word: number }): void {
    this.#forget(number);
    this.#freeStack(stack);
    this.#enter(word & NUMBER_MASK);
  }

  #afterFailure(number: number, error: unknown): void {
    this.#forget(number);
    if (!(error instanceof ThreadEnded)) this.#failed.reject(error);
  }

  #forget(number: number): void {
    this.#live.delete(number);
    if (this.#live.size === 0) this.#signals?.setSlicing(false);
  }

  #end(number: number): number {
    const parked = this.#parked.get(number);
    const stack = this.#reserved.get(number);
    if (stack) {
      this.#exports().free(stack.spare);
      this.#freeStack(stack);
    }
    this.#reserved.delete(number);
    if (number === MAIN_THREAD || !parked) return 0;
    this.#parked.delete(number);
    parked.end(new ThreadEnded("the thread was ended"));
    return 0;
  }

  /** Allocates the C stack of a new thread. Returns 0 or an error code. */
  #reserve(number: number, word: number): number {
    const isUsed = number === MAIN_THREAD || this.#live.has(number) || this.#reserved.has(number);
    if (isUsed || this.#live.size + this.#reserved.size >= MAX_THREADS) return EAGAIN;
    const stack = this.#takeStack(word);
    if (!stack) return EAGAIN;
    const spare = this.#exports().malloc(START_BYTES) >>> 0;
    if (spare === 0) {
      this.#freeStack(stack);
      return EAGAIN;
    }
    this.#reserved.set(number, { ...stack, spare });
    return 0;
  }

  #freeStack(stack: CStack): void {
    const free = this.#freeStacks.get(stack.bytes);
    if (free) free.push(stack);
    else this.#freeStacks.set(stack.bytes, [stack]);
  }

  /** Returns a C stack of the size that Python asks for; `undefined` if there is not enough memory. */
  #takeStack(word: number): CStack | undefined {
    const units = word >>> STACK_SHIFT & STACK_MASK;
    const bytes = Math.min(
      units === 0 ? SMALL_STACK_BYTES : units * STACK_UNIT_BYTES,
      this.#maxStackBytes,
    );
    const free = this.#freeStacks.get(bytes)?.pop();
    if (free) return free;
    const address = this.#exports().malloc(bytes + ALIGNMENT) >>> 0;
    if (address === 0) return undefined;
    return { address: Math.ceil(address / ALIGNMENT) * ALIGNMENT, bytes };
  }
}

function isRequest(fd: number): boolean {
  return fd > 0 && (fd & REQUEST) !== 0;
}

/** `WebAssembly.Suspending`, which TypeScript does not know. */
export type SuspendingConstructor = new (
  call: (argument: number) => number | Promise<number>,
) => WebAssembly.ImportValue;
