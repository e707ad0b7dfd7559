import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const MIB = 1024 * 1024;
/** Growth of the memory after which its garbage is collected, in bytes. */
const GROWTH_BYTES = 48 * MIB;
/** The same where collections freed little, as the growth is in use. */
const MAX_GROWTH_BYTES = 192 * MIB;
/**
 * Checks after which there is another collection, if the last one freed little: what was in use may be garbage by
 * then.
 */
const PATIENT_CHECKS = 6;
/** Milliseconds between two checks. A collection takes some 30 ms, and longer while programs use all processors. */
const CHECK_MS = 500;

/** Memory that a {@linkcode GarbageCollector} watches, and disposes. */
export interface CollectedHeap extends Partial<Disposable> {
  /** Returns the bytes of the heap and of all buffers, with their garbage. */
  readonly bytes: () => number;
  /** Collects all garbage. */
  readonly collect: () => void;
}

/** Memory of this process. */
export class ProcessHeap implements CollectedHeap, Disposable {
  readonly bytes: () => number = usedBytes;
  readonly #collect = exposedCollector();
  readonly #libc = openLibc();

  /**
   * Collects the garbage of this thread, and returns free memory to the system. The C library keeps the memory of
   * buffers that are freed, some hundred MiB after large responses, and returns the free part of it on request only.
   */
  readonly collect = (): void => {
    this.#collect();
    this.#libc?.symbols.malloc_trim(0n);
  };

  /** Closes the C library. */
  [Symbol.dispose](): void {
    this.#libc?.close();
  }
}

const LIBC_SYMBOLS = { malloc_trim: { parameters: ["usize"], result: "i32" } } as const;

/** Opens glibc. Returns `undefined` on a system with another C library, or without the permission. */
function openLibc(): Deno.DynamicLibrary<typeof LIBC_SYMBOLS> | undefined {
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return undefined; // Deno would ask the user
  try {
    return Deno.dlopen("libc.so.6", LIBC_SYMBOLS);
  } catch {
    return undefined; // what is free stays with the process, which is the only loss
  }
}

/**
 * Collects the garbage of large requests soon. V8 alone keeps some 500 MiB of it, for as long as little is allocated
 * afterwards. Memory that grows slowly is left to V8. A collection holds up every request: after one that freed less
 * than half of the growth, such as beside states of sessions that are captured or restored, the next one waits for
 * twice the growth, and for half of that again after some time.
 */
export class GarbageCollector implements Disposable {
  readonly #heap: CollectedHeap;
  readonly #timer: ReturnType<typeof setInterval>;
  #leastBytes: number;
  #growthBytes = GROWTH_BYTES;
  /** Checks since the last collection. */
  #checks = 0;
  #keptBytes = () => 0;

  constructor(heap: CollectedHeap = new ProcessHeap()) {
    this.#heap = heap;
    this.#leastBytes = heap.bytes();
    this.#timer = setInterval(() => this.check(), CHECK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /**
   * Sets the function that returns the bytes which are kept for long, such as the bytes of checkpoints. A collection
   * frees none of them while they are kept. When they are dropped, the memory counts as grown, and is collected at
   * once.
   */
  leaveOut(keptBytes: () => number): void {
    this.#keptBytes = keptBytes;
    this.#leastBytes = this.#bytes();
  }

  /** Leaves collections to V8. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#heap[Symbol.dispose]?.();
  }

  /** Collects the garbage if the memory has grown enough. A timer calls this method. */
  check(): void {
    const bytes = this.#bytes();
    this.#leastBytes = Math.min(this.#leastBytes, bytes);
    const grownBytes = bytes - this.#leastBytes;
    if (grownBytes < this.#growthBytes) return this.#wait();
    this.#collect();
    const isInUse = bytes - this.#leastBytes < grownBytes / 2;
    this.#growthBytes = isInUse ? Math.min(2 * this.#growthBytes, MAX_GROWTH_BYTES) : GROWTH_BYTES;
  }

  /** Collects once more some checks after a collection that freed little. */
  #wait(): void {
    if (this.#growthBytes === GROWTH_BYTES || ++this.#checks < PATIENT_CHECKS) return;
    this.#growthBytes = Math.max(GROWTH_BYTES, this.#growthBytes / 2);
    this.#collect();
  }

  #collect(): void {
    this.#checks = 0;
    this.#heap.collect();
    this.#leastBytes = this.#bytes();
  }

  #bytes(): number {
    return this.#heap.bytes() - this.#keptBytes();
  }
}

/** Returns the memory of the process without the free part of the heap. Shared buffers are in no other figure. */
export function usedBytes(): number {
  const { rss, heapUsed, heapTotal } = Deno.memoryUsage();
  return rss - heapTotal + heapUsed;
}

/** Returns V8's function that collects all garbage, which exists in contexts that are made with a flag. */
export function exposedCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  return collect;
}
