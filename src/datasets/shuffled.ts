import { seededRandom } from "../seeded_random.ts";

/** How {@linkcode shuffled} shuffles. */
export interface ShuffledOptions {
  seed: number;
}

/** How many items wait to be drawn. */
const HELD = 10_000;

/**
 * The items in an order that the seed decides. Of at most 10,000 items every order is as likely as any other; of
 * more, 10,000 are held and each item drawn from among them, so that memory stays flat: an item then comes at
 * most 10,000 places early.
 */
export async function* shuffled<Item extends object>(
  items: AsyncIterable<Item>,
  options: ShuffledOptions,
): AsyncGenerator<Item> {
  const random = seededRandom(options.seed);
  const held: Item[] = [];
  for await (const item of items) {
    if (held.length < HELD) held.push(item);
    else yield* held.splice(Math.floor(random() * HELD), 1, item);
  }
  while (held.length > 0) {
    const [drawn] = held.splice(Math.floor(random() * held.length), 1);
    if (drawn !== undefined) yield drawn;
  }
}
