import { assertEquals, assertRejects } from "@std/assert";
import { mapConcurrently } from "../../src/async/map_concurrently.ts";

function waits(ms: number, signal?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(ms), ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

Deno.test("mapConcurrently() gives results as they come, or in the order of the items", async () => {
  const items = [3, 1, 2];
  const resultsOf = async (ordered: boolean) => {
    const runs = new Map(items.map((item) => [item, Promise.withResolvers<number>()]));
    const run = async (item: number) => await runs.get(item)?.promise ?? NaN;
    const results = Array.fromAsync(mapConcurrently(items, run, { concurrency: 3, ordered }));
    for (const item of [1, 2, 3]) {
      runs.get(item)?.resolve(item);
      await waits(0);
    }
    return await results;
  };
  assertEquals(await resultsOf(false), [1, 2, 3]);
  assertEquals(await resultsOf(true), items);
});

Deno.test("mapConcurrently() takes items no faster than it runs them", async () => {
  let taken = 0;
  let running = 0;
  let most = 0;
  function* items() {
    while (true) yield taken++;
  }
  const run = async (item: number) => {
    most = Math.max(most, ++running);
    await waits(1);
    running--;
    return item;
  };
  for await (const item of mapConcurrently(items(), run, { concurrency: 3 })) if (item >= 20) break;
  assertEquals({ most, few: taken < 30, running }, { most: 3, few: true, running: 0 });
});

Deno.test("mapConcurrently() gives what is going on before it throws the error of the items", async () => {
  const isSecondOver = Promise.withResolvers<void>();
  async function* items() {
    yield await waits(2);
    yield await waits(1);
    throw new SyntaxError("broken item");
  }
  const run = async (item: number) => {
    if (item === 2) await isSecondOver.promise;
    else isSecondOver.resolve();
    return item;
  };
  const given: number[] = [];
  await assertRejects(
    async () => {
      for await (const ms of mapConcurrently(items(), run, { concurrency: 5 })) given.push(ms);
    },
    SyntaxError,
    "broken item",
  );
  assertEquals(given, [1, 2]);
});

for (const ordered of [true, false]) {
  const how = ordered ? "ordered" : "as they come";
  Deno.test(`mapConcurrently() aborts its runs and waits for them when one rejects, ${how}`, async () => {
    let aborted = 0;
    const run = async (item: number, signal: AbortSignal) => {
      if (item === 1) throw await waits(5).then(() => new Error("one"));
      return await waits(60_000, signal).finally(() => aborted++);
    };
    const results = mapConcurrently([1, 2, 3], run, { concurrency: 3, ordered });
    await assertRejects(() => results.next(), Error, "one");
    assertEquals(aborted, 2);
  });
}

Deno.test("mapConcurrently() ends with the signal's reason, even if an item never comes", async () => {
  const abort = new AbortController();
  async function* items() {
    yield 60_000;
    await new Promise(() => {});
  }
  const results = mapConcurrently(items(), waits, { concurrency: 2, signal: abort.signal });
  setTimeout(() => abort.abort(new RangeError("enough")), 5);
  await assertRejects(() => results.next(), RangeError, "enough");
});

Deno.test("mapConcurrently() refuses a concurrency that runs nothing", async () => {
  for (const concurrency of [0, -1, 0.5, NaN]) {
    await assertRejects(
      () => mapConcurrently([1], waits, { concurrency }).next(),
      RangeError,
      "'concurrency'",
    );
  }
});
