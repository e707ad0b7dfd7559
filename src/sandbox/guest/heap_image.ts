import type { Pointer } from "./emscripten.ts";
import type { LinkImage } from "./python/linker.ts";

/** Description of a base image: the heap of a started interpreter, without its zero pages. */
export interface ImageLayout {
  /** The address of `runner.handle`. */
  readonly handle: Pointer;
  readonly heapBytes: number;
  /** Part of the C stack that Python uses, in bytes, which is also the maximum for a thread. */
  readonly cStackBytes: number;
  /** Address and length of each piece of the image's data. */
  readonly runs: readonly (readonly [number, number])[];
  /** Loaded native libraries. Absent if the profile has none. */
  readonly links?: LinkImage | undefined;
}

/** A base image to start interpreters from. */
export interface HeapImage extends ImageLayout {
  /** The pieces in sequence, in memory that all workers of a process share. */
  readonly memory: WebAssembly.Memory;
}

/** Size of a page, in bytes, as the operating system commits memory. */
export const PAGE_BYTES = 4096;

/**
 * A Wasm module that copies an image's pieces to their addresses in a memory and, if the memory was used, zeros every
 * other page that is not zero. It compares 128 bytes at a time: a loop in JavaScript takes five times as long. It
 * copies from memory to memory, which is faster than `TypedArray.set`. A single call does it all, as a call from
 * JavaScript takes a new stack.
 *
 * ```wat
 * (module
 *   (import "python" "memory" (memory $python 1))
 *   (import "image" "memory" (memory $image 1 65536 shared))
 *   (import "runs" "count" (func $count (result i32)))
 *   (import "runs" "address" (func $address (param i32) (result i32)))
 *   (import "runs" "bytes" (func $bytes (param i32) (result i32)))
 *   (func $clear (param $page i32) (param $end i32)
 *     (local $at i32) (local $stop i32)
 *     (block $done
 *       (loop $pages
 *         (br_if $done (i32.ge_u (local.get $page) (local.get $end)))
 *         (local.set $at (local.get $page))
 *         (local.set $stop (i32.add (local.get $page) (i32.const 4096)))
 *         (block $is_zero
 *           (loop $words
 *             (if (v128.any_true
 *                  (v128.or
 *                   (v128.or
 *                     (v128.or (v128.load (local.get $at)) (v128.load offset=16 (local.get $at)))
 *                     (v128.or (v128.load offset=32 (local.get $at)) (v128.load offset=48 (local.get $at))))
 *                   (v128.or
 *                     (v128.or (v128.load offset=64 (local.get $at)) (v128.load offset=80 (local.get $at)))
 *                     (v128.or (v128.load offset=96 (local.get $at)) (v128.load offset=112 (local.get $at))))))
 *               (then
 *                 (memory.fill $python (local.get $page) (i32.const 0) (i32.const 4096))
 *                 (br $is_zero)))
 *             (br_if $words (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 128))) (local.get $stop)))))
 *         (local.set $page (local.get $stop))
 *         (br $pages))))
 *   (func (export "write") (param $used i32)
 *     (local $run i32) (local $from i32) (local $start i32) (local $bytes i32) (local $end i32)
 *     (block $done
 *       (loop $runs
 *         (br_if $done (i32.ge_u (local.get $run) (call $count)))
 *         (local.set $start (call $address (local.get $run)))
 *         (local.set $bytes (call $bytes (local.get $run)))
 *         (if (local.get $used) (then (call $clear (local.get $end) (local.get $start))))
 *         (memory.copy $python $image (local.get $start) (local.get $from) (local.get $bytes))
 *         (local.set $from (i32.add (local.get $from) (local.get $bytes)))
 *         (local.set $end (i32.add (local.get $start) (local.get $bytes)))
 *         (local.set $run (i32.add (local.get $run) (i32.const 1)))
 *         (br $runs)))
 *     (if (local.get $used)
 *       (then (call $clear (local.get $end) (i32.mul (memory.size $python) (i32.const 65536)))))))
 * ```
 */
const MODULE =
  "AGFzbQEAAAABEwRgAAF/YAF/AX9gAn9/AGABfwACTgUGcHl0aG9uBm1lbW9yeQIAAQVpbWFnZQZtZW1vcnkCAwGAgAQEcnVucwVjb3VudAAA" +
  "BHJ1bnMHYWRkcmVzcwABBHJ1bnMFYnl0ZXMAAQMDAgIDBwkBBXdyaXRlAAQK4gEChQEBAn8CQANAIAAgAU8NASAAIQIgAEGAIGohAwJAA0Ag" +
  "Av0ABAAgAv0ABBD9UCAC/QAEICAC/QAEMP1Q/VAgAv0ABEAgAv0ABFD9UCAC/QAEYCAC/QAEcP1Q/VD9UP1TBEAgAEEAQYAg/AsADAILIAJB" +
  "gAFqIgIgA0kNAAsLIAMhAAwACwsLWQEFfwJAA0AgARAATw0BIAEQASEDIAEQAiEEIAAEQCAFIAMQAwsgAyACIAT8CgABIAIgBGohAiADIARq" +
  "IQUgAUEBaiEBDAALCyAABEAgBT8AQYCABGwQAwsL";

/**
 * Returns a function that writes an image to a memory. `used` is true if the memory may hold other data, which it then
 * zeros. It does not write to pages that are zero: a page that was never written takes no memory.
 */
export function createImageWriter(
  memory: WebAssembly.Memory,
  image: Pick<HeapImage, "runs" | "memory">,
): (options: { used: boolean }) => void {
  const module = new WebAssembly.Module(Uint8Array.fromBase64(MODULE));
  const runAt = (index: number) => image.runs[index] ?? [0, 0];
  const { exports } = new WebAssembly.Instance(module, {
    python: { memory },
    image: { memory: image.memory },
    runs: {
      count: () => image.runs.length,
      address: (index: number) => runAt(index)[0],
      bytes: (index: number) => runAt(index)[1],
    },
  });
  const write = exports.write as (used: number) => void;
  return ({ used }) => write(Number(used));
}
