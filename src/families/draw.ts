import { type Random, seededRandom } from "../seeded_random.ts";

/** Random choices of a seed. */
export class Draw {
  readonly #random: Random;

  /** @throws {RangeError} if the seed is not a safe integer. */
  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** Returns an integer from `min` to `max`, both inclusive. */
  int(min: number, max: number): number {
    return min + Math.floor(this.#random() * (max - min + 1));
  }

  /** Returns true with a probability. */
  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** Returns an element of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    const item = list[this.int(0, list.length - 1)];
    if (item === undefined) {
      throw new RangeError("Cannot pick an item as the list must have one: it is empty");
    }
    return item;
  }

  /** Returns a copy of a list in random order. */
  shuffle<T>(list: readonly T[]): T[] {
    const shuffled = [...list];
    for (let at = shuffled.length - 1; at > 0; at--) {
      const other = this.int(0, at);
      [shuffled[at], shuffled[other]] = [shuffled[other] as T, shuffled[at] as T];
    }
    return shuffled;
  }

  /** Returns `count` different elements of a list, or all if the list is shorter. */
  sample<T>(list: readonly T[], count: number): T[] {
    return this.shuffle(list).slice(0, count);
  }
}

/** Attempts after which {@linkcode until} gives up. */
const MAX_ATTEMPTS = 2_000;

/**
 * Repeats an attempt until it returns a value.
 *
 * @throws {Error} if no attempt of many succeeds, which is a fault of the generator.
 */
export function until<T>(attempt: () => T | undefined): T {
  for (let count = 0; count < MAX_ATTEMPTS; count++) {
    const value = attempt();
    if (value !== undefined) return value;
  }
  throw new Error(`Cannot generate a problem as an attempt must succeed: ${MAX_ATTEMPTS} have failed`);
}
