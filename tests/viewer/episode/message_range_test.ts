import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Message } from "../../../src/message.ts";
import { messageRange, previousFrom, textLimit } from "../../../src/viewer/episode/message_range.ts";

const limits = { text: 100, page: 1_000 };

function messagesOf(lengths: readonly number[]): Message[] {
  return lengths.map((length) => ({ role: "user", content: "x".repeat(length) }));
}

Deno.test("messageRange() divides any messages into pages without a gap, each with little text", () => {
  fc.assert(fc.property(fc.array(fc.nat(300), { minLength: 1, maxLength: 800 }), (lengths) => {
    const messages = messagesOf(lengths);
    for (let from = 0; from < messages.length;) {
      const range = messageRange(messages, { from, limits });
      assertEquals(range.from, from);
      assert(range.to > from && range.to - from <= 300);
      const shown = lengths.slice(from, range.to).reduce((sum, length) => sum + Math.min(length, 100), 0);
      assert(shown <= 1_000);
      from = range.to;
    }
  }));
});

Deno.test("messageRange() begins within the messages, and shows one that is larger than a page", () => {
  assertEquals(messageRange(messagesOf([1, 2, 3]), { from: 99, limits }), { from: 2, to: 3 });
  assertEquals(messageRange([], { from: 5, limits }), { from: 0, to: 0 });
  const large = [{ role: "user", content: "x".repeat(5_000) }];
  assertEquals(messageRange(large, { from: 0, limits: { text: 9_999, page: 10 } }), { from: 0, to: 1 });
});

Deno.test("textLimit() divides the text of a page among many parts", () => {
  const part = { type: "text", text: "x" } as const;
  const message = { role: "user", content: Array(99).fill(part) };
  assertEquals(textLimit(message, limits), 10);
  assertEquals(textLimit({ role: "user", content: "x" }, limits), 100);
});

Deno.test("previousFrom() is the page before, or the first message", () => {
  assertEquals([previousFrom({ from: 900, to: 950 }), previousFrom({ from: 20, to: 30 })], [600, 0]);
});
