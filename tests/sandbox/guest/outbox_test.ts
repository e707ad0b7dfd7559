import { assertEquals, assertThrows } from "@std/assert";
import { FrameWriter, Outbox } from "../../../src/sandbox/guest/outbox.ts";
import { KILL_SWITCH } from "../../../src/sandbox/guest/ring.ts";
import { type Frame, FrameKind, FrameSplitter } from "../../../src/sandbox/protocol.ts";

const { stdout, stderr, result } = FrameKind;
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const SESSION = 513;

/** Both ends of an outbox, and the frames that arrive at the host. */
function createEnds(options: { isDirect: boolean }) {
  const outbox = new Outbox();
  const splitter = new FrameSplitter();
  const interrupt = new Uint8Array(4);
  const frames: [number, number, string][] = [];
  let writes = 0;
  const receive = (bytes: Uint8Array) => {
    writes++;
    const toEntry = ({ kind, session, payload }: Frame) =>
      frames.push([kind, session, decoder.decode(payload)]);
    for (const frame of splitter.push(bytes.slice())) toEntry(frame);
  };
  const direct = options.isDirect ? { session: SESSION, write: receive } : undefined;
  const writer = new FrameWriter({ outbox: outbox.buffer, interrupt, direct });
  const add = (kind: FrameKind, text: string) => writer.add(kind, encoder.encode(text));
  return { outbox, writer, add, receive, interrupt, frames, countWrites: () => writes };
}

Deno.test("FrameWriter joins neighbouring output of one stream, and nothing else", () => {
  const { writer, add, frames, countWrites } = createEnds({ isDirect: true });
  const long = "x".repeat(5_000);
  add(stdout, "a");
  add(stdout, "");
  add(stdout, long);
  add(stderr, "b");
  add(stderr, "c");
  add(stdout, "d");
  add(result, "1");
  add(result, "2");
  assertEquals(frames, []);
  writer.send();
  add(stdout, "e");
  writer.send();
  assertEquals(frames, [
    [stdout, SESSION, `a${long}`],
    [stderr, SESSION, "bc"],
    [stdout, SESSION, "d"],
    [result, SESSION, "1"],
    [result, SESSION, "2"],
    [stdout, SESSION, "e"],
  ]);
  assertEquals(countWrites(), 2);
});

Deno.test("FrameWriter.add() writes what is there when a frame does not fit", () => {
  const { writer, add, frames } = createEnds({ isDirect: true });
  const large = "y".repeat(1 << 20);
  add(stdout, "a");
  add(result, large);
  add(stdout, "b");
  writer.send();
  assertEquals(frames, [[stdout, SESSION, "a"], [result, SESSION, large], [stdout, SESSION, "b"]]);
});

Deno.test("FrameWriter.send() sends nothing while the session is paused", () => {
  const { outbox, writer, add, receive, frames } = createEnds({ isDirect: true });
  outbox.setPaused(true);
  add(stdout, "a");
  writer.send();
  assertEquals(frames, []);
  outbox.setPaused(false);
  outbox.drain(receive);
  assertEquals(frames, [[stdout, SESSION, "a"]]);
});

Deno.test("FrameWriter.add() throws when the session is killed while it waits for room", () => {
  const { outbox, add, interrupt } = createEnds({ isDirect: true });
  outbox.setPaused(true);
  interrupt[KILL_SWITCH] = 1;
  assertThrows(() => add(result, "y".repeat(1 << 20)), Error, "the session was killed");
});

Deno.test("Outbox.drain() takes each byte once", () => {
  const { outbox, writer, add, receive, frames } = createEnds({ isDirect: true });
  add(stdout, "a");
  outbox.drain(receive);
  add(stdout, "b");
  outbox.drain(receive);
  outbox.drain(receive);
  writer.send();
  assertEquals(frames, [[stdout, SESSION, "a"], [stdout, SESSION, "b"]]);
});

Deno.test("Outbox.waitCall() resolves when the worker sends, and at once if it did before", async () => {
  const { outbox, writer, add, receive, frames } = createEnds({ isDirect: false });
  const seen = outbox.calls;
  const waits = outbox.waitCall(seen);
  add(stdout, "a");
  writer.send();
  assertEquals([await waits, await outbox.waitCall(seen)], [true, false]);
  outbox.drain(receive);
  assertEquals(frames, [[stdout, 0, "a"]]);
});

Deno.test("Outbox.drain() takes nothing from a worker that holds the lock, and at most the size of the outbox", () => {
  const { outbox, add, receive, frames, countWrites } = createEnds({ isDirect: false });
  const words = new Int32Array(outbox.buffer, 0, 5);
  add(stdout, "a");
  words[0] = 1;
  outbox.drain(receive);
  assertEquals(frames, []);
  words[0] = 0;
  words[1] = -1;
  let bytes = 0;
  outbox.drain((all) => bytes = all.length);
  assertEquals([bytes, countWrites()], [256 * 1024, 0]);
});
