/** Size of a page, in bytes, as the operating system commits memory. */
export const PAGE_BYTES = 4096;

/** Addresses of the first page of a range and of the page after it. */
export type PageRange = readonly [start: number, end: number];

/**
 * A Wasm module that zeros those pages of a memory's ranges that are not zero. It compares 128 bytes at a time: a loop
 * in JavaScript takes five times as long. One call clears all ranges, as a call from JavaScript takes a new stack.
 *
 * ```wat
 * (module
 *   (import "python" "memory" (memory 1))
 *   (import "ranges" "count" (func $count (result i32)))
 *   (import "ranges" "start" (func $start (param i32) (result i32)))
 *   (import "ranges" "end" (func $end (param i32) (result i32)))
 *   (func $clear_range (param $page i32) (param $end i32)
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
 *                 (memory.fill (local.get $page) (i32.const 0) (i32.const 4096))
 *                 (br $is_zero)))
 *             (br_if $words (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 128))) (local.get $stop)))))
 *         (local.set $page (local.get $stop))
 *         (br $pages))))
 *   (func (export "clear")
 *     (local $range i32)
 *     (block $done
 *       (loop $ranges
 *         (br_if $done (i32.ge_u (local.get $range) (call $count)))
 *         (call $clear_range (call $start (local.get $range)) (call $end (local.get $range)))
 *         (local.set $range (i32.add (local.get $range) (i32.const 1)))
 *         (br $ranges)))))
 * ```
 */
const MODULE =
  "AGFzbQEAAAABEgRgAAF/YAF/AX9gAn9/AGAAAAI9BAZweXRob24GbWVtb3J5AgABBnJhbmdlcwVjb3VudAAABnJhbmdlcwVzdGFydAAB" +
  "BnJhbmdlcwNlbmQAAQMDAgIDBwkBBWNsZWFyAAQKrQEChQEBAn8CQANAIAAgAU8NASAAIQIgAEGAIGohAwJAA0AgAv0ABAAgAv0ABBD9" +
  "UCAC/QAEICAC/QAEMP1Q/VAgAv0ABEAgAv0ABFD9UCAC/QAEYCAC/QAEcP1Q/VD9UP1TBEAgAEEAQYAg/AsADAILIAJBgAFqIgIgA0kN" +
  "AAsLIAMhAAwACwsLJAEBfwJAA0AgABAATw0BIAAQASAAEAIQAyAAQQFqIQAMAAsLCw==";

/**
 * Returns a function that zeros ranges of a memory. It does not write to pages that are zero: a page that was never
 * written takes no memory.
 */
export function createPageClearer(memory: WebAssembly.Memory): (ranges: readonly PageRange[]) => void {
  let current: readonly PageRange[] = [];
  const rangeAt = (index: number) => current[index] ?? [0, 0];
  const module = new WebAssembly.Module(Uint8Array.fromBase64(MODULE));
  const { exports } = new WebAssembly.Instance(module, {
    python: { memory },
    ranges: {
      count: () => current.length,
      start: (index: number) => rangeAt(index)[0],
      end: (index: number) => rangeAt(index)[1],
    },
  });
  const clear = exports.clear as () => void;
  return (ranges) => {
    current = ranges;
    clear();
  };
}
