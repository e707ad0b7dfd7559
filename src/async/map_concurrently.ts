/** Options of {@linkcode mapConcurrently}. */
export interface MapConcurrentlyOptions {
  /** Maximum number of concurrent runs. */
  concurrency: number;
  /** Results come in the order of the items, not in the order in which runs end; a waiting run counts as going on. */
  ordered?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** Event that the loop waits for: the next item or the end of a run. */
type LoopEvent<In, Out> =
  | { kind: "item"; item: In }
  | { kind: "end"; failure?: { error: unknown } }
  | { kind: "result"; run: Promise<LoopEvent<In, Out>>; result: Out };

/**
 * Calls `run` for each item and yields the results. Items are read only as fast as their results are used.
 *
 * If reading the items fails, the running calls end and their results are yielded before the error is thrown. If a
 * call rejects, `signal` is aborted or the caller stops, the signal of the running calls is aborted and they are
 * awaited.
 *
 * @throws {RangeError} if the concurrency is not a whole number of at least 1.
 */
export async function* mapConcurrently<In, Out>(
  items: AsyncIterable<In> | Iterable<In>,
  run: (item: In, signal: AbortSignal) => Promise<Out>,
  options: MapConcurrentlyOptions,
): AsyncGenerator<Out> {
  const { concurrency, ordered = false } = options;
  requireConcurrency(concurrency);
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
  const source = iterate(items);
  const running = new Set<Promise<LoopEvent<In, Out>>>();
  let pulling: Promise<LoopEvent<In, Out>> | undefined;
  let end: LoopEvent<In, Out> & { kind: "end" } | undefined;
  try {
    while (end === undefined || running.size > 0) {
      signal.throwIfAborted();
      if (end === undefined && running.size < concurrency) pulling ??= pull<In, Out>(source);
      const awaited = ordered ? [...running].slice(0, 1) : [...running];
      const news = await Promise.race(pulling === undefined ? awaited : [pulling, ...awaited]);
      if (news.kind === "result") {
        running.delete(news.run);
        yield news.result;
        continue;
      }
      pulling = undefined;
      if (news.kind === "end") end = news;
      else running.add(start(run, news.item, signal));
    }
    if (end.failure !== undefined) throw end.failure.error;
  } finally {
    stop.abort();
    await Promise.allSettled(running);
    // An item that never comes must not hold up the end.
    if (pulling === undefined) await source.return(undefined);
    else source.return(undefined).catch(() => {});
  }
}

/** Options of {@linkcode mapSequentialByKey}. */
export interface MapSequentialByKeyOptions<Item> {
  /** Returns the key of an item; items with the same key run in order, one at a time. `undefined` is no key. */
  keyOf: (item: Item) => string | undefined;
  /** Number of runs at once. */
  concurrency: number;
  signal?: AbortSignal | undefined;
}

/** Runs all items, items of a key in order, and returns the results in the order of the items. */
export async function mapSequentialByKey<Item, Out>(
  items: readonly Item[],
  run: (item: Item, signal: AbortSignal) => Promise<Out>,
  { keyOf, concurrency, signal }: MapSequentialByKeyOptions<Item>,
): Promise<Out[]> {
  const results: Out[] = [];
  const groups = Map.groupBy(items.entries(), ([index, item]) => keyOf(item) ?? index).values();
  const runGroup = async (group: readonly [number, Item][], signal: AbortSignal) => {
    for (const [index, item] of group) results[index] = await run(item, signal);
  };
  for await (const _ of mapConcurrently(groups, runGroup, { concurrency, signal }));
  return results;
}

function requireConcurrency(concurrency: number): void {
  if (Number.isInteger(concurrency) && concurrency >= 1) return;
  throw new RangeError(
    `Cannot run at once as 'concurrency' must be a whole number >= 1: current value is ${concurrency}`,
  );
}

async function* iterate<In>(items: AsyncIterable<In> | Iterable<In>): AsyncGenerator<In, undefined> {
  yield* items;
}

async function pull<In, Out>(source: AsyncIterator<In, undefined>): Promise<LoopEvent<In, Out>> {
  try {
    const { done, value } = await source.next();
    return done ? { kind: "end" } : { kind: "item", item: value };
  } catch (error) {
    return { kind: "end", failure: { error } };
  }
}

function start<In, Out>(
  run: (item: In, signal: AbortSignal) => Promise<Out>,
  item: In,
  signal: AbortSignal,
): Promise<LoopEvent<In, Out>> {
  const news: Promise<LoopEvent<In, Out>> = run(item, signal)
    .then((result) => ({ kind: "result", run: news, result }));
  // The promise may reject before the loop awaits the promise; the loop sees the rejection later.
  news.catch(() => {});
  return news;
}
