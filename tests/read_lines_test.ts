import { assertEquals } from "@std/assert";
import { type Line, readLines } from "../src/read_lines.ts";
import { HANG_MS } from "./deadline.ts";

const encoder = new TextEncoder();

async function lines(...pieces: (string | number[])[]): Promise<Line[]> {
  const bytes = pieces.map((piece) =>
    typeof piece === "string" ? encoder.encode(piece) : new Uint8Array(piece)
  );
  return await Array.fromAsync(readLines(ReadableStream.from(bytes), { maxBytes: 8 }));
}

Deno.test("readLines() splits lines independently of chunk borders", async () => {
  assertEquals(await lines("a\nb", "c\n\nd", "", "e"), [
    ...["a", "bc", ""].map((text) => ({ text })),
    { text: "de", unended: true },
  ]);
  assertEquals(await lines([0xc3], [0xa9, 10], [0xc3, 0xa9]), [{ text: "é" }, { text: "é", unended: true }]);
  assertEquals(await lines(), []);
});

Deno.test("readLines() continues after a line that is too long or not UTF-8", async () => {
  assertEquals(await lines("12345678\n1234", "56789", "0\nok\n", [0xff, 10], [0xc3, 10], "end"), [
    { text: "12345678" },
    { fault: "a line must have at most 8 bytes: it has 10" },
    { text: "ok" },
    { fault: "a line must be UTF-8: found an invalid byte" },
    { fault: "a line must be UTF-8: found an invalid byte" },
    { text: "end", unended: true },
  ]);
});

Deno.test("readLines() supports a source that reuses its buffer", async () => {
  const buffer = new Uint8Array(3);
  async function* chunks() {
    for (const piece of ["abc", "de\n", "f\ng", "hi\n"]) {
      await Promise.resolve();
      encoder.encodeInto(piece, buffer);
      yield buffer;
    }
  }
  const read = await Array.fromAsync(readLines(chunks(), { maxBytes: 8 }));
  assertEquals(read, ["abcde", "f", "ghi"].map((text) => ({ text })));
});

Deno.test(
  { name: "readLines() copies a long line once, in however many pieces it comes", timeout: HANG_MS },
  async () => {
    const piece = encoder.encode("x".repeat(512));
    const count = 100_000;
    const maxBytes = count * piece.length;
    const [line] = await Array.fromAsync(
      readLines(ReadableStream.from(Array(count).fill(piece)), { maxBytes }),
    );
    assertEquals(line && "text" in line && line.text.length, maxBytes);
  },
);
