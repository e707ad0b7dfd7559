import { assertEquals, assertThrows } from "@std/assert";
import { SessionFrames } from "../../../src/sandbox/guest/worker_link.ts";
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

/** Pushes bytes in pieces of `size` and returns the frames of the session. */
function framesOf(bytes: Uint8Array, size: number): [number, number, string][] {
  const frames = new SessionFrames(7);
  const splitter = new FrameSplitter();
  const found: [number, number, string][] = [];
  for (let at = 0; at < bytes.length; at += size) {
    for (const { kind, session, payload } of splitter.push(frames.push(bytes.slice(at, at + size)))) {
      found.push([kind, session, decoder.decode(payload)]);
    }
  }
  return found;
}

Deno.test("SessionFrames keeps all frames for every piece size, and sets their session", () => {
  const texts = ["", "a", "bc".repeat(30), LONG, "d"];
  const sent = texts.flatMap((text) => [stdout, stderr, result].map((kind) => [kind, text] as const));
  const bytes = join(sent.map(([kind, text]) => encodeFrame(kind, 3, text)));
  for (const size of [1, 3, 7, 8, 9, 100, 4_096, bytes.length]) {
    assertEquals(framesOf(bytes, size), sent.map(([kind, text]) => [kind, 7, text]));
  }
});

Deno.test("SessionFrames returns nothing of a frame that is not whole", () => {
  const frames = new SessionFrames(1);
  const bytes = encodeFrame(stdout, 0, "abc");
  assertEquals(frames.push(bytes.slice(0, -1)).length, 0);
  assertEquals(frames.push(bytes.slice(-1)), encodeFrame(stdout, 1, "abc"));
});

Deno.test("SessionFrames reports the end of the worker", () => {
  const frames = new SessionFrames(1);
  const isEndedAfter = (kind: FrameKind) => {
    frames.push(encodeFrame(kind, 0, "x"));
    return frames.ended;
  };
  assertEquals([stdout, result, lost, stdout].map(isEndedAfter), [false, false, true, true]);
});

Deno.test("SessionFrames throws on a header that announces too large a payload", () => {
  const head = encodeFrame(stdout, 0, "").slice();
  new DataView(head.buffer).setUint32(0, MAX_FRAME_BYTES + 1, true);
  assertThrows(() => new SessionFrames(1).push(head), RangeError, "must be at most 67108864 bytes");
});
