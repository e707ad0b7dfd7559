import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { GarbageCollector, ProcessHeap, usedBytes } from "../../src/server/garbage.ts";
import { HANG_MS } from "../deadline.ts";

Deno.test({
  name: "GarbageCollector frees the memory of large requests that are over",
  timeout: HANG_MS, // without a collection the heap stays as large
}, async () => {
  using _collector = new GarbageCollector();
  const bytes = () => Deno.memoryUsage().heapUsed;
  const before = bytes();
  for (let count = 0; count < 6; count++) JSON.parse(`"${"a".repeat(30_000_000)}"`);
  while (bytes() > before + 96 * 1024 * 1024) await delay(50);
});

const MIB = 1024 * 1024;

Deno.test("usedBytes() counts shared buffers, such as compressed states of sessions", () => {
  const before = usedBytes();
  const state = new Uint8Array(new SharedArrayBuffer(96 * MIB)).fill(1);
  assert(usedBytes() - before > 64 * MIB, `${usedBytes() - before} for ${state.length}`);
});

Deno.test("ProcessHeap.collect() returns the memory of freed buffers to the system", {
  ignore: Deno.build.os !== "linux",
}, () => {
  using heap = new ProcessHeap();
  const freed: number[] = [];
  // other modules of tests in this process may allocate meanwhile
  for (let round = 0; round < 5 && !freed.some((mib) => mib > 128); round++) {
    const pins = fragmentMemory(192 * MIB);
    const before = usedBytes();
    heap.collect();
    freed.push(Math.round((before - usedBytes()) / MIB));
    assert(pins.length > 0); // they are kept until here
  }
  assert(freed.some((mib) => mib > 128), `${freed.join(", ")} of 192 MiB between buffers that are kept`);
});

/** Allocates and drops buffers of 64 KiB. Returns the small ones between them, which stay. */
function fragmentMemory(bytes: number): Uint8Array[] {
  const [dropped, kept]: [Uint8Array[], Uint8Array[]] = [[], []];
  for (let at = 0; at < bytes; at += 65_536) {
    dropped.push(new Uint8Array(65_536).fill(1));
    kept.push(new Uint8Array(2048).fill(1));
  }
  return kept;
}

Deno.test("GarbageCollector waits for more growth after a collection that freed little, and for less after another one", () => {
  const heap = { used: 0, garbage: 0, collections: 0 };
  using collector = new GarbageCollector({
    bytes: () => (heap.used + heap.garbage) * MIB,
    collect() {
      heap.garbage = 0;
      heap.collections++;
    },
  });
  const collections = (grown: Partial<typeof heap>) => {
    Object.assign(heap, grown);
    const before = heap.collections;
    collector.check();
    return heap.collections - before;
  };
  assertEquals([collections({ used: 47 }), collections({ used: 50 })], [0, 1]);
  assertEquals([collections({ used: 140 }), collections({ used: 150 })], [0, 1]); // after 96 MiB more
  assertEquals([collections({ used: 330 }), collections({ used: 345 })], [0, 1]); // after 192 MiB more
  assertEquals([collections({ used: 530 }), collections({ used: 540 })], [0, 1]); // and no more than these
  assertEquals(collections({ garbage: 191 }), 0);
  assertEquals(collections({ garbage: 193 }), 1);
  assertEquals([collections({ garbage: 47 }), collections({ garbage: 48 })], [0, 1]);
  assertEquals([collections({ used: 20 }), collections({ garbage: 48 })], [0, 1]); // beyond the least that was used
  assertEquals(collections({ used: 80 }), 1);
  const later = [collections({ used: 20, garbage: 60 }), ...Array.from({ length: 6 }, () => collections({}))];
  assertEquals([later, heap.garbage], [[0, 0, 0, 0, 0, 1, 0], 0]); // what was in use may be garbage some checks later
});

Deno.test("GarbageCollector.leaveOut() collects nothing for what is kept, and soon what is no longer kept", () => {
  const heap = { kept: 0, garbage: 0, collections: 0 };
  using collector = new GarbageCollector({
    bytes: () => (heap.kept + heap.garbage) * MIB,
    collect() {
      heap.garbage = 0;
      heap.collections++;
    },
  });
  collector.leaveOut(() => heap.kept * MIB);
  const change = (next: Partial<typeof heap>) => {
    Object.assign(heap, next);
    for (let count = 0; count < 8; count++) collector.check();
    return heap.collections;
  };
  assertEquals([change({ kept: 900 }), change({ kept: 1000, garbage: 47 })], [0, 0]);
  assertEquals([change({ kept: 950, garbage: 97 }), heap.garbage], [1, 0]); // a checkpoint was deleted
  assertEquals([change({ kept: 0, garbage: 950 }), heap.garbage], [2, 0]);
});
