import { assertEquals, assertThrows } from "@std/assert";
import { FrameMerger } from "../../../src/sandbox/guest/worker_link.ts";
import {
  encodeFrame,
  FrameKind,
  FrameSplitter,
  join,
  MAX_FRAME_BYTES,
} from "../../../src/sandbox/protocol.ts";

const { stdout, stderr, result, lost } = FrameKind;
const decoder = new TextDecoder();
const LONG = "x".repeat(5_000);

/** Pushes bytes in pieces of `size` and returns the mergeFrames frames. */
function mergeFrames(bytes: Uint8Array, size: number): [number, number, string][] {
  const merger = new FrameMerger(7);
  const splitter = new FrameSplitter();
  const found: [number, number, string][] = [];
  for (let at = 0; at < bytes.length; at += size) {
    for (const { kind, session, payload } of splitter.push(merger.push(bytes.slice(at, at + size)))) {
      found.push([kind, session, decoder.decode(payload)]);
    }
  }
  return found;
}

Deno.test("FrameMerger merges only neighbouring output frames of one stream", () => {
  const frames = [
    [stdout, "a"],
    [stdout, ""],
    [stdout, LONG],
    [stderr, "b"],
    [stderr, "c"],
    [stdout, "d"],
    [result, "1"],
    [result, "2"],
    [stdout, "e"],
  ] as const;
  const bytes = join(frames.map(([kind, text]) => encodeFrame(kind, 0, text)));
  assertEquals(mergeFrames(bytes, bytes.length), [
    [stdout, 7, `a${LONG}`],
    [stderr, 7, "bc"],
    [stdout, 7, "d"],
    [result, 7, "1"],
    [result, 7, "2"],
    [stdout, 7, "e"],
  ]);
});

Deno.test("FrameMerger keeps all bytes for every piece size", () => {
  const texts = ["", "a", "bc".repeat(30), LONG, "d"];
  const frames = texts.flatMap((text) => [stdout, stderr, result].map((kind) => encodeFrame(kind, 0, text)));
  const bytes = join(frames);
  for (const size of [1, 3, 7, 8, 9, 100, 4_096]) {
    const found = mergeFrames(bytes, size);
    for (const kind of [stdout, stderr, result]) {
      assertEquals(
        found.filter((frame) => frame[0] === kind).map((frame) => frame[2]).join(""),
        texts.join(""),
      );
    }
    assertEquals(found.every(([, session]) => session === 7), true);
  }
});

Deno.test("FrameMerger reports output at the end and the end of the worker", () => {
  const merger = new FrameMerger(1);
  const stateAfter = (kind: FrameKind) => {
    merger.push(encodeFrame(kind, 0, "x"));
    return [merger.endedInOutput, merger.ended];
  };
  assertEquals([stdout, stderr, result, lost, stdout].map(stateAfter), [
    [true, false],
    [true, false],
    [false, false],
    [false, true],
    [true, true],
  ]);
});

Deno.test("FrameMerger throws on a header that announces too large a payload", () => {
  const head = encodeFrame(stdout, 0, "").slice();
  new DataView(head.buffer).setUint32(0, MAX_FRAME_BYTES + 1, true);
  assertThrows(() => new FrameMerger(1).push(head), RangeError, "must be at most 67108864 bytes");
});
