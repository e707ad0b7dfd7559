import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DataLoadingPrimer, type DataLoadingPrimerOptions } from "../../src/datasets/data_loading_primer.ts";

function rows(count: number): { query: string }[] {
  return Array.from({ length: count }, (_, n) => ({ query: `q${n}` }));
}

function primerOf(count: number, options: DataLoadingPrimerOptions = {}): DataLoadingPrimer {
  return new DataLoadingPrimer({ dataloader: rows(count), ...options });
}

/** Takes a task for each of the given slots, or for all slots of a batch. */
async function takeAll(primer: DataLoadingPrimer, slots: number | number[]): Promise<unknown[]> {
  const slotNumbers = typeof slots === "number" ? Array.from({ length: slots }, (_, slot) => slot) : slots;
  return (await Promise.all(slotNumbers.map((slot) => primer.take(slot)))).map(({ query }) => query);
}

Deno.test("DataLoadingPrimer.take() returns tasks in order, one per slot, and starts over at the end", async () => {
  await using primer = primerOf(5);
  assertEquals(await takeAll(primer, 2), ["q0", "q1"]);
  assertEquals(await takeAll(primer, 2), ["q2", "q3"]);
  assertEquals(await takeAll(primer, 2), ["q4", "q0"]);
  assertEquals(await takeAll(primer, 2), ["q1", "q2"]);
});

Deno.test("DataLoadingPrimer.take() returns each task 'samples' times in a row", async () => {
  await using one = primerOf(3, { samples: 2 });
  for (const query of ["q0", "q0", "q1", "q1", "q2", "q2", "q0"]) {
    assertEquals(await takeAll(one, 1), [query]);
  }
  await using two = primerOf(3, { samples: 2 });
  assertEquals([await takeAll(two, 2), await takeAll(two, 2)], [["q0", "q0"], ["q1", "q1"]]);
  await using none = primerOf(3, { samples: null });
  assertEquals(await takeAll(none, 2), ["q0", "q1"]);
});

Deno.test("DataLoadingPrimer.take() uses up tasks only for the slots that are reset", async () => {
  await using primer = primerOf(9);
  assertEquals(await takeAll(primer, 3), ["q0", "q1", "q2"]);
  assertEquals(await takeAll(primer, [1]), ["q3"]);
  assertEquals(await takeAll(primer, [0, 2]), ["q4", "q5"]);
});

Deno.test("DataLoadingPrimer.take() gives adjacent slots the same task when 'groupSamples' is set", async () => {
  await using primer = primerOf(5, { samples: 3, groupSamples: true });
  assertEquals(await takeAll(primer, 6), ["q0", "q0", "q0", "q1", "q1", "q1"]);
  assertEquals(await takeAll(primer, 6), ["q2", "q2", "q2", "q3", "q3", "q3"]);
});

Deno.test("DataLoadingPrimer.take() gives each slot of a group the same sequence when their episodes end at different times", async () => {
  await using primer = primerOf(5, { samples: 2, groupSamples: true });
  assertEquals(await takeAll(primer, 4), ["q0", "q0", "q1", "q1"]);
  assertEquals(await takeAll(primer, [0]), ["q2"]);
  assertEquals(await takeAll(primer, [0]), ["q3"]);
  assertEquals(await takeAll(primer, [2]), ["q4"]);
  assertEquals(await takeAll(primer, [1, 3, 1]), ["q2", "q4", "q3"]);
});

Deno.test("DataLoadingPrimer.take() names the group of a task that several episodes share, distinct in each pass", async () => {
  await using grouped = primerOf(2, { samples: 2, groupSamples: true });
  const groupsOf = async (slots: number[]) =>
    await Promise.all(slots.map(async (slot) => (await grouped.take(slot)).group));
  const [first, second, third, fourth] = await groupsOf([0, 1, 2, 3]);
  assertEquals([first === second, third === fourth, first === third], [true, true, false]);
  const next = await groupsOf([2, 3]);
  assertEquals([next[0] === next[1], next[0] === first], [true, false]);
  grouped.reset();
  assertEquals(await groupsOf([0]), [first]);
  await using single = primerOf(2);
  assertEquals((await single.take()).group, undefined);
});

Deno.test("DataLoadingPrimer.reset() starts over at the first task", async () => {
  for (const options of [{}, { samples: 2 }, { batchSizeDl: 3 }, { samples: 2, groupSamples: true }]) {
    await using primer = primerOf(5, options);
    const first = await takeAll(primer, 3);
    await takeAll(primer, 2);
    primer.reset();
    assertEquals(await takeAll(primer, 3), first);
  }
});

Deno.test("DataLoadingPrimer calls 'dataloaderFactory' for each pass, and with pass 0 after reset()", async () => {
  const passes: number[] = [];
  const dataloaderFactory = (pass: number) => {
    passes.push(pass);
    return [{ query: `p${pass}` }];
  };
  await using primer = new DataLoadingPrimer({ dataloaderFactory });
  assertEquals(await takeAll(primer, 3), ["p0", "p1", "p2"]);
  primer.reset();
  assertEquals(await takeAll(primer, 1), ["p0"]);
  assertEquals(passes, [0, 1, 2, 0]);
});

Deno.test("DataLoadingPrimer splits batches of rows and of columns", async () => {
  const dataloader = [[{ query: "a" }, { query: "b" }], { text: ["c", "d"], answer: ["1", "2"] }];
  await using primer = new DataLoadingPrimer({ dataloader });
  assertEquals(await takeAll(primer, 5), ["a", "b", "c", "d", "a"]);
});

Deno.test("DataLoadingPrimer reads at most one batch ahead", async () => {
  let loaded = 0;
  function* loader() {
    for (const row of rows(100)) {
      loaded++;
      yield row;
    }
  }
  await using primer = new DataLoadingPrimer({ dataloaderFactory: loader, batchSizeDl: 4 });
  await takeAll(primer, 1);
  assertEquals(loaded, 4);
  await takeAll(primer, 3);
  assertEquals(loaded, 4);
});

Deno.test("DataLoadingPrimer.take() throws for an item that is not a mapping, and continues with the next", async () => {
  await using primer = new DataLoadingPrimer({
    dataloader: [{ query: "a" }, 7, { query: "b" }, { other: 1 }],
  });
  assertEquals(await takeAll(primer, 1), ["a"]);
  await assertRejects(() => primer.take(), TypeError, "Data loader must return a mapping");
  assertEquals(await takeAll(primer, 1), ["b"]);
  await assertRejects(() => primer.take(), SyntaxError, "must have a field 'query': found [other]");
  assertEquals(await takeAll(primer, 1), ["a"]);
});

Deno.test("DataLoadingPrimer.take() throws when the loader is empty", async () => {
  await using primer = primerOf(0);
  await assertRejects(() => primer.take(), TypeError, "must have at least one item: found none");
  await using dropping = primerOf(3, { collate: () => [] });
  await assertRejects(() => dropping.take(), TypeError, "must have at least one item");
});

Deno.test("DataLoadingPrimer.take() explains that a generator can be read only once", async () => {
  function* once() {
    yield* rows(2);
  }
  await using primer = new DataLoadingPrimer({ dataloader: once() });
  assertEquals(await takeAll(primer, 2), ["q0", "q1"]);
  await assertRejects(() => primer.take(), TypeError, "use a list or 'dataloaderFactory'");
});

Deno.test("DataLoadingPrimer does not use a failed loader again until reset()", async () => {
  let opened = 0;
  async function* breaking() {
    opened++;
    yield await Promise.resolve({ query: "a" });
    if (opened === 1) throw new Error("disk failed");
  }
  await using primer = new DataLoadingPrimer({ dataloaderFactory: breaking });
  assertEquals(await takeAll(primer, 1), ["a"]);
  for (let n = 0; n < 2; n++) await assertRejects(() => primer.take(), Error, "disk failed");
  primer.reset();
  assertEquals({ tasks: await takeAll(primer, 2), opened }, { tasks: ["a", "a"], opened: 3 });
});

Deno.test("DataLoadingPrimer.take() throws for each row of a batch when 'collate' throws, and continues with the next batch", async () => {
  let calls = 0;
  const collate = (batch: readonly Record<string, unknown>[]) => {
    if (calls++ === 0) throw new Error("no such field");
    return batch;
  };
  await using primer = primerOf(4, { batchSizeDl: 2, collate });
  for (let n = 0; n < 2; n++) await assertRejects(() => primer.take(), Error, "no such field");
  assertEquals(await takeAll(primer, 2), ["q2", "q3"]);
});

Deno.test("DataLoadingPrimer() throws without exactly one loader, and for numbers out of range", () => {
  assertThrows(() => new DataLoadingPrimer({}), TypeError, "Must provide exactly one of 'dataloader'");
  const both = { dataloader: [], dataloaderFactory: () => [] };
  assertThrows(() => new DataLoadingPrimer(both), TypeError, "Choose one");
  for (const samples of [-1, 0, 0.5]) assertThrows(() => primerOf(1, { samples }), RangeError, "'samples'");
  for (const batchSizeDl of [0, 1.5]) {
    assertThrows(() => primerOf(1, { batchSizeDl }), RangeError, "'batchSizeDl'");
  }
});

Deno.test("DataLoadingPrimer.dispose closes the loader, rejects pending calls, and does not wait for a loader that hangs", async () => {
  let closed = false;
  function* loader() {
    try {
      yield* rows(3);
    } finally {
      closed = true;
    }
  }
  const primer = new DataLoadingPrimer({ dataloaderFactory: loader });
  await primer.take();
  await primer[Symbol.asyncDispose]();
  await primer[Symbol.asyncDispose]();
  assert(closed);
  await assertRejects(() => primer.take(), Error, "disposed");
  const hanging = new DataLoadingPrimer({
    dataloader: { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) },
  });
  const waiting = assertRejects(() => hanging.take(), Error, "disposed");
  await hanging[Symbol.asyncDispose]();
  await waiting;
});
