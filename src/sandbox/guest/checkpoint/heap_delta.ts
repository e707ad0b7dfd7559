import type { Pointer } from "../emscripten.ts";
import { type HeapImage, PAGE_BYTES } from "../heap_image.ts";

/**
 * A Wasm module that finds the pages of a memory that differ from an image, and packs and unpacks these differences.
 * It takes 64 bytes at a time, in place: a loop in JavaScript takes several times as long. A single call does it for
 * all pages, as a call from JavaScript takes a new stack.
 *
 * ```wat
 * (module
 *   (import "python" "memory" (memory $python 1))
 *   (import "image" "memory" (memory $image 1 65536 shared))
 *   (import "runs" "count" (func $count (result i32)))
 *   (import "runs" "address" (func $address (param i32) (result i32)))
 *   (import "runs" "bytes" (func $bytes (param i32) (result i32)))
 *   (import "buffer" "memory" (memory $buffer 1))
 *   (import "runs" "found" (func $found (param i32 i32)))
 *   (import "pages" "next" (func $next (result i32)))
 *   (import "pages" "end" (func $end (result i32)))
 *   (import "pages" "origin" (func $origin (result i32)))
 *   (import "pages" "flush" (func $flush (param i32)))
 *   (import "pages" "refill" (func $refill (param i32) (result i32)))
 *   (global $free (mut i32) (i32.const 0))
 *   (global $free_end (mut i32) (i32.const 0))
 *   (func $find_used (param $page i32) (param $end i32)
 *     (local $at i32) (local $stop i32)
 *     (block $done
 *       (loop $pages
 *         (if (i32.eq (local.get $page) (global.get $free)) (then (local.set $page (global.get $free_end))))
 *         (br_if $done (i32.ge_u (local.get $page) (local.get $end)))
 *         (local.set $at (local.get $page))
 *         (local.set $stop (i32.add (local.get $page) (i32.const 4096)))
 *         (block $is_zero
 *           (loop $words
 *             (if (v128.any_true
 *                  (v128.or
 *                   (v128.or (v128.load (local.get $at)) (v128.load offset=16 (local.get $at)))
 *                   (v128.or (v128.load offset=32 (local.get $at)) (v128.load offset=48 (local.get $at)))))
 *               (then (call $found (local.get $page) (i32.const -1)) (br $is_zero)))
 *             (br_if $words (i32.ne (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $stop)))))
 *         (local.set $page (local.get $stop))
 *         (br $pages))))
 *   (func $find_changed (param $page i32) (param $end i32) (param $from i32)
 *     (local $at i32) (local $stop i32)
 *     (block $done
 *       (loop $pages
 *         (br_if $done (i32.ge_u (local.get $page) (local.get $end)))
 *         (local.set $at (local.get $page))
 *         (local.set $stop (i32.add (local.get $page) (i32.const 4096)))
 *         (block $is_same
 *           (loop $words
 *             (if (v128.any_true
 *                  (v128.or
 *                   (v128.or
 *                    (v128.xor (v128.load (local.get $at)) (v128.load $image (local.get $from)))
 *                    (v128.xor (v128.load offset=16 (local.get $at)) (v128.load $image offset=16 (local.get $from))))
 *                   (v128.or
 *                    (v128.xor (v128.load offset=32 (local.get $at)) (v128.load $image offset=32 (local.get $from)))
 *                    (v128.xor (v128.load offset=48 (local.get $at)) (v128.load $image offset=48 (local.get $from))))))
 *               (then
 *                 (call $found
 *                   (local.get $page)
 *                   (i32.sub (local.get $from) (i32.sub (local.get $at) (local.get $page))))
 *                 (local.set $from (i32.add (local.get $from) (i32.sub (local.get $stop) (local.get $at))))
 *                 (br $is_same)))
 *             (local.set $from (i32.add (local.get $from) (i32.const 64)))
 *             (br_if $words (i32.ne (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $stop)))))
 *         (local.set $page (local.get $stop))
 *         (br $pages))))
 *   (func (export "find") (param $free_start i32) (param $free_end i32)
 *     (local $run i32) (local $from i32) (local $start i32) (local $bytes i32) (local $end i32)
 *     (global.set $free (local.get $free_start))
 *     (global.set $free_end (local.get $free_end))
 *     (block $done
 *       (loop $runs
 *         (br_if $done (i32.ge_u (local.get $run) (call $count)))
 *         (local.set $start (call $address (local.get $run)))
 *         (local.set $bytes (call $bytes (local.get $run)))
 *         (call $find_used (local.get $end) (local.get $start))
 *         (local.set $end (i32.add (local.get $start) (local.get $bytes)))
 *         (call $find_changed (local.get $start) (local.get $end) (local.get $from))
 *         (local.set $from (i32.add (local.get $from) (local.get $bytes)))
 *         (local.set $run (i32.add (local.get $run) (i32.const 1)))
 *         (br $runs)))
 *     (call $find_used (local.get $end) (i32.mul (memory.size $python) (i32.const 65536))))
 *   (func $pack (param $at i32) (param $from i32) (param $out i32) (result i32)
 *     (local $a v128) (local $b v128) (local $c v128) (local $d v128)
 *     (local $mask i64) (local $bit i64) (local $mask_at i32)
 *     (local.set $mask_at (local.get $out))
 *     (local.set $out (i32.add (local.get $out) (i32.const 8)))
 *     (local.set $bit (i64.const 1))
 *     (loop $blocks
 *       (local.set $a (v128.load (local.get $at)))
 *       (local.set $b (v128.load offset=16 (local.get $at)))
 *       (local.set $c (v128.load offset=32 (local.get $at)))
 *       (local.set $d (v128.load offset=48 (local.get $at)))
 *       (if (i32.ne (local.get $from) (i32.const -1))
 *         (then
 *           (local.set $a (v128.xor (local.get $a) (v128.load $image (local.get $from))))
 *           (local.set $b (v128.xor (local.get $b) (v128.load $image offset=16 (local.get $from))))
 *           (local.set $c (v128.xor (local.get $c) (v128.load $image offset=32 (local.get $from))))
 *           (local.set $d (v128.xor (local.get $d) (v128.load $image offset=48 (local.get $from))))
 *           (local.set $from (i32.add (local.get $from) (i32.const 64)))))
 *       (if (v128.any_true
 *            (v128.or (v128.or (local.get $a) (local.get $b)) (v128.or (local.get $c) (local.get $d))))
 *         (then
 *           (v128.store $buffer (local.get $out) (local.get $a))
 *           (v128.store $buffer offset=16 (local.get $out) (local.get $b))
 *           (v128.store $buffer offset=32 (local.get $out) (local.get $c))
 *           (v128.store $buffer offset=48 (local.get $out) (local.get $d))
 *           (local.set $out (i32.add (local.get $out) (i32.const 64)))
 *           (local.set $mask (i64.or (local.get $mask) (local.get $bit)))))
 *       (local.set $at (i32.add (local.get $at) (i32.const 64)))
 *       (local.set $bit (i64.shl (local.get $bit) (i64.const 1)))
 *       (br_if $blocks (i64.ne (local.get $bit) (i64.const 0))))
 *     (i64.store $buffer (local.get $mask_at) (local.get $mask))
 *     (local.get $out))
 *   (func $unpack (param $at i32) (param $in i32) (result i32)
 *     (local $mask i64)
 *     (local.set $mask (i64.load $buffer (local.get $in)))
 *     (local.set $in (i32.add (local.get $in) (i32.const 8)))
 *     (block $done
 *       (loop $blocks
 *         (br_if $done (i64.eqz (local.get $mask)))
 *         (if (i64.ne (i64.and (local.get $mask) (i64.const 1)) (i64.const 0))
 *           (then
 *             (v128.store (local.get $at)
 *               (v128.xor (v128.load (local.get $at)) (v128.load $buffer (local.get $in))))
 *             (v128.store offset=16 (local.get $at)
 *               (v128.xor (v128.load offset=16 (local.get $at)) (v128.load $buffer offset=16 (local.get $in))))
 *             (v128.store offset=32 (local.get $at)
 *               (v128.xor (v128.load offset=32 (local.get $at)) (v128.load $buffer offset=32 (local.get $in))))
 *             (v128.store offset=48 (local.get $at)
 *               (v128.xor (v128.load offset=48 (local.get $at)) (v128.load $buffer offset=48 (local.get $in))))
 *             (local.set $in (i32.add (local.get $in) (i32.const 64)))))
 *         (local.set $at (i32.add (local.get $at) (i32.const 64)))
 *         (local.set $mask (i64.shr_u (local.get $mask) (i64.const 1)))
 *         (br $blocks)))
 *     (local.get $in))
 *   (func (export "pack") (param $max i32)
 *     (local $page i32) (local $end i32) (local $from i32) (local $out i32)
 *     (block $done
 *       (loop $runs
 *         (br_if $done (i32.eq (local.tee $page (call $next)) (i32.const -1)))
 *         (local.set $end (call $end))
 *         (local.set $from (call $origin))
 *         (loop $pages
 *           (local.set $out (call $pack (local.get $page) (local.get $from) (local.get $out)))
 *           (if (i32.gt_u (local.get $out) (local.get $max))
 *             (then (call $flush (local.get $out)) (local.set $out (i32.const 0))))
 *           (if (i32.ne (local.get $from) (i32.const -1))
 *             (then (local.set $from (i32.add (local.get $from) (i32.const 4096)))))
 *           (br_if $pages
 *             (i32.ne (local.tee $page (i32.add (local.get $page) (i32.const 4096))) (local.get $end))))
 *         (br $runs)))
 *     (call $flush (local.get $out)))
 *   (func (export "unpack") (result i32)
 *     (local $page i32) (local $end i32) (local $in i32) (local $filled i32)
 *     (block $done
 *       (loop $runs
 *         (br_if $done (i32.eq (local.tee $page (call $next)) (i32.const -1)))
 *         (local.set $end (call $end))
 *         (loop $pages
 *           (if (i32.gt_u (i32.add (local.get $in) (i32.const 4104)) (local.get $filled))
 *             (then
 *               (local.set $filled (call $refill (local.get $in)))
 *               (local.set $in (i32.const 0))
 *               (if (i32.eqz (local.get $filled)) (then (return (i32.const -1))))))
 *           (local.set $in (call $unpack (local.get $page) (local.get $in)))
 *           (br_if $pages
 *             (i32.ne (local.tee $page (i32.add (local.get $page) (i32.const 4096))) (local.get $end))))
 *         (br $runs)))
 *     (local.get $in)))
 * ```
 */
const MODULE =
  "AGFzbQEAAAABJgdgAAF/YAF/AX9gAn9/AGABfwBgA39/fwBgA39/fwF/YAJ/fwF/ArEBDAZweXRob24GbWVtb3J5AgABBWltYWdlBm1lbW9y" +
  "eQIDAYCABARydW5zBWNvdW50AAAEcnVucwdhZGRyZXNzAAEEcnVucwVieXRlcwABBmJ1ZmZlcgZtZW1vcnkCAAEEcnVucwVmb3VuZAACBXBh" +
  "Z2VzBG5leHQAAAVwYWdlcwNlbmQAAAVwYWdlcwZvcmlnaW4AAAVwYWdlcwVmbHVzaAADBXBhZ2VzBnJlZmlsbAABAwgHAgQCBQYDAAYLAn8B" +
  "QQALfwFBAAsHGAMEZmluZAALBHBhY2sADgZ1bnBhY2sADwqTBwdtAQJ/AkADQCAAIwBGBEAjASEACyAAIAFPDQEgACECIABBgCBqIQMCQANA" +
  "IAL9AAQAIAL9AAQQ/VAgAv0ABCAgAv0ABDD9UP1Q/VMEQCAAQX8QAwwCCyACQcAAaiICIANHDQALCyADIQAMAAsLC50BAQJ/AkADQCAAIAFP" +
  "DQEgACEDIABBgCBqIQQCQANAIAP9AAQAIAL9AEQBAP1RIAP9AAQQIAL9AEQBEP1R/VAgA/0ABCAgAv0ARAEg/VEgA/0ABDAgAv0ARAEw/VH9" +
  "UP1Q/VMEQCAAIAIgAyAAa2sQAyACIAQgA2tqIQIMAgsgAkHAAGohAiADQcAAaiIDIARHDQALCyAEIQAMAAsLC1UBBX8gACQAIAEkAQJAA0Ag" +
  "AhAATw0BIAIQASEEIAIQAiEFIAYgBBAJIAQgBWohBiAEIAYgAxAKIAMgBWohAyACQQFqIQIMAAsLIAY/AEGAgARsEAkL5AEDBHsCfgF/IAIh" +
  "CSACQQhqIQJCASEIA0AgAP0ABAAhAyAA/QAEECEEIAD9AAQgIQUgAP0ABDAhBiABQX9HBEAgAyAB/QBEAQD9USEDIAQgAf0ARAEQ/VEhBCAF" +
  "IAH9AEQBIP1RIQUgBiAB/QBEATD9USEGIAFBwABqIQELIAMgBP1QIAUgBv1Q/VD9UwRAIAIgA/0LRAIAIAIgBP0LRAIQIAIgBf0LRAIgIAIg" +
  "Bv0LRAIwIAJBwABqIQIgByAIhCEHCyAAQcAAaiEAIAhCAYYhCCAIQgBSDQALIAkgBzdDAgAgAguYAQEBfiABKUMCACECIAFBCGohAQJAA0Ag" +
  "AlANASACQgGDQgBSBEAgACAA/QAEACAB/QBEAgD9Uf0LBAAgACAA/QAEECAB/QBEAhD9Uf0LBBAgACAA/QAEICAB/QBEAiD9Uf0LBCAgACAA" +
  "/QAEMCAB/QBEAjD9Uf0LBDAgAUHAAGohAQsgAEHAAGohACACQgGIIQIMAAsLIAELWwEEfwJAA0AQBCIBQX9GDQEQBSECEAYhAwNAIAEgAyAE" +
  "EAwhBCAEIABLBEAgBBAHQQAhBAsgA0F/RwRAIANBgCBqIQMLIAFBgCBqIgEgAkcNAAsMAAsLIAQQBwtSAQR/AkADQBAEIgBBf0YNARAFIQED" +
  "QCACQYggaiADSwRAIAIQCCEDQQAhAiADRQRAQX8PCwsgACACEA0hAiAAQYAgaiIAIAFHDQALDAALCyACCw==";

/** A page is packed as a mask of its blocks that differ, 64 bits, and the exclusive or of these. */
const MASK_BYTES = 8;
const MAX_PACKED_BYTES = MASK_BYTES + PAGE_BYTES;
const BUFFER_BYTES = 128 * 1024;
const WASM_PAGE_BYTES = 65536;
const NO_ORIGIN = -1;

/** Neighbouring pages: the number of the first page, and how many. */
export type PageRun = readonly [first: number, count: number];

/** A run, and where its image is, or -1 if its pages were zero. */
type FoundRun = readonly [first: number, count: number, origin: number];

interface DeltaCode {
  find(free: Pointer, freeEnd: Pointer): void;
  /** Packs the pages into the buffer, which is flushed when it has more than `max` bytes. */
  pack(max: number): void;
  /** Returns the number of bytes that were taken since the last refill; -1 if there were too few. */
  unpack(): number;
}

/** The difference between a heap and its image. */
export class HeapDelta {
  readonly #code: DeltaCode;
  readonly #buffer = new WebAssembly.Memory({ initial: BUFFER_BYTES / WASM_PAGE_BYTES });
  #found: [first: number, count: number, origin: number][] = [];
  /** The runs that are left to pack or to unpack, and the current run. */
  #left: Iterator<FoundRun | PageRun> = [].values();
  #run: FoundRun | PageRun = [0, 0];
  #flush: (bytes: number) => void = () => {};
  #refill: (usedBytes: number) => number = () => 0;

  constructor(memory: WebAssembly.Memory, image: Pick<HeapImage, "runs" | "memory">) {
    const module = new WebAssembly.Module(Uint8Array.fromBase64(MODULE));
    const runAt = (index: number) => image.runs[index] ?? [0, 0];
    const { exports } = new WebAssembly.Instance(module, {
      python: { memory },
      image: { memory: image.memory },
      buffer: { memory: this.#buffer },
      runs: {
        count: () => image.runs.length,
        address: (index: number) => runAt(index)[0],
        bytes: (index: number) => runAt(index)[1],
        found: (address: number, origin: number) =>
          addPage(this.#found, (address >>> 0) / PAGE_BYTES, origin),
      },
      pages: {
        next: () => this.#nextRun(),
        end: () => (this.#run[0] + this.#run[1]) * PAGE_BYTES,
        origin: () => this.#run[2] ?? NO_ORIGIN,
        flush: (bytes: number) => this.#flush(bytes),
        refill: (usedBytes: number) => this.#refill(usedBytes),
      },
    });
    this.#code = exports as unknown as DeltaCode;
  }

  /**
   * Returns the pages that differ, as runs in ascending order. It skips the bytes from `free` to `freeEnd` outside the
   * pieces of the image, whole pages that no code uses.
   */
  find(free: Pointer, freeEnd: Pointer): PageRun[] {
    this.#found = [];
    this.#code.find(free, freeEnd);
    return this.#found.map(([first, count]) => [first, count]);
  }

  /** Packs the pages that were found last. Calls `send` with bytes that are valid until it returns. */
  pack(send: (bytes: Uint8Array) => void): void {
    const buffer = new Uint8Array(this.#buffer.buffer);
    this.#left = this.#found.values();
    this.#flush = (bytes) => send(buffer.subarray(0, bytes));
    this.#code.pack(BUFFER_BYTES - MAX_PACKED_BYTES);
  }

  /**
   * Changes a heap that is equal to its image by packed differences.
   *
   * @throws {Error} if they are not of these pages.
   */
  unpack(runs: readonly PageRun[], packed: Uint8Array): void {
    const buffer = new Uint8Array(this.#buffer.buffer);
    let at = 0;
    this.#left = runs.values();
    this.#refill = (usedBytes) => {
      at += usedBytes;
      const filled = Math.max(0, Math.min(BUFFER_BYTES - MAX_PACKED_BYTES, packed.length - at));
      buffer.set(packed.subarray(at, at + filled));
      buffer.fill(0, filled, filled + MAX_PACKED_BYTES); // a mask may announce more than follows
      return filled;
    };
    const usedBytes = this.#code.unpack();
    if (usedBytes >= 0 && at + usedBytes === packed.length) return;
    throw new Error(`Cannot restore heap as its ${packed.length} bytes are not those of its pages`);
  }

  /** Returns the address of the next run, or -1. */
  #nextRun(): number {
    const { done, value } = this.#left.next();
    if (done) return -1;
    this.#run = value;
    return value[0] * PAGE_BYTES;
  }
}

/** Adds a page to the last run if it continues that and its image. */
function addPage(runs: [first: number, count: number, origin: number][], page: number, origin: number): void {
  const last = runs.at(-1);
  const next = last && (last[2] === NO_ORIGIN ? NO_ORIGIN : last[2] + last[1] * PAGE_BYTES);
  if (last && last[0] + last[1] === page && next === origin) last[1]++;
  else runs.push([page, 1, origin]);
}

/**
 * Throws if runs are not in ascending order, overlap, or end after `heapBytes`. Returns the maximum size of what is
 * packed of them.
 */
export function checkRuns(runs: readonly PageRun[], heapBytes: number): number {
  let [end, pages] = [0, 0];
  for (const run of runs) {
    if (!Array.isArray(run)) {
      throw new Error(`Cannot restore heap as its runs must be lists: found ${typeof run}`);
    }
    const [first, count] = run as PageRun;
    if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count) || first < end || count < 1) {
      throw new Error(`Cannot restore heap as its runs must ascend: found ${count} pages at ${first}`);
    }
    end = first + count;
    pages += count;
  }
  if (end * PAGE_BYTES > heapBytes) {
    throw new Error(
      `Cannot restore heap as it must have at most ${heapBytes} bytes: a run ends at ${end * PAGE_BYTES}`,
    );
  }
  return pages * MAX_PACKED_BYTES;
}
