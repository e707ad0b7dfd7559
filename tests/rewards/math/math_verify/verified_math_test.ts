import { assertEquals, assertThrows } from "@std/assert";
import { math } from "../../../../src/rewards/math.ts";
import type { AnswerPair, Verdict } from "../../../../src/rewards/math/math_verify/verifier.ts";
import { verifiedMath } from "../../../../src/rewards/math/math_verify/verified_math.ts";
import { WHEELS } from "../../../../src/rewards/math/math_verify/wheels.ts";
import { TempFolder } from "../../../temp_folder.ts";
import { replyContext } from "../../replies.ts";

/** Grades with a verifier that records its pairs and always returns `verdict`. */
async function grade(reply: string, answer: string | undefined, verdict: Verdict = { isEqual: true }) {
  const pairs: AnswerPair[] = [];
  const compare = (pair: AnswerPair) => {
    pairs.push(pair);
    return Promise.resolve(verdict);
  };
  const open = () => Promise.resolve({ compare, [Symbol.asyncDispose]: () => Promise.resolve() });
  await using grader = verifiedMath({ verifier: "math-verify" }, open);
  return { score: await grader.grade(replyContext(reply, answer)), pairs };
}

Deno.test("math() refuses the verifier 'math-verify' when its wheels are missing, and names the command in one line", async () => {
  await using folder = await TempFolder.of();
  const error = assertThrows(
    () => math({ verifier: "math-verify", cacheDir: folder.path }),
    Deno.errors.NotFound,
    "run 'deno task fetch-math-verify' once",
  );
  assertEquals(error.message.split("\n").length, 1);
});

Deno.test("math() refuses the verifier 'math-verify' when one wheel of five is missing, and names it", async () => {
  const [last, ...others] = WHEELS.toReversed();
  const files = Object.fromEntries(others.map(({ file }) => [`math-verify/${file}`, ""]));
  await using folder = await TempFolder.of(files);
  const make = () => math({ verifier: "math-verify", cacheDir: folder.path });
  assertThrows(make, Deno.errors.NotFound, `'${last?.file}' is missing`);
  await Deno.writeTextFile(`${folder.path}/math-verify/${last?.file}`, "");
  await make()[Symbol.asyncDispose](); // nothing was started
});

Deno.test("math() refuses the verifier 'math-verify' when an option is out of range", () => {
  for (
    const options of [{ size: 0 }, { size: 1.5 }, { timeoutMs: 0 }, { timeoutMs: 1e9 }, { formatReward: NaN }]
  ) {
    assertThrows(() => math({ verifier: "math-verify", ...options }), RangeError, "Cannot");
  }
});

Deno.test("math() with math-verify scores by tiers", async () => {
  const parts = { reward_answer: 1, reward_think: 1, reward_right: 1, success: 1 };
  const { score } = await grade("<think>7</think><answer>5</answer>", "5");
  assertEquals(score, { score: 1, parts });
  const { score: wrong } = await grade("<answer>5</answer>", "5", { isEqual: false });
  assertEquals(wrong, {
    score: 0.1,
    parts: { reward_answer: 1, reward_think: 0, reward_right: 0.1, success: 0 },
  });
  const { score: untagged } = await grade("It is 5.", "6", { isEqual: false });
  assertEquals(untagged, {
    score: 0,
    parts: { reward_answer: 0, reward_think: 0, reward_right: 0, success: 0 },
  });
});

Deno.test("math() with math-verify has no score for a pair without verdict, and gives the reason", async () => {
  const { score } = await grade("\\boxed{9^{9^{9}}}", "5", { unjudged: "deadline exceeded: …" });
  assertEquals(score, { score: null, reason: "deadline exceeded: …" });
});

Deno.test("math() with math-verify has no score for a task without answer, and compares nothing", async () => {
  for (const answer of [undefined, "", "  ", "\\boxed{", "\\boxed{}"]) {
    assertEquals(await grade("\\boxed{5}", answer), { score: null, pairs: [] }, answer);
  }
});

Deno.test("math() with math-verify scores an empty reply without a comparison", async () => {
  for (const reply of ["", "<think>\\boxed{5}</think>", "<think>\\boxed{5}", "<answer> </answer>"]) {
    const { score, pairs } = await grade(reply, "5");
    assertEquals([typeof score === "object" && score?.score, pairs], [0, []], reply);
  }
});

Deno.test("math() with math-verify limits the lengths of what it compares", async () => {
  for (
    const reply of [
      `${" 5".repeat(131_072)} 5`,
      `<think>${"5".repeat(300_000)}</think>${"5".repeat(262_145)}`,
    ]
  ) {
    const { score, pairs } = await grade(reply, "5");
    assertEquals([typeof score === "object" && score?.score, pairs], [0, []]);
  }
  const { score: longest, pairs } = await grade("5".repeat(262_144), "5");
  assertEquals([typeof longest === "object" && longest?.score, pairs.length], [1, 1]);
  const { score: gold } = await grade("5", "5".repeat(2_001));
  assertEquals(gold, { score: null, reason: "the task's answer has more than 2000 characters" });
});

/** Rows of [task's answer, reply, gold that math-verify reads, answer that it reads]. */
const TEXTS: readonly (readonly [string, string, string, string])[] = [
  ["5", "It is 5.", "\\boxed{5}", "It is 5."],
  ["\\frac12", "So $\\frac12$.", "\\boxed{\\frac12}", "So $\\frac12$."],
  ["$x+1$", "\\boxed{x+1}", "$x+1$", "\\boxed{x+1}"],
  ["Adding gives \\boxed{7}.", "<think>8</think> 7 ", "\\boxed{7}", "7"],
  ["\\$5", "5", "\\boxed{\\$5}", "5"],
  ["5", "<answer>\\sqrt{25}</answer> or 7", "\\boxed{5}", "\\boxed{\\sqrt{25}}"],
  ["5", "<answer>The answer is 5.</answer>", "\\boxed{5}", "\\boxed{5}"],
  ["5", "<answer>$x = 5$</answer>", "\\boxed{5}", "$x = 5$"],
  ["5", "<answer>**5**</answer>", "\\boxed{5}", "\\boxed{5}"],
];

for (const [answer, reply, gold, given] of TEXTS) {
  Deno.test(`math() with math-verify compares '${given}' for the reply '${reply}'`, async () => {
    assertEquals((await grade(reply, answer)).pairs, [{ gold, answer: given }]);
  });
}
