import { assertEquals, assertRejects } from "@std/assert";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import {
  AdmissionQueue,
  type AdmissionQueueOptions,
  type HeldSlots,
} from "../../../src/server/admission/admission_queue.ts";

/** A queue whose requests are noted when they are admitted. */
class NotedQueue {
  readonly admitted: string[] = [];
  readonly #queue: AdmissionQueue;

  constructor(options: Partial<AdmissionQueueOptions> & { slots: number }) {
    this.#queue = new AdmissionQueue({ waitMs: 60_000, ...options });
  }

  /** Requests slots, and notes the name when they are admitted. */
  async take(
    name: string,
    slots: number,
    options: { owner?: string; signal?: AbortSignal } = {},
  ): Promise<HeldSlots> {
    const { owner = "", signal = new AbortController().signal } = options;
    const { slot } = await this.#queue.run(() => Promise.resolve(), { owner, slots, signal });
    this.admitted.push(name);
    return slot;
  }

  tryTake(owner: string, slots: number): HeldSlots | undefined {
    return this.#queue.tryTake(owner, slots);
  }
}

/** Lets requests that can be admitted go on. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

Deno.test("AdmissionQueue.run() takes several slots at once, so that two requests do not wait for each other", async () => {
  const queue = new NotedQueue({ slots: 4 });
  const first = await queue.take("first", 3);
  const second = queue.take("second", 3);
  await settle();
  assertEquals(queue.admitted, ["first"]);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  assertEquals(queue.admitted, ["first", "second"]);
});

Deno.test("AdmissionQueue.run() serves the requests of an owner in their order", async () => {
  const queue = new NotedQueue({ slots: 4 });
  const held = await queue.take("held", 2);
  const large = queue.take("large", 3);
  const small = queue.take("small", 1);
  await settle();
  assertEquals([queue.admitted, queue.tryTake("", 1)], [["held"], undefined]);
  held[Symbol.dispose]();
  await Promise.all([large, small]);
  assertEquals(queue.admitted, ["held", "large", "small"]);
});

Deno.test("AdmissionQueue.run() lets the next request go on when the one before it is aborted", async () => {
  const queue = new NotedQueue({ slots: 4 });
  await queue.take("held", 2);
  const abort = new AbortController();
  const large = queue.take("large", 3, { signal: abort.signal });
  const small = queue.take("small", 1);
  abort.abort(new ServerError("unavailable", "stop"));
  await assertRejects(() => large, ServerError, "stop");
  await small;
  assertEquals(queue.admitted, ["held", "small"]);
});

Deno.test("HeldSlots.shrink() admits all requests for which there are slots then", async () => {
  const queue = new NotedQueue({ slots: 4 });
  const held = await queue.take("held", 4);
  const waiting = [queue.take("one", 1), queue.take("two", 2), queue.take("three", 1)];
  held.shrink(1);
  await Promise.all(waiting.slice(0, 2));
  await settle();
  assertEquals(queue.admitted, ["held", "one", "two"]);
  held[Symbol.dispose]();
  await waiting[2];
});

Deno.test("HeldSlots.split() returns slots that are freed one by one, each once", async () => {
  const queue = new NotedQueue({ slots: 3 });
  const [first, second, third] = (await queue.take("held", 3)).split();
  const waiting = ["one", "two"].map((name) => queue.take(name, 1));
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  await settle();
  assertEquals(queue.admitted, ["held", "one"]);
  third?.[Symbol.dispose]();
  await Promise.all(waiting);
  assertEquals(queue.tryTake("", 1), undefined);
  second?.[Symbol.dispose]();
  queue.tryTake("", 1)?.[Symbol.dispose]();
});

Deno.test("AdmissionQueue.run() rejects a request that could never have its slots", async () => {
  const queue = new NotedQueue({ slots: 4, slotsPerOwner: 3 });
  await assertRejects(() => queue.take("many", 4), RangeError);
});

Deno.test("a queue that keeps order lets small requests pass a large one only in their owner's share", async () => {
  const owners = 3; // a share of 2, and 6 slots for all
  for (const keepsOrder of [false, true]) {
    const queue = new NotedQueue({ slots: 12, owners, keepsOrder });
    const busy = await queue.take("busy", 4, { owner: "a" });
    const large = queue.take("large", 7, { owner: "b" });
    await queue.take("share", 2, { owner: "c" });
    const beyond = queue.take("beyond", 1, { owner: "c" });
    await settle();
    assertEquals(queue.admitted, ["busy", "share", ...keepsOrder ? [] : ["beyond"]]);
    busy[Symbol.dispose]();
    await large;
    (await large)[Symbol.dispose]();
    await beyond;
  }
});

Deno.test("AdmissionQueue.run() rejects with what keeps the owner waiting: use, reservations or its own limit", async () => {
  const reasonOf = async (options: Partial<AdmissionQueueOptions>, held: readonly string[], slots = 1) => {
    const queue = new AdmissionQueue({ slots: 2, waitMs: 60_000, ...options });
    const signal = new AbortController().signal;
    const start = () => Promise.resolve();
    for (const owner of held) await queue.run(start, { owner, signal });
    const error = await assertRejects(
      () => queue.run(start, { owner: "a", slots, waitMs: 1, signal }),
      ServerError,
    );
    assertEquals(error.code, "timeout");
    return error.message;
  };
  const share = "a token may hold 1 of 2, and the others are reserved for other tokens";
  const start = "No slot was free within 1 ms as ";
  assertEquals(await reasonOf({}, ["a", "b"]), `${start}all 2 are in use: retry later`);
  assertEquals(await reasonOf({ owners: 2 }, ["a"]), `${start}${share}: retry later`);
  const reserved = `${start}all 4 are in use or reserved for other tokens: retry later`;
  assertEquals(await reasonOf({ slots: 4, owners: 4 }, ["b", "b"], 2), reserved);
  const own = `${start}a token may hold 1 of 3: retry later`;
  assertEquals(await reasonOf({ slots: 3, slotsPerOwner: 1 }, ["a"]), own);
});

Deno.test("AdmissionQueue.run() rejects with reservations when the queue is full", async () => {
  const queue = new AdmissionQueue({ slots: 2, owners: 2, queue: 0, waitMs: 60_000 });
  const signal = new AbortController().signal;
  const run = () => queue.run(() => Promise.resolve(), { owner: "a", signal });
  await run();
  const error = await assertRejects(run, ServerError);
  assertEquals([error.code, error.message], [
    "busy",
    "No slot is free as a token may hold 1 of 2, and the others are reserved for other tokens, and 0 requests wait: retry later",
  ]);
});

Deno.test("AdmissionQueue.run() lets owners with equally many slots take turns, and one with fewer goes first", async () => {
  const queue = new NotedQueue({ slots: 4 });
  const held = await Promise.all(["h1", "h2"].map((name) => queue.take(name, 1, { owner: "h" })));
  await queue.take("b0", 1, { owner: "b" });
  await queue.take("c0", 1, { owner: "c" });
  const waiting = ["c1", "c2", "b1", "b2"].map((name) => queue.take(name, 1, { owner: name[0] ?? "" }));
  for (const next of held) next[Symbol.dispose]();
  await settle();
  assertEquals(queue.admitted.slice(4), ["c1", "b1"]);
  const late = queue.take("a1", 1, { owner: "a" });
  (await waiting[0])?.[Symbol.dispose]();
  await late;
  assertEquals(queue.admitted.slice(6), ["a1"]);
  (await waiting[2])?.[Symbol.dispose]();
  (await late)[Symbol.dispose]();
  await Promise.all(waiting);
});

Deno.test("a full AdmissionQueue rejects the newest request of the owner with most, and never those that are not counted", async () => {
  const queue = new AdmissionQueue({ slots: 1, queue: 3, waitMs: 60_000 });
  const stop = new AbortController();
  const { signal } = stop;
  const results: string[] = [];
  const run = (owner: string, name: string, isCounted = true) =>
    queue.run(() => Promise.resolve(), { owner, signal, isCounted }).then(
      () => void results.push(name),
      ({ code }) => void results.push(`${name} ${code}`),
    );
  await run("a", "held");
  const names = ["a1", "a2", "a3"];
  void run("a", "free", false);
  for (const name of names) void run("a", name);
  void run("b", "b1");
  await settle();
  assertEquals(results, ["held", "a3 busy"]);
  void run("a", "a4");
  await settle();
  assertEquals(results, ["held", "a3 busy", "a4 busy"]);
  assertEquals([queue.waiting("a"), queue.waiting("b"), queue.waiting()], [3, 1, 4]);
  stop.abort(new ServerError("unavailable", "stop"));
  await settle();
  assertEquals([queue.waiting(), results.length], [0, 7]);
});
