import { assertEquals, assertRejects } from "@std/assert";
import { receiveState } from "../../../src/sandbox/checkpoint/transfer.ts";
import type { GuestLink } from "../../../src/sandbox/guest_link.ts";
import { DoneStatus, type Frame, FrameKind, PART_BYTES } from "../../../src/sandbox/protocol.ts";

/** A link whose guest answers a request with frames. Each part is overwritten once the link has passed it on. */
function linkOf(frames: readonly Frame[]): GuestLink {
  let onFrame = (_: Frame) => {};
  const link = {
    send() {
      for (const frame of frames) {
        onFrame(frame);
        if (frame.kind === FrameKind.part) frame.payload.fill(0);
      }
      return Promise.resolve();
    },
    listen: (listener?: { onFrame(frame: Frame): void }) => {
      if (listener) onFrame = (frame) => listener.onFrame(frame);
    },
    fail() {},
    alive: true,
  };
  return link as unknown as GuestLink;
}

function part(bytes: number, value: number): Frame {
  return { kind: FrameKind.part, session: 1, payload: new Uint8Array(bytes).fill(value) };
}

function done(): Frame {
  return { kind: FrameKind.done, session: 1, payload: new Uint8Array([DoneStatus.ok]) };
}

Deno.test("receiveState() copies each part as it arrives, into a buffer of the size of the state", async () => {
  const parts = Array.from({ length: 40 }, (_, at) => part(PART_BYTES, at + 1));
  const state = await receiveState(linkOf([...parts, part(7, 99), done()]), { maxBytes: 64 << 20 });
  assertEquals([state.length, state.buffer.byteLength], [40 * PART_BYTES + 7, 40 * PART_BYTES + 7]);
  const firsts = Array.from({ length: 41 }, (_, at) => state[at * PART_BYTES]);
  assertEquals(firsts, [...Array(40).keys()].map((at) => at + 1).concat(99));
});

Deno.test("receiveState() ends with the part that exceeds the size, and takes a state of the exact size", async () => {
  const whole = await receiveState(linkOf([part(PART_BYTES, 1), part(10, 2), done()]), {
    maxBytes: PART_BYTES + 10,
  });
  assertEquals(whole.length, PART_BYTES + 10);
  const larger = linkOf([part(PART_BYTES, 1), part(11, 2), done()]);
  await assertRejects(
    () => receiveState(larger, { maxBytes: PART_BYTES + 10 }),
    SyntaxError,
    "more than 65546",
  );
});
