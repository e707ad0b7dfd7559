import type { Pointer } from "../emscripten.ts";
import { type HeapImage, PAGE_BYTES } from "../heap_image.ts";

/**
 * A Wasm module that finds the pages of a memory that differ from an image. It
 * compares 64 bytes at a time, in place: a loop in JavaScript takes several times as long.
 *
 * ```wat
 * (module
 *   (import "python" "memory" (memory $python 1))
 *   (import "image" "memory" (memory $image 1 65536 shared))
 *   (import "runs" "count" (func $count (result i32)))
 *   (import "runs" "address" (func $address (param i32) (result i32)))
 *   (import "runs" "bytes" (func $bytes (param i32) (result i32)))
 *   (import "runs" "found" (func $found (param i32)))
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
 *               (then (call $found (local.get $page)) (br $is_zero)))
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
 *                 (call $found (local.get $page))
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
 *     (call $find_used (local.get $end) (i32.mul (memory.size $python) (i32.const 65536)))))
 * ```
 */
const MODULE =
  "AGFzbQEAAAABGQVgAAF/YAF/AX9gAX8AYAJ/fwBgA39/fwACWwYGcHl0aG9uBm1lbW9yeQIAAQVpbWFnZQZtZW1vcnkCAwGAgAQEcnVu" +
  "cwVjb3VudAAABHJ1bnMHYWRkcmVzcwABBHJ1bnMFYnl0ZXMAAQRydW5zBWZvdW5kAAIDBAMDBAMGCwJ/AUEAC38BQQALBwgBBGZpbmQA" +
  "BgraAgNrAQJ/AkADQCAAIwBGBEAjASEACyAAIAFPDQEgACECIABBgCBqIQMCQANAIAL9AAQAIAL9AAQQ/VAgAv0ABCAgAv0ABDD9UP1Q" +
  "/VMEQCAAEAMMAgsgAkHAAGoiAiADRw0ACwsgAyEADAALCwuVAQECfwJAA0AgACABTw0BIAAhAyAAQYAgaiEEAkADQCAD/QAEACAC/QBE" +
  "AQD9USAD/QAEECAC/QBEARD9Uf1QIAP9AAQgIAL9AEQBIP1RIAP9AAQwIAL9AEQBMP1R/VD9UP1TBEAgABADIAIgBCADa2ohAgwCCyAC" +
  "QcAAaiECIANBwABqIgMgBEcNAAsLIAQhAAwACwsLVQEFfyAAJAAgASQBAkADQCACEABPDQEgAhABIQQgAhACIQUgBiAEEAQgBCAFaiEG" +
  "IAQgBiADEAUgAyAFaiEDIAJBAWohAgwACwsgBj8AQYCABGwQBAs=";

const WORD_BYTES = 4;
const PAGE_WORDS = PAGE_BYTES / WORD_BYTES;

/** Neighbouring pages: the number of the first one, and how many. */
export type PageRun = readonly [first: number, count: number];

/**
 * The difference between a heap and its image: the pages that differ, as the exclusive or of both. Most words of such a
 * page are equal, and so zero, which compresses to little.
 */
export class HeapDelta {
  readonly #memory: WebAssembly.Memory;
  readonly #image: Pick<HeapImage, "runs" | "memory">;
  readonly #find: (free: Pointer, freeEnd: Pointer) => void;
  #found: [number, number][] = [];

  constructor(memory: WebAssembly.Memory, image: Pick<HeapImage, "runs" | "memory">) {
    this.#memory = memory;
    this.#image = image;
    const module = new WebAssembly.Module(Uint8Array.fromBase64(MODULE));
    const runAt = (index: number) => image.runs[index] ?? [0, 0];
    const { exports } = new WebAssembly.Instance(module, {
      python: { memory },
      image: { memory: image.memory },
      runs: {
        count: () => image.runs.length,
        address: (index: number) => runAt(index)[0],
        bytes: (index: number) => runAt(index)[1],
        found: (address: number) => addPage(this.#found, (address >>> 0) / PAGE_BYTES),
      },
    });
    this.#find = exports.find as (free: Pointer, freeEnd: Pointer) => void;
  }

  /**
   * Returns the pages that differ, as runs in ascending order. It skips the bytes from `free` to `freeEnd` outside the
   * pieces of the image, whole pages that no code uses.
   */
  find(free: Pointer, freeEnd: Pointer): PageRun[] {
    this.#found = [];
    this.#find(free, freeEnd);
    return this.#found;
  }

  /** Calls `send` with the difference of each page, which is valid until `send` returns. */
  read(runs: readonly PageRun[], send: (page: Uint8Array) => void): void {
    const page = new Int32Array(PAGE_WORDS);
    const bytes = new Uint8Array(page.buffer);
    const heap = new Int32Array(this.#memory.buffer);
    const image = new Int32Array(this.#image.memory.buffer);
    const pieces = new ImagePieces(this.#image.runs);
    for (const [first, count] of runs) {
      for (let at = first * PAGE_WORDS; at < (first + count) * PAGE_WORDS; at += PAGE_WORDS) {
        page.set(heap.subarray(at, at + PAGE_WORDS));
        const from = pieces.wordAt(at);
        if (from >= 0) {
          for (let word = 0; word < PAGE_WORDS; word++) {
            page[word] = (page[word] as number) ^ (image[from + word] as number);
          }
        }
        send(bytes);
      }
    }
  }

  /** Changes a heap that is equal to its image by differences, one after the other. They must begin at a whole word. */
  apply(runs: readonly PageRun[], differences: Uint8Array): void {
    const heap = new Int32Array(this.#memory.buffer);
    const words = new Int32Array(
      differences.buffer,
      differences.byteOffset,
      differences.byteLength / WORD_BYTES,
    );
    let from = 0;
    for (const [first, count] of runs) {
      const end = (first + count) * PAGE_WORDS;
      for (let at = first * PAGE_WORDS; at < end; at++) {
        heap[at] = (heap[at] as number) ^ (words[from++] as number);
      }
    }
  }
}

/** Finds words of a heap in the data of its image. Addresses must ascend from call to call. */
class ImagePieces {
  readonly #runs: HeapImage["runs"];
  #index = 0;
  #before = 0;

  constructor(runs: HeapImage["runs"]) {
    this.#runs = runs;
  }

  /** Returns the index of a word in the image; -1 if it is in no piece, and so zero. */
  wordAt(word: number): number {
    const address = word * WORD_BYTES;
    for (let run = this.#runs[this.#index]; run; run = this.#runs[++this.#index]) {
      const [start, bytes] = run;
      if (address < start) return -1;
      if (address < start + bytes) return (this.#before + address - start) / WORD_BYTES;
      this.#before += bytes;
    }
    return -1;
  }
}

function addPage(runs: [number, number][], page: number): void {
  const last = runs.at(-1);
  if (last && last[0] + last[1] === page) last[1]++;
  else runs.push([page, 1]);
}

/**
 * Throws if runs are not in ascending order, overlap, or end after `heapBytes`. Returns the number of their bytes.
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
  return pages * PAGE_BYTES;
}
