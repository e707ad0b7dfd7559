import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { HeapDelta, type PageRun } from "../../../../src/sandbox/guest/checkpoint/heap_delta.ts";
import { PAGE_BYTES } from "../../../../src/sandbox/guest/heap_image.ts";

const PAGES = 64;
/** Pages with data in the image, as it has them: address and length of each piece. */
const PIECES = [[2, 3], [7, 1], [20, 30]].map(([page = 0, count = 0]) =>
  [page * PAGE_BYTES, count * PAGE_BYTES] as const
);

/** Returns an image, and a function that creates a heap which is equal to it. */
function createImage() {
  const data = new Uint8Array(34 * PAGE_BYTES).map((_, index) => index % 251);
  const memory = new WebAssembly.Memory({ initial: 3, maximum: 3, shared: true });
  new Uint8Array(memory.buffer).set(data);
  const createHeap = () => {
    const heap = new WebAssembly.Memory({ initial: PAGES * PAGE_BYTES / 65536 });
    let from = 0;
    for (const [address, bytes] of PIECES) {
      new Uint8Array(heap.buffer).set(data.subarray(from, from += bytes), address);
    }
    return heap;
  };
  return { image: { runs: PIECES, memory }, createHeap };
}

function packOf(delta: HeapDelta): Uint8Array {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  delta.pack((bytes) => pieces.push(bytes.slice()));
  return new Uint8Array(pieces.flatMap((piece) => [...piece]));
}

/** Throws if bytes differ. `assertEquals` takes seconds for so many. */
function assertSame(found: Uint8Array, expected: Uint8Array, name = ""): void {
  const at = found.findIndex((byte, index) => byte !== expected[index]);
  assertEquals([name, found.length, at, found[at]], [name, expected.length, -1, undefined]);
}

/** A write to a heap: where, how many bytes, and which. */
const write = fc.tuple(
  fc.nat(PAGES * PAGE_BYTES - 1),
  fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3 * PAGE_BYTES })),
  fc.nat(255),
);

Deno.test("what is packed of any heap turns one that is equal to the image into that heap", () => {
  const { image, createHeap } = createImage();
  fc.assert(fc.property(fc.array(write, { maxLength: 12 }), (writes) => {
    const [heap, other] = [createHeap(), createHeap()];
    for (const [at, count, byte] of writes) new Uint8Array(heap.buffer).fill(byte, at, at + count);
    const delta = new HeapDelta(heap, image);
    const runs = delta.find(0, 0);
    new HeapDelta(other, image).unpack(runs, packOf(delta));
    assertSame(new Uint8Array(other.buffer), new Uint8Array(heap.buffer));
  }));
});

Deno.test("a heap with few changes is packed into few bytes, and unused pages are left out", () => {
  const { image, createHeap } = createImage();
  const heap = createHeap();
  const bytes = new Uint8Array(heap.buffer);
  for (const page of [0, 3, 25]) bytes[page * PAGE_BYTES + 99] = 77;
  bytes.fill(1, 10 * PAGE_BYTES, 12 * PAGE_BYTES);
  const delta = new HeapDelta(heap, image);
  assertEquals(delta.find(9 * PAGE_BYTES, 12 * PAGE_BYTES), [[0, 1], [3, 1], [25, 1]]);
  assertEquals(packOf(delta).length, 3 * (8 + 64));
});

Deno.test("unpack() writes to no other page, and refuses bytes that are not those of its pages", () => {
  const { image, createHeap } = createImage();
  const heap = createHeap();
  new Uint8Array(heap.buffer).fill(9, 0, 40 * PAGE_BYTES);
  const delta = new HeapDelta(heap, image);
  const runs = delta.find(0, 0);
  const packed = packOf(delta);
  const wrong: [string, readonly PageRun[], Uint8Array][] = [
    ["a byte less", runs, packed.subarray(0, -1)],
    ["a byte more", runs, new Uint8Array([...packed, 0])],
    ["no bytes", runs, new Uint8Array(0)],
    ["no pages", [], packed],
    ["a page less", [[0, 39]], packed],
    ["a page more", [[0, 41]], packed],
    ["a mask without blocks", [[0, 1]], new Uint8Array(8).fill(0xff)],
  ];
  for (const [name, pages, bytes] of wrong) {
    const target = createHeap();
    assertThrows(() => new HeapDelta(target, image).unpack(pages, bytes), Error, "Cannot restore");
    const end = 41 * PAGE_BYTES;
    assertSame(new Uint8Array(target.buffer, end), new Uint8Array(createHeap().buffer, end), name);
  }
});

Deno.test("unpack() takes any bytes without a write beyond its pages", () => {
  const { image, createHeap } = createImage();
  const expected = new Uint8Array(createHeap().buffer);
  fc.assert(fc.property(fc.uint8Array({ maxLength: 3 * PAGE_BYTES, size: "max" }), (bytes) => {
    const heap = createHeap();
    try {
      new HeapDelta(heap, image).unpack([[6, 2]], bytes);
    } catch (error) {
      assert(error instanceof Error);
    }
    const found = new Uint8Array(heap.buffer);
    assertSame(found.subarray(0, 6 * PAGE_BYTES), expected.subarray(0, 6 * PAGE_BYTES));
    assertSame(found.subarray(8 * PAGE_BYTES), expected.subarray(8 * PAGE_BYTES));
  }));
});
