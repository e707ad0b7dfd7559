import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { encodeText } from "../../src/sandbox/protocol.ts";

Deno.test("encodeText() writes unpaired surrogates as Python's 'surrogatepass' does", () => {
  const hex = (text: string) => encodeText(text).toHex();
  assertEquals(hex("aé€😀"), "61c3a9e282acf09f9880");
  assertEquals(hex("\ud800"), "eda080");
  assertEquals(hex("\udfff\ud800"), "edbfbfeda080");
  assertEquals(hex("é\ud83d😀\ude00�"), "c3a9eda0bdf09f9880edb880efbfbd");
});

Deno.test("encodeText() writes well-formed text as UTF-8 beside an unpaired surrogate", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (before, after) => {
    const utf8 = (text: string) => new TextEncoder().encode(text).toHex();
    assertEquals(encodeText(`${before}\udc00${after}`).toHex(), `${utf8(before)}edb080${utf8(after)}`);
  }));
});
