import type { Pointer } from "../emscripten.ts";
import { type HeapImage, PAGE_BYTES } from "../heap_image.ts";

/**
 * A Wasm module that finds the pages of a memory that differ from an image, and packs and unpacks these differences. It
 * takes 64 bytes at a time, in place: a loop in JavaScript takes several times as long.
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
 *   (func (export "pack") (param $at i32) (param $from i32) (param $out i32) (result i32)
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
 *   (func (export "unpack") (param $at i32) (param $in i32) (result i32)
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
 *     (local.get $in)))
 * ```
 */
const MODULE =
  "AGFzbQEAAAABIgZgAAF/YAF/AX9gAn9/AGADf39/AGADf39/AX9gAn9/AX8CbAcGcHl0aG9uBm1lbW9yeQIAAQVpbWFnZQZtZW1vcnkCAwGA" +
  "gAQEcnVucwVjb3VudAAABHJ1bnMHYWRkcmVzcwABBHJ1bnMFYnl0ZXMAAQZidWZmZXIGbWVtb3J5AgABBHJ1bnMFZm91bmQAAgMGBQIDAgQF" +
  "BgsCfwFBAAt/AUEACwcYAwRmaW5kAAYEcGFjawAHBnVucGFjawAICuQFBW0BAn8CQANAIAAjAEYEQCMBIQALIAAgAU8NASAAIQIgAEGAIGoh" +
  "AwJAA0AgAv0ABAAgAv0ABBD9UCAC/QAEICAC/QAEMP1Q/VD9UwRAIABBfxADDAILIAJBwABqIgIgA0cNAAsLIAMhAAwACwsLnQEBAn8CQANA" +
  "IAAgAU8NASAAIQMgAEGAIGohBAJAA0AgA/0ABAAgAv0ARAEA/VEgA/0ABBAgAv0ARAEQ/VH9UCAD/QAEICAC/QBEASD9USAD/QAEMCAC/QBE" +
  "ATD9Uf1Q/VD9UwRAIAAgAiADIABraxADIAIgBCADa2ohAgwCCyACQcAAaiECIANBwABqIgMgBEcNAAsLIAQhAAwACwsLVQEFfyAAJAAgASQB" +
  "AkADQCACEABPDQEgAhABIQQgAhACIQUgBiAEEAQgBCAFaiEGIAQgBiADEAUgAyAFaiEDIAJBAWohAgwACwsgBj8AQYCABGwQBAvkAQMEewJ+" +
  "AX8gAiEJIAJBCGohAkIBIQgDQCAA/QAEACEDIAD9AAQQIQQgAP0ABCAhBSAA/QAEMCEGIAFBf0cEQCADIAH9AEQBAP1RIQMgBCAB/QBEARD9" +
  "USEEIAUgAf0ARAEg/VEhBSAGIAH9AEQBMP1RIQYgAUHAAGohAQsgAyAE/VAgBSAG/VD9UP1TBEAgAiAD/QtEAgAgAiAE/QtEAhAgAiAF/QtE" +
  "AiAgAiAG/QtEAjAgAkHAAGohAiAHIAiEIQcLIABBwABqIQAgCEIBhiEIIAhCAFINAAsgCSAHN0MCACACC5gBAQF+IAEpQwIAIQIgAUEIaiEB" +
  "AkADQCACUA0BIAJCAYNCAFIEQCAAIAD9AAQAIAH9AEQCAP1R/QsEACAAIAD9AAQQIAH9AEQCEP1R/QsEECAAIAD9AAQgIAH9AEQCIP1R/QsE" +
  "ICAAIAD9AAQwIAH9AEQCMP1R/QsEMCABQcAAaiEBCyAAQcAAaiEAIAJCAYghAgwACwsgAQs=";

/** A page is packed as a mask of its blocks that differ, 64 bits, and the exclusive or of these. */
const MASK_BYTES = 8;
const MAX_PACKED_BYTES = MASK_BYTES + PAGE_BYTES;
const BUFFER_BYTES = 128 * 1024;
const WASM_PAGE_BYTES = 65536;

/** Neighbouring pages: the number of the first one, and how many. */
export type PageRun = readonly [first: number, count: number];

interface DeltaCode {
  find(free: Pointer, freeEnd: Pointer): void;
  /** Packs the page at an address to `out` in the buffer, by an image that is at `from` or, if that is -1, zero. */
  pack(address: Pointer, from: number, out: number): number;
  unpack(address: Pointer, from: number): number;
}

/** The difference between a heap and its image. */
export class HeapDelta {
  readonly #code: DeltaCode;
  readonly #buffer = new WebAssembly.Memory({ initial: BUFFER_BYTES / WASM_PAGE_BYTES });
  #runs: [number, number][] = [];
  /** Where the image of each page of `#runs` is, or -1. */
  #origins: number[] = [];

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
        found: (address: number, origin: number) => {
          addPage(this.#runs, (address >>> 0) / PAGE_BYTES);
          this.#origins.push(origin);
        },
      },
    });
    this.#code = exports as unknown as DeltaCode;
  }

  /**
   * Returns the pages that differ, as runs in ascending order. It skips the bytes from `free` to `freeEnd` outside the
   * pieces of the image, whole pages that no code uses.
   */
  find(free: Pointer, freeEnd: Pointer): PageRun[] {
    this.#runs = [];
    this.#origins = [];
    this.#code.find(free, freeEnd);
    return this.#runs;
  }

  /** Packs the pages that were found last. Calls `send` with bytes that are valid until it returns. */
  pack(send: (bytes: Uint8Array) => void): void {
    const buffer = new Uint8Array(this.#buffer.buffer);
    let [index, used] = [0, 0];
    for (const address of addressesOf(this.#runs)) {
      used = this.#code.pack(address, this.#origins[index++] as number, used);
      if (used + MAX_PACKED_BYTES <= BUFFER_BYTES) continue;
      send(buffer.subarray(0, used));
      used = 0;
    }
    send(buffer.subarray(0, used));
  }

  /**
   * Changes a heap that is equal to its image by packed differences.
   *
   * @throws {Error} if they are not of these pages.
   */
  unpack(runs: readonly PageRun[], packed: Uint8Array): void {
    const buffer = new Uint8Array(this.#buffer.buffer);
    let [at, used, filled] = [0, 0, 0];
    for (const address of addressesOf(runs)) {
      if (used + MAX_PACKED_BYTES > filled && at + filled < packed.length) {
        at += used;
        used = 0;
        filled = Math.min(BUFFER_BYTES - MAX_PACKED_BYTES, packed.length - at);
        buffer.set(packed.subarray(at, at + filled));
        buffer.fill(0, filled, filled + MAX_PACKED_BYTES); // a mask may announce more than follows
      }
      if (used >= filled) throw wrongSize(packed);
      used = this.#code.unpack(address, used);
    }
    if (at + used !== packed.length) throw wrongSize(packed);
  }
}

function wrongSize({ length }: Uint8Array): Error {
  return new Error(`Cannot restore heap as its ${length} bytes are not those of its pages`);
}

function* addressesOf(runs: readonly PageRun[]): Generator<Pointer> {
  for (const [first, count] of runs) {
    for (let page = first; page < first + count; page++) yield page * PAGE_BYTES;
  }
}

function addPage(runs: [number, number][], page: number): void {
  const last = runs.at(-1);
  if (last && last[0] + last[1] === page) last[1]++;
  else runs.push([page, 1]);
}

/**
 * Throws if runs are not in ascending order, overlap, or end after `heapBytes`. Returns the maximum size of what is
 * packed of them.
 */
export function checkRuns(runs: readonly PageRun[], heapBytes: number): number {
  let [end, pages] = [0, 0];
  for (const [first, count] of runs) {
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
