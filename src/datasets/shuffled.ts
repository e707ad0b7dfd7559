import { seededRandom } from "../seeded_random.ts";

/** Options of {@linkcode shuffleRows}. */
export interface ShuffleOptions {
  seed: number;
}

/** Size of the shuffle buffer, in items. */
const BUFFER_SIZE = 10_000;

/**
 * Yields the items in an order that is determined by the seed. For up to 10,000 items every order is equally
 * likely. For more, items are drawn from a buffer of 10,000, so that memory use stays constant; an item then
 * comes at most 10,000 positions early.
 */
export async function* shuffleRows<Item extends object>(
  items: AsyncIterable<Item>,
  options: ShuffleOptions,
): AsyncGenerator<Item> {
  const random = seededRandom(options.seed);
  const buffer: Item[] = [];
  for await (const item of items) {
    if (buffer.length < BUFFER_SIZE) buffer.push(item);
    else yield* buffer.splice(Math.floor(random() * BUFFER_SIZE), 1, item);
  }
  while (buffer.length > 0) {
    const [drawn] = buffer.splice(Math.floor(random() * buffer.length), 1);
    if (drawn !== undefined) yield drawn;
  }
}
