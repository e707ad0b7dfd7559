import { assert, assertEquals, assertThrows } from "@std/assert";
import { derivedSeed, freshSeed, seededRandom } from "../src/seeded_random.ts";

function drawn(seed: number, count = 5): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
}

Deno.test("seededRandom() gives the same numbers for the same seed, and others for another", () => {
  const seeds = [0, 1, -1, 2, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  for (const seed of seeds) assertEquals(drawn(seed), drawn(seed));
  assertEquals(new Set(seeds.map((seed) => drawn(seed).join())).size, seeds.length);
});

Deno.test("seededRandom() fills the range from 0 to 1 evenly", () => {
  const shares = new Array<number>(10).fill(0);
  for (const number of drawn(7, 100_000)) {
    assert(number >= 0 && number < 1);
    shares[Math.floor(number * 10)] = (shares[Math.floor(number * 10)] ?? 0) + 1;
  }
  for (const share of shares) assert(Math.abs(share - 10_000) < 500, `${shares}`);
});

Deno.test("derivedSeed() gives each part a seed of its own", () => {
  const derived = [0, 1, 2].flatMap((seed) =>
    Array.from({ length: 500 }, (_, part) => derivedSeed(seed, part))
  );
  assertEquals(new Set(derived).size, 1500);
  assertEquals(derivedSeed(1, 2, 3), derivedSeed(1, 2, 3));
  assert(derivedSeed(1, 2, 3) !== derivedSeed(1, 3, 2));
});

Deno.test("seededRandom() refuses a seed that is no safe integer, and takes a fresh one", () => {
  for (const seed of [0.5, NaN, Infinity, 2 ** 60]) {
    assertThrows(() => seededRandom(seed), RangeError, "'seed'");
  }
  seededRandom(freshSeed());
});
