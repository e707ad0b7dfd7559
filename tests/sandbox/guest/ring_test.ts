import { assertEquals } from "@std/assert";
import { Ring } from "../../../src/sandbox/guest/ring.ts";

/** Creates both ends of a ring of 256 bytes. */
function createEnds(): { writer: Ring; reader: Ring } {
  const { buffer } = Ring.create(256);
  return { writer: new Ring(buffer), reader: new Ring(buffer) };
}

function readAll(reader: Ring): Uint8Array {
  const target = new Uint8Array(256);
  return target.slice(0, reader.readSome(target));
}

Deno.test("Ring carries short and long pieces across the end of its buffer", () => {
  const { writer, reader } = createEnds();
  let next = 0;
  for (const count of [1, 47, 48, 200, 3, 255, 256, 100, 0, 17]) {
    const bytes = Uint8Array.from({ length: count }, () => next++);
    assertEquals(writer.writeSome(bytes, 0), count);
    assertEquals(readAll(reader), bytes);
  }
});

Deno.test("Ring.writeSome() writes the given range, as far as there is room", () => {
  const { writer, reader } = createEnds();
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  assertEquals(writer.writeSome(bytes, 10, 20), 10);
  assertEquals(writer.writeSome(bytes, 0), 246);
  assertEquals(writer.writeSome(bytes, 0), 0);
  assertEquals(readAll(reader), new Uint8Array([...bytes.subarray(10, 20), ...bytes.subarray(0, 246)]));
});

Deno.test("Ring.waitRoom() resolves when the reader has read, and at once if it did before", async () => {
  const { writer, reader } = createEnds();
  writer.writeSome(new Uint8Array(256), 0);
  const seen = writer.read;
  const waits = writer.waitRoom(seen);
  readAll(reader);
  assertEquals([await waits, await writer.waitRoom(seen)], [true, false]);
});
