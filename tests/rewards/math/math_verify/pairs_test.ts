import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { math } from "../../../../src/rewards/math.ts";
import { toScore } from "../../../../src/rewards/grader.ts";
import { replyContext } from "../../replies.ts";
import { type GeneratedPair, generatePairs } from "./pairs.ts";

/** Seeds; `oracle_checks.ts` has another one. */
const SEEDS = [1, 2, 3, 4];
const PAIRS = 2_500;

for (const seed of SEEDS) {
  Deno.test(`math() accepts each equal answer of generated pairs and no other one, seed ${seed}`, async () => {
    const wrong: GeneratedPair[] = [];
    for (const pair of generatePairs(PAIRS, seed)) {
      const { parts } = toScore(await math().grade(replyContext(pair.reply, pair.truth)));
      if ((parts?.success === 1) !== pair.isEqual) wrong.push(pair);
    }
    assertEquals(wrong, []);
  });
}

Deno.test("generatePairs() returns the same pairs for the same seed, of every kind and form", () => {
  const pairs = generatePairs(PAIRS, 1);
  assertEquals(generatePairs(PAIRS, 1), pairs);
  assertNotEquals(generatePairs(PAIRS, 2), pairs);
  const kinds = new Set(pairs.map(({ form }) => form.split(":", 1)[0]));
  assert(kinds.size > 30, `${kinds.size} kinds`);
});
