import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { decodeMessage, encodeMessage, MessageError } from "../../../src/cluster/nats/message.ts";
import { callReplySchema, callSchema, controlSchema } from "../../../src/cluster/calls.ts";

Deno.test("decodeMessage() reads what encodeMessage() wrote", () => {
  const head = fc.dictionary(
    fc.string().filter((key) => key !== "parts" && key !== "__proto__"),
    fc.string(),
  );
  const parts = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 });
  fc.assert(fc.property(head, parts, (head, parts) => {
    const message = decodeMessage(encodeMessage(head, parts));
    assertEquals({ ...message.head }, { ...head });
    assertEquals(message.parts.map((part) => [...part]), parts.map((part) => [...part]));
  }));
});

Deno.test("decodeMessage() refuses bytes that are no message, with MessageError alone", () => {
  const bytes = encodeMessage({ op: "exec", code: "1" }, [new Uint8Array(9)]);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.nat({ max: 255 })), { maxLength: 8 }),
      fc.nat({ max: bytes.length }),
      (changes, length) => {
        const damaged = bytes.slice(0, length);
        for (const [at, byte] of changes) damaged[at] = byte;
        try {
          decodeMessage(damaged);
        } catch (error) {
          assert(error instanceof MessageError, String(error));
        }
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("decodeMessage() refuses parts that do not end with the message, and heads that are no objects", () => {
  const message = encodeMessage({ a: 1 }, [new Uint8Array(4)]);
  for (const length of [0, 3, 6, message.length - 1]) {
    assertThrows(() => decodeMessage(message.slice(0, length)), MessageError);
  }
  assertThrows(() => decodeMessage(new Uint8Array([...message, 0])), MessageError, "end with the message");
  const headed = (text: string) => {
    const head = new TextEncoder().encode(text);
    return new Uint8Array([head.length, 0, 0, 0, ...head]);
  };
  for (const text of ["[]", "null", "1", "{", '{"parts":[-1]}', '{"parts":{}}', "[".repeat(200)]) {
    assertThrows(() => decodeMessage(headed(text)), MessageError);
  }
});

Deno.test("a call with an unknown key, a foreign inbox or a path that is too long is refused", () => {
  const from = { caller: "abcdefghij", call: "1", owner: "" };
  const session = `${"abcdefghij"}${"A".repeat(30)}`;
  const read = { op: "read", ...from, session, path: "a" };
  assert(callSchema.safeParse(read).success);
  for (
    const wrong of [
      { ...read, more: 1 },
      { ...read, caller: "a.b.c" },
      { ...read, caller: "*" },
      { ...read, call: ">" },
      { ...read, owner: "me" },
      { ...read, session: "x" },
      { ...read, path: "a".repeat(2000) },
      { ...read, op: "delete" },
    ]
  ) assertEquals(callSchema.safeParse(wrong).success, false, JSON.stringify(wrong));
  assertEquals(
    controlSchema.safeParse({ op: "credit", caller: from.caller, call: "1", characters: -1 }).success,
    false,
  );
  assertEquals(callReplySchema.safeParse({ kind: "opened", session: "elsewhere" }).success, false);
});
