import { deriveSeed, seededRandom } from "../../../../src/seeded_random.ts";
import type { AnswerKinds, Draw } from "./answer.ts";
import { COLLECTIONS } from "./collections.ts";
import { EXPRESSIONS } from "./expressions.ts";
import { NUMBERS } from "./numbers.ts";

/** An expected answer and a reply. */
export interface GeneratedPair {
  /** Kind of the answer and form of the reply's answer, such as `fraction: decimal`. */
  readonly form: string;
  readonly truth: string;
  readonly reply: string;
  /** True if the answers are equal as mathematics. */
  readonly isEqual: boolean;
}

const KINDS: AnswerKinds = { ...NUMBERS, ...COLLECTIONS, ...EXPRESSIONS };

/** Endings of replies, with the answer for @. */
const ENDINGS = [
  "So it is \\boxed{@}.",
  "Hence $\\boxed{@}$.",
  "Therefore, the answer is $\\boxed{@}$.",
  "Adding both sides gives the result.\n\n\\[ \\boxed{@} \\]",
  "<think>Let me see, maybe 3?</think>The result is $\\boxed{@}$",
  "Final Answer: The final answer is $@$. I hope it is correct.",
  "<answer>$@$</answer>",
];

/** Share of the pairs whose answers are not equal. */
const WRONG_SHARE = 0.35;

/** Returns pairs of every kind in turn. The same seed gives the same pairs. */
export function generatePairs(count: number, seed: number): GeneratedPair[] {
  return Array.from({ length: count }, (_, at) => {
    const random = seededRandom(deriveSeed(seed, at));
    const draw: Draw = {
      integer: (min, max) => min + Math.floor(random() * (max - min + 1)),
      pick(items) {
        const item = items[Math.floor(random() * items.length)];
        if (item === undefined) throw new RangeError("Cannot pick as there must be an item: found none");
        return item;
      },
    };
    const [kind, answerOf] = draw.pick(Object.entries(KINDS));
    const { truth, equal, wrong } = answerOf(draw);
    const isEqual = random() >= WRONG_SHARE;
    const [name, given] = draw.pick(Object.entries(isEqual ? equal : wrong));
    const reply = draw.pick(ENDINGS).replace("@", () => given);
    return { form: `${kind}: ${name}`, truth, reply, isEqual };
  });
}
