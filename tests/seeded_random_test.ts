import { assert, assertEquals, assertThrows } from "@std/assert";
import { deriveSeed, randomSeed, seededRandom } from "../src/seeded_random.ts";

function draw(seed: number, count = 5): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
}

Deno.test("seededRandom() returns the same numbers for the same seed, and different ones for another seed", () => {
  const seeds = [0, 1, -1, 2, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  for (const seed of seeds) assertEquals(draw(seed), draw(seed));
  assertEquals(new Set(seeds.map((seed) => draw(seed).join())).size, seeds.length);
});

Deno.test("seededRandom() returns numbers distributed evenly from 0 to 1", () => {
  const shares = new Array<number>(10).fill(0);
  for (const number of draw(7, 100_000)) {
    assert(number >= 0 && number < 1);
    shares[Math.floor(number * 10)] = (shares[Math.floor(number * 10)] ?? 0) + 1;
  }
  for (const share of shares) assert(Math.abs(share - 10_000) < 500, `${shares}`);
});

Deno.test("deriveSeed() returns a different seed for each part", () => {
  const derived = [0, 1, 2].flatMap((seed) =>
    Array.from({ length: 500 }, (_, part) => deriveSeed(seed, part))
  );
  assertEquals(new Set(derived).size, 1500);
  assertEquals(deriveSeed(1, 2, 3), deriveSeed(1, 2, 3));
  assert(deriveSeed(1, 2, 3) !== deriveSeed(1, 3, 2));
});

Deno.test("seededRandom() throws for a seed that is not a safe integer, and accepts randomSeed()", () => {
  for (const seed of [0.5, NaN, Infinity, 2 ** 60]) {
    assertThrows(() => seededRandom(seed), RangeError, "'seed'");
  }
  seededRandom(randomSeed());
});
