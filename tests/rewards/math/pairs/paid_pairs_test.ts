import { assertEquals } from "@std/assert";
import { parse } from "@std/jsonc";
import { z } from "zod";
import { type Grader, toScore } from "../../../../src/rewards/grader.ts";
import { math } from "../../../../src/rewards/math.ts";
import { replyContext } from "../../replies.ts";

/** Answers of many kinds. Each is graded against each. */
const answersSchema = z.record(z.string(), z.array(z.string()));
/** Pairs that are paid, with the reason why they are right. */
const reasonsSchema = z.array(z.union([
  z.strictObject({ reason: z.string().min(10), equal: z.array(z.string()).min(2) }),
  z.strictObject({
    reason: z.string().min(10),
    answers: z.array(z.string()).min(1),
    replies: z.array(z.string()).min(1),
    bothWays: z.literal(true).optional(),
  }),
]));

const COUNT = 419;
const answers = Object.values(answersSchema.parse(await readTable("answers.jsonc"))).flat();
const reasons = reasonsSchema.parse(await readTable("paid_pairs.jsonc"));

async function readTable(name: string): Promise<unknown> {
  return parse(await Deno.readTextFile(new URL(name, import.meta.url)));
}

function describePair(answer: string, reply: string): string {
  return `'${reply}' for '${answer}'`;
}

/** Returns all ordered pairs of two lists, without those of an answer with itself. */
function pairsOf(truths: readonly string[], replies: readonly string[]): string[] {
  return truths.flatMap((truth) =>
    replies.filter((reply) => reply !== truth).map((reply) => describePair(truth, reply))
  );
}

function isPaid(grader: Grader, answer: string, reply: string): boolean {
  const graded = grader.grade(replyContext(`\\boxed{${reply}}`, answer));
  if (graded instanceof Promise) throw new Error("a grader of answers need not wait");
  return toScore(graded).score === 1;
}

Deno.test(`math() pays exactly the pairs of ${COUNT} answers that have a reason`, () => {
  assertEquals(new Set(answers).size, COUNT);
  const grader = math();
  const paid = answers.flatMap((answer) =>
    answers.filter((reply) => reply !== answer && isPaid(grader, answer, reply))
      .map((reply) => describePair(answer, reply))
  );
  const listed = new Set(reasons.flatMap((entry) => {
    if ("equal" in entry) return pairsOf(entry.equal, entry.equal);
    const pairs = pairsOf(entry.answers, entry.replies);
    return entry.bothWays ? [...pairs, ...pairsOf(entry.replies, entry.answers)] : pairs;
  }));
  assertEquals(paid.filter((pair) => !listed.has(pair)), [], "paid without a reason");
  const paidSet = new Set(paid);
  assertEquals([...listed].filter((pair) => !paidSet.has(pair)), [], "listed, but not paid");
});

Deno.test("math() pays each of the answers for itself", () => {
  const grader = math();
  assertEquals(answers.filter((answer) => !isPaid(grader, answer, answer)), []);
});
