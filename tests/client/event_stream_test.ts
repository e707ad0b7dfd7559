import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { SandboxError } from "../../src/errors.ts";
import { readEvents, type ReadEventsOptions, type ServerEvent } from "../../src/client/event_stream.ts";
import { HANG_MS } from "../deadline.ts";

type Bytes = Uint8Array<ArrayBuffer>;

async function read(chunks: readonly Bytes[], options?: ReadEventsOptions): Promise<ServerEvent[]> {
  async function* body() {
    yield* chunks;
  }
  return await Array.fromAsync(readEvents("exec", body(), options));
}

function bytesOf(text: string): Bytes {
  return new TextEncoder().encode(text);
}

const STREAM = 'event: stdout\r\ndata: {"text":"ä€😀"}\r\n\r\n: note\nid: 3\ndata: a\ndata:b\n\n' +
  "unknown: 1\nretry: x\nevent: result\rdata: {}\r\rdata: without an end\n";
const EVENTS = [
  { name: "stdout", data: '{"text":"ä€😀"}' },
  { name: "", data: "a\nb" },
  { name: "result", data: "{}" },
];

Deno.test("readEvents() reads all events with a data line that have ended, with any line ends", async () => {
  assertEquals(await read([bytesOf(STREAM)]), EVENTS);
  assertEquals(await read([bytesOf(`\ufeff${STREAM}`)]), EVENTS);
  assertEquals(await read([]), []);
  assertEquals(await read([bytesOf("event: ping\n\n")]), []);
});

Deno.test("readEvents() does not depend on how the bytes are split", async () => {
  const bytes = bytesOf(STREAM);
  const cuts = fc.array(fc.nat(bytes.length), { maxLength: 8 });
  await fc.assert(fc.asyncProperty(cuts, async (cuts) => {
    const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
    assertEquals(await read(ends.map((end, at) => bytes.slice(ends[at - 1] ?? 0, end))), EVENTS);
  }));
});

Deno.test("readEvents() yields an event before the stream ends", async () => {
  const gate = Promise.withResolvers<void>();
  async function* body() {
    yield bytesOf("data: 1\n\n");
    await gate.promise;
  }
  const events = readEvents("exec", body());
  assertEquals((await events.next()).value, { name: "", data: "1" });
  gate.resolve();
  assertEquals((await events.next()).done, true);
});

Deno.test("readEvents() rejects an event or a line that is too long, before it has ended", async () => {
  const options = { maxCharacters: 10_000 };
  const long = "x".repeat(9_000);
  assertEquals((await read([bytesOf(`data: ${long}\n\n`)], options)).length, 1);
  assertEquals((await read(Array(5).fill(bytesOf(`data: ${long}\n\n`)), options)).length, 5);
  const cases = [["data: ", long, long], [`data: ${long}\n`, `data: ${long}\n`], [":", long, long]];
  for (const chunks of cases) {
    await assertRejects(
      () => read(chunks.map(bytesOf), options),
      SandboxError,
      "Cannot exec as an event of the server must have at most 10000 characters: it has more",
    );
  }
});

Deno.test("readEvents() rejects bytes that are not UTF-8", async () => {
  for (const invalid of [[0xff], [0xe2, 0x82]]) {
    const chunks = [bytesOf("data: "), new Uint8Array(invalid)];
    await assertRejects(() => read(chunks), SandboxError, "must be UTF-8: found an invalid byte");
  }
});

Deno.test({
  name: "readEvents() reads a chunk of many empty lines before a carriage return in linear time",
  timeout: HANG_MS, // quadratic time takes longer
}, async () => {
  assertEquals(await read([bytesOf("\n".repeat(5_000_000) + "\r")]), []);
});
