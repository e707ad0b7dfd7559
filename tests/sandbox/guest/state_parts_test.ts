import { assertEquals } from "@std/assert";
import {
  captureMemory,
  type RestoredMemory,
  restoreMemory,
  rewind,
  type StatePart,
} from "../../../src/sandbox/guest/rewind.ts";

const TREE = { image: { nodes: [], nextInode: 1, workingFolder: "/" }, contents: [], indexes: new Map() };
const MEMORY: RestoredMemory = {
  head: { heapBytes: 1, runs: [], open: [], freeStacks: [], cpuMs: 2, clockMs: 3 },
  packed: new Uint8Array(),
  restoreFiles: () => [],
};

/** Returns parts that note what is done to them. */
function notingParts(): { parts: StatePart[]; notes: string[] } {
  const notes: string[] = [];
  const parts: StatePart[] = [
    { name: "heap", rewind: () => void notes.push("rewind heap"), capture: () => ({ heapBytes: 7 }) },
    {
      name: "clock",
      rewind: () => void notes.push("rewind clock"),
      capture: () => ({ clockMs: 8 }),
      restore: ({ head }) => void notes.push(`restore clock to ${head.clockMs}`),
    },
    { name: "files", rewind: () => void notes.push("rewind files") },
  ];
  return { parts, notes };
}

Deno.test("rewind() clears each part of the state in order", () => {
  const { parts, notes } = notingParts();
  rewind(parts);
  assertEquals(notes, ["rewind heap", "rewind clock", "rewind files"]);
});

Deno.test("restoreMemory() replaces the same parts, and clears those that no checkpoint has", () => {
  const { parts, notes } = notingParts();
  restoreMemory(parts, MEMORY);
  assertEquals(notes, ["rewind heap", "restore clock to 3", "rewind files"]);
});

Deno.test("captureMemory() has the fields of each part", () => {
  assertEquals<unknown>(captureMemory(notingParts().parts, TREE), { heapBytes: 7, clockMs: 8 });
});
