import { mapConcurrently } from "../../rollout/map_concurrently.ts";

/** How {@linkcode runLanes} runs. */
export interface RunLanesOptions<Item> {
  /** What items share that must run one after the other; an item without one shares nothing. */
  laneOf: (item: Item) => string | undefined;
  /** Lanes at once. */
  concurrency: number;
  signal: AbortSignal;
}

/** Runs the items of a batch, those of one lane in their order, and gives what came of each in its place. */
export async function runLanes<Item, Out>(
  items: readonly Item[],
  run: (item: Item, signal: AbortSignal) => Promise<Out>,
  { laneOf, concurrency, signal }: RunLanesOptions<Item>,
): Promise<Out[]> {
  const outcomes: Out[] = [];
  const lanes = Map.groupBy(items.entries(), ([at, item]) => laneOf(item) ?? at).values();
  const runLane = async (lane: readonly [number, Item][], signal: AbortSignal) => {
    for (const [at, item] of lane) outcomes[at] = await run(item, signal);
  };
  for await (const _ of mapConcurrently(lanes, runLane, { concurrency, signal }));
  return outcomes;
}
