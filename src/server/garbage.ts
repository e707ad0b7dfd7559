import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const MIB = 1024 * 1024;
/** Growth of the heap and its buffers after which their garbage is collected, in bytes. */
const GROWTH_BYTES = 48 * MIB;
/** Milliseconds between two checks. A collection takes some 30 ms. */
const CHECK_MS = 500;

/**
 * Collects the garbage of large requests soon. V8 alone keeps some 500 MiB of it, for as long as little is allocated
 * afterwards. Memory that grows slowly is left to V8.
 */
export class GarbageCollector implements Disposable {
  readonly #collect: () => void = exposedCollector();
  readonly #timer: ReturnType<typeof setInterval>;
  #leastBytes = heapBytes();

  constructor() {
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /** Leaves collections to V8. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const bytes = heapBytes();
    this.#leastBytes = Math.min(this.#leastBytes, bytes);
    if (bytes - this.#leastBytes < GROWTH_BYTES) return;
    this.#collect();
    this.#leastBytes = heapBytes();
  }
}

function heapBytes(): number {
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Returns V8's function that collects all garbage, which exists in contexts that are made with a flag. */
export function exposedCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  return collect;
}
