import { assert, assertEquals, assertRejects } from "@std/assert";
import { MAX_MESSAGE, messageLines } from "../../../src/tools/mcp/message_lines.ts";

function lines(...pieces: string[]): Promise<string[]> {
  return Array.fromAsync(messageLines(ReadableStream.from(pieces)));
}

Deno.test("messageLines() splits lines that arrive in any chunks", async () => {
  assertEquals(await lines("a", "b\nc\n\n", "", "d", "\ne\nunended"), ["ab", "c", "", "d", "e"]);
  assertEquals(await lines(), []);
});

Deno.test("messageLines() reads the longest allowed line from many chunks in linear time", async () => {
  const piece = "x".repeat(4096);
  const pieces = new Array<string>(MAX_MESSAGE / piece.length).fill(piece);
  const startMs = performance.now();
  const [line] = await lines(...pieces, "\n");
  const tookMs = performance.now() - startMs;
  assertEquals(line?.length, MAX_MESSAGE);
  assert(tookMs < 30_000, `it took ${tookMs} ms`);
});

Deno.test("messageLines() refuses a line longer than a message, ended or not", async () => {
  const piece = "x".repeat(MAX_MESSAGE / 4);
  await assertRejects(() => lines(piece, piece, piece, piece, "x"), RangeError, "must have at most");
});
