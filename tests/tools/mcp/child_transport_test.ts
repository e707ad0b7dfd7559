import { assertEquals, assertRejects } from "@std/assert";
import { splitLines } from "../../../src/tools/mcp/child_transport.ts";
import { MAX_MESSAGE_LENGTH } from "../../../src/tools/mcp/message_limits.ts";
import { HANG_MS } from "../../deadline.ts";

function lines(...pieces: string[]): Promise<string[]> {
  return Array.fromAsync(splitLines(ReadableStream.from(pieces)));
}

Deno.test("splitLines() splits lines that arrive in any chunks", async () => {
  assertEquals(await lines("a", "b\nc\n\n", "", "d", "\ne\nunended"), ["ab", "c", "", "d", "e"]);
  assertEquals(await lines(), []);
});

Deno.test({
  name: "messageLines() reads the longest allowed line once, however many chunks it comes in",
  timeout: HANG_MS,
}, async () => {
  const piece = "x".repeat(1024);
  const pieces = new Array<string>(MAX_MESSAGE_LENGTH / piece.length).fill(piece);
  const [line] = await lines(...pieces, "\n");
  assertEquals(line?.length, MAX_MESSAGE_LENGTH);
});

Deno.test("splitLines() refuses a line longer than a message, ended or not", async () => {
  const piece = "x".repeat(MAX_MESSAGE_LENGTH / 4);
  await assertRejects(() => lines(piece, piece, piece, piece, "x"), RangeError, "must have at most");
});
