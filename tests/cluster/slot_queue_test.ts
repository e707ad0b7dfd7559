import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { NoReceiverError } from "../../src/cluster/call_codec.ts";
import type { Caller } from "../../src/cluster/caller.ts";
import type { Received } from "../../src/cluster/nats/nats_peer.ts";
import { Seal } from "../../src/cluster/nats/seal.ts";
import { Subjects } from "../../src/cluster/nats/subjects.ts";
import { SlotQueue, type SlotQueueOptions } from "../../src/cluster/slot_queue.ts";
import { PoolFullError, SandboxLostError } from "../../src/errors.ts";

/** Slots of a cluster without NATS. */
class FakeSlots {
  /** Number of calls that found no slot. */
  refused = 0;
  readonly caller: Caller;
  #free: number;
  readonly #listeners = new Set<(received: Received) => void>();

  constructor(free: number) {
    this.#free = free;
    this.caller = {
      peer: {
        subjects: new Subjects("default", new Seal(new Uint8Array(32), "default")),
        keyAdvice: "",
        receive: (_: string, listener: (received: Received) => void) => {
          this.#listeners.add(listener);
          return { unsubscribe: () => this.#listeners.delete(listener) };
        },
      },
      directory: { ofProfile: () => [{ slots: free }] },
    } as unknown as Caller;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Takes a slot, as a node does some time after the call was sent. */
  async take(): Promise<void> {
    await delay(1);
    if (this.#free === 0) {
      this.refused++;
      throw new NoReceiverError("no slot is free");
    }
    this.#free--;
  }

  release({ isAnnounced = true } = {}): void {
    this.#free++;
    if (!isAnnounced) return;
    for (const listener of this.#listeners) listener({ head: {}, sender: "abcdefghij", parts: [], bytes: 0 });
  }
}

function queueOf(
  slots: FakeSlots,
  options: Partial<SlotQueueOptions> = {},
): SlotQueue {
  const { signal: stop } = new AbortController();
  return new SlotQueue({
    caller: slots.caller,
    profile: "serve",
    maxWaiting: 100,
    waitMs: Infinity,
    stop,
    ...options,
  });
}

Deno.test("SlotQueue.run() gives the slots to the calls in their order, and asks for few that are taken", async () => {
  const slots = new FakeSlots(3);
  using queue = queueOf(slots);
  const order: number[] = [];
  await Promise.all(Array.from({ length: 60 }, async (_, at) => {
    await queue.run(() => slots.take());
    order.push(at);
    await delay(2);
    slots.release();
  }));
  assertEquals(order.toSorted((one, other) => one - other), Array.from({ length: 60 }, (_, at) => at));
  for (const [place, at] of order.entries()) assert(Math.abs(place - at) <= 3, order.join());
  assert(slots.refused < 60, `${slots.refused} calls found no slot`);
  assertEquals(queue.waiting, 0);
});

Deno.test("SlotQueue.run() finds a slot whose announcement was lost", async () => {
  const slots = new FakeSlots(0);
  using queue = queueOf(slots);
  const call = queue.run(() => slots.take());
  while (queue.waiting === 0 || slots.refused < 2) await delay(1);
  slots.release({ isAnnounced: false });
  await call;
  assertEquals(queue.waiting, 0);
});

Deno.test("SlotQueue.run() sends a call again when its node is lost before it has the call", async () => {
  const slots = new FakeSlots(1);
  using queue = queueOf(slots);
  let sent = 0;
  const value = await queue.run(async () => {
    if (sent++ === 0) throw new SandboxLostError("the node is lost");
    await slots.take();
    return sent;
  });
  assertEquals(value, 2);
});

Deno.test("SlotQueue.run() throws what the call throws, and the next one has the slot", async () => {
  const slots = new FakeSlots(1);
  using queue = queueOf(slots);
  await queue.run(() => slots.take());
  const failing = assertRejects(
    () =>
      queue.run(async () => {
        await slots.take();
        slots.release();
        throw new RangeError("wrong");
      }),
    RangeError,
    "wrong",
  );
  const next = queue.run(() => slots.take());
  while (queue.waiting < 2) await delay(1);
  slots.release();
  await failing;
  await next;
});

Deno.test("SlotQueue.run() refuses calls above its bound, after its time and with its signal", async () => {
  const slots = new FakeSlots(0);
  using queue = queueOf(slots, { maxWaiting: 1, waitMs: 50 });
  const late = assertRejects(
    () => queue.run(() => slots.take()),
    PoolFullError,
    "none was free within 50 ms",
  );
  while (queue.waiting === 0) await delay(1);
  const full = await assertRejects(() => queue.run(() => slots.take()), PoolFullError, "too many calls wait");
  assert(full.retryAfterMs >= 100);
  await late;
  const stop = new AbortController();
  const stopped = assertRejects(
    () => queue.run(() => slots.take(), { signal: stop.signal }),
    Error,
    "enough",
  );
  stop.abort(new Error("enough"));
  await stopped;
  assertEquals(queue.waiting, 0);
});

Deno.test("a SlotQueue without waiting calls receives no announcements", async () => {
  const slots = new FakeSlots(1);
  {
    using queue = queueOf(slots);
    await queue.run(() => slots.take());
    assertEquals(slots.listeners, 0);
    const call = queue.run(() => slots.take());
    while (slots.listeners === 0) await delay(1);
    slots.release();
    await call;
    assertEquals(slots.listeners, 1);
    while (slots.listeners > 0) await delay(50);
  }
  assertEquals(slots.listeners, 0);
});
