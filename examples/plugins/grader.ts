/**
 * Grader in its own file, for `--grader examples/plugins/grader.ts`. It runs in a process without permissions.
 *
 * It gives 1 for the right number, and a little less for each character beyond 200.
 */
import { defineGrader } from "@paddock/paddock/rewards";

const FREE_CHARACTERS = 200;
const COST_PER_CHARACTER = 0.001;

export default defineGrader({
  name: "brief",
  grade({ completion, answer }) {
    if (answer === undefined) return { score: null, reason: "the task has no answer" };
    const numbers = [...completion.matchAll(/-?\d+(?:\.\d+)?/g)].map(([text]) => Number(text));
    const right = numbers.includes(Number(answer)) ? 1 : 0;
    const extra = Math.max(0, completion.length - FREE_CHARACTERS);
    return { score: Math.max(0, right - COST_PER_CHARACTER * extra), parts: { right, extra } };
  },
});
