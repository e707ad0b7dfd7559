import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { MAX_MESSAGE_BYTES, MessageError } from "../../../src/cluster/nats/message.ts";
import { Seal } from "../../../src/cluster/nats/seal.ts";
import { Subjects } from "../../../src/cluster/nats/subjects.ts";
import { Assembler, toChunks, toWhole } from "../../../src/cluster/nats/transfer.ts";
import { Budget } from "../../../src/server/admission/budget.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";

const owner = "ab".repeat(32);

function assembler(total = 1_000_000): { parts: Assembler; memory: Budget } {
  const memory = new Budget({ total, owners: 2, unit: "bytes", advice: "send less" });
  return { parts: new Assembler(memory), memory };
}

Deno.test("an Assembler returns the message of its chunks, whatever their size, and frees its memory", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 3000 }),
      fc.integer({ min: 70, max: 900 }),
      (message, maxBytes) => {
        const { parts, memory } = assembler();
        const chunks = [...toChunks(message, { owner, maxBytes })];
        for (const chunk of chunks.slice(0, -1)) {
          assertEquals(parts.receive(chunk), undefined);
          assertEquals(memory.used(owner), message.length);
        }
        assertEquals([...parts.receive(chunks.at(-1) ?? new Uint8Array()) ?? []], [...message]);
        assertEquals(memory.used(), 0);
      },
    ),
  );
  assertEquals(assembler().parts.receive(toWhole(new Uint8Array([7]))), new Uint8Array([7]));
});

Deno.test("an Assembler refuses chunks that are repeated, missing or of another size", () => {
  const chunks = [...toChunks(new Uint8Array(500), { owner, maxBytes: 157 })];
  const [first, second, third] = chunks;
  if (!first || !second || !third) throw new Error("too few chunks");
  for (const order of [[second], [first, third], [first, first], [first, resized(second)]]) {
    const { parts, memory } = assembler();
    assertThrows(() => order.forEach((chunk) => parts.receive(chunk)), MessageError);
    assertEquals(memory.used(), 0);
  }
  const { parts } = assembler();
  for (const payload of [[], [2], [1, 2, 3]]) {
    assertThrows(() => parts.receive(new Uint8Array(payload)), MessageError);
  }
});

Deno.test("an Assembler takes memory of a message before it keeps a byte of it", () => {
  const { parts, memory } = assembler(1000);
  const begin = (total: number) => {
    const [chunk] = toChunks(new Uint8Array(200), { owner, maxBytes: 157 });
    if (!chunk) throw new Error("no chunk");
    new DataView(chunk.buffer).setUint32(49, total, true);
    return parts.receive(chunk);
  };
  assertThrows(() => begin(MAX_MESSAGE_BYTES + 1), MessageError, "at most");
  assertThrows(() => begin(900), ServerError);
  assertEquals(begin(400), undefined);
  assertThrows(() => begin(400), ServerError, "more bytes");
  assertEquals(memory.used(owner), 400);
  parts[Symbol.dispose]();
  assertEquals(memory.used(owner), 0);
});

Deno.test("Subjects.checkInbox() returns inboxes of its cluster alone", () => {
  const seal = new Seal(new Uint8Array(32), "a");
  const subjects = new Subjects("a", seal);
  const inbox = subjects.inbox("abcdefghij", "t12");
  assertEquals(subjects.checkInbox(inbox), inbox);
  for (
    const other of [
      undefined,
      "",
      new Subjects("b", seal).inbox("abcdefghij", "1"),
      subjects.node("abcdefghij"),
      `${inbox}.more`,
      subjects.inbox("abcdefghij", "*"),
      subjects.inbox("*", "1"),
      "$JS.API.STREAM.DELETE.x",
    ]
  ) assertEquals(subjects.checkInbox(other), undefined, other);
  for (const name of ["", "a.b", "*", ">", "a b", "x".repeat(65)]) {
    assertThrows(() => new Subjects(name, seal), TypeError);
  }
});

function resized(chunk: Uint8Array<ArrayBuffer>): Uint8Array {
  const copy = chunk.slice();
  new DataView(copy.buffer).setUint32(49, 501, true);
  return copy;
}
