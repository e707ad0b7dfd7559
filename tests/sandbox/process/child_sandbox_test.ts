import { assert, assertEquals } from "@std/assert";
import { Child } from "../../../src/sandbox/process/child.ts";
import { type Frame, FrameKind } from "../../../src/sandbox/protocol.ts";

const ECHO = { program: "cat", args: [], env: { PATH: Deno.env.get("PATH") ?? "" } };
const SIZES = [0, 1, 300, 8 * 1024, 64 * 1024, 300_000];

/** Sends frames to a process that sends all of them back. Returns what it has sent. */
async function echo(payloads: readonly Uint8Array[]): Promise<Frame[]> {
  const frames: Frame[] = [];
  const child = new Child(ECHO, (frame) => {
    frames.push(frame);
    if (frames.length === payloads.length) child.kill();
  });
  for (const payload of payloads) await child.send(FrameKind.stdout, 1, payload);
  await child.ended;
  return frames;
}

Deno.test("Child passes on frames that their receiver may keep", async () => {
  const payloads = [...SIZES, ...SIZES.toReversed()].map((size, at) => new Uint8Array(size).fill(at + 1));

  const frames = await echo(payloads);

  const isSame = frames.map(({ payload }, at) => payload.every((byte) => byte === at + 1));
  assertEquals(frames.map(({ payload }) => payload.length), payloads.map(({ length }) => length));
  assertEquals(isSame, payloads.map(() => true));
});

Deno.test("Child takes no buffer of a large read for a short frame", async () => {
  const [frame] = await echo([new Uint8Array(300)]);

  assert(frame && frame.payload.buffer.byteLength < 1024);
});
