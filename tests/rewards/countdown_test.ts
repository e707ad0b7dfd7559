import { assert, assertEquals, assertThrows } from "@std/assert";
import { toScore } from "../../src/rewards/grader.ts";
import { countdown } from "../../src/rewards/countdown.ts";
import { countdownTasks } from "../../src/rewards/countdown_tasks.ts";
import { replyContext } from "./replies.ts";
import { HANG_MS } from "../deadline.ts";

const TRUTH = "target=112, numbers=25,3,4,25";

function score(expression: string, answer: string | undefined = TRUTH) {
  const given = countdown().grade(replyContext(`<answer>${expression}</answer>`, answer));
  if (given instanceof Promise) throw new Error("a grader of expressions need not wait");
  return toScore(given).score;
}

for (const right of ["(25 + 3) * 4", "4*(3+25)", " ((25)+3)*4\n", "-(-(25+3))*4", "(25+25/25+3)*4"]) {
  const truth = right.split("25").length > 3 ? "target=116, numbers=25,25,25,3,4" : TRUTH;
  Deno.test(`countdown() accepts ${right.trim()}`, () => assertEquals(score(right, truth), 1));
}

const wrong = [
  "25 + 3",
  "25 + 25 + 25 + 25 + 4 + 4 + 4",
  "112",
  "import os",
  "(25 + 3) * 4 = 112",
  "(25 + 3) * 4)",
  "((25 + 3) * 4",
  "9**9**9",
  "28 * 4",
  "2 5 + 3",
  "25 // 3",
  "1/0",
  "(25 + 3)(4)",
  "__import__('os')",
  "eval(112)",
  "2.5e1 + 3",
  "25.5 + 3",
  "(25 + 3) × 4",
  "(25 + 3) x 4",
] as const;

for (const expression of wrong) {
  Deno.test(`countdown() refuses '${expression}'`, () => assertEquals(score(expression), 0.1));
}

Deno.test("countdown() tolerates rounding errors only", () => {
  assertEquals(score("8 / (3 - 8 / 3)", "target=24, numbers=8,8,3,3"), 1);
  assertEquals(score("1 / 3 * 3", "target=1, numbers=1,3,3"), 1);
});

Deno.test("countdown() counts a negative number as the given one", () => {
  const right = [
    ["5 + (-2)", "target=3, numbers=5,-2"],
    ["5 - -2", "target=7, numbers=5,-2"],
    ["5 - -2", "target=7, numbers=5,2"],
    ["-(-2) * 5", "target=10, numbers=5,-2"],
    ["-2 - 2", "target=-4, numbers=-2,2"],
    ["-2 + -2", "target=-4, numbers=-2,2"],
  ] as const;
  for (const [expression, truth] of right) assertEquals(score(expression, truth), 1, expression);
  assertEquals(score("5 - 2", "target=3, numbers=5,-2"), 0.1);
  assertEquals(score("-2 + -2", "target=-4, numbers=-2,5"), 0.1);
});

Deno.test("countdown() scores 0 without an answer and returns parts with one", () => {
  assertEquals(toScore(countdown().grade(replyContext("(25 + 3) * 4", TRUTH)) as number).score, 0);
  assertEquals(score(""), 0);
  const boxed = countdown().grade(replyContext("So \\boxed{(25 + 3) * 4}.", TRUTH));
  const stated = countdown().grade(replyContext("Answer: (25 + 3) * 4", TRUTH));
  const wrong = countdown().grade(replyContext("\\boxed{25 + 3}", TRUTH));
  assertEquals([boxed, stated, wrong].map((given) => toScore(given as number).score), [1, 1, 0]);
  assertEquals(countdown({ correctReward: 2 }).grade(replyContext("<answer>(25 + 3) * 4</answer>", TRUTH)), {
    score: 2,
    parts: { reward_answer: 1, reward_think: 0, reward_right: 2, success: 1 },
  });
});

Deno.test({ name: "countdown() ends on expressions that are made to take long", timeout: HANG_MS }, () => {
  const bombs = ["(".repeat(1e6), "-".repeat(1e6) + "1", "9*".repeat(5e5) + "9", "1+".repeat(499) + "1"];
  for (const bomb of [...bombs, `${"(".repeat(400)}1${")".repeat(400)}`]) assertEquals(score(bomb), 0.1);
});

Deno.test("countdown() reads the task's answer and refuses invalid ones", () => {
  assertEquals(score("5 - 9", "target=-4, numbers=[5, 9]"), 1);
  assertEquals(countdown().grade(replyContext("<answer>1</answer>")), null);
  for (const truth of ["112", "target=x, numbers=1", "target=1, numbers=", "numbers=1,2, target=3", ""]) {
    assertThrows(
      () => countdown().grade(replyContext("<answer>1</answer>", truth)),
      SyntaxError,
      `Cannot grade puzzle as its answer must be 'target=T, numbers=a,b,…': current value is '${truth}'`,
    );
  }
});

Deno.test("countdownTasks() generates puzzles that their own replies solve", () => {
  const tasks = [...countdownTasks({ seed: 7, count: 500 })];
  assertEquals(tasks.length, 500);
  for (const { query, answer = "", replies: [reply = ""] = [], fields } of tasks) {
    assertEquals(
      toScore(countdown().grade(replyContext(reply, answer)) as number).score,
      1,
      `${answer}: ${reply}`,
    );
    const { target, numbers } = fields as { target: number; numbers: number[] };
    assert(target >= 1 && target <= 1_000 && numbers.length === 4);
    assert(numbers.every((number) => Number.isInteger(number) && number >= 1 && number <= 100));
    assertEquals(
      query,
      `Using the numbers [${numbers.join(", ")}], create an arithmetic expression that equals ${target}. ` +
        "You may use each number at most once. Only use +, -, *, / and parentheses.",
    );
  }
  assert(new Set(tasks.map(({ answer }) => answer)).size > 490);
  assert(tasks.filter(({ replies }) => replies?.[0]?.includes("/")).length > 5);
});

Deno.test("countdownTasks() generates the same puzzles for the same seed and any count", () => {
  const many = [...countdownTasks({ seed: 3, count: 20 })];
  assertEquals([...countdownTasks({ seed: 3, count: 5 })], many.slice(0, 5));
  assert(many[0]?.answer !== [...countdownTasks({ seed: 4, count: 1 })][0]?.answer);
  assert(many[0]?.answer !== [...countdownTasks({ seed: 3 + 2 ** 32, count: 1 })][0]?.answer);
  assert(many[0]?.answer !== [...countdownTasks({ seed: -3, count: 1 })][0]?.answer);
});

Deno.test("countdownTasks() respects its options, including the smallest values", () => {
  const options = { count: 50, numCount: 6, maxNumber: 9, maxTarget: 9 };
  for (const { answer = "", replies: [reply = ""] = [] } of countdownTasks(options)) {
    const [target = 0, ...numbers] = answer.match(/\d+/g)?.map(Number) ?? [];
    assert(target >= 1 && target <= 9 && numbers.length === 6 && Math.max(...numbers) <= 9, answer);
    assertEquals(toScore(countdown().grade(replyContext(reply, answer)) as number).score, 1);
  }
  const [only] = countdownTasks({ numCount: 1, maxNumber: 1, maxTarget: 1 });
  assertEquals(only?.answer, "target=1, numbers=1");
});

Deno.test("countdownTasks() generates puzzles without end by default", () => {
  const endless = countdownTasks();
  for (let n = 0; n < 1_000; n++) endless.next();
  assertEquals(endless.next().value?.id, "countdown:0:1001");
});

Deno.test("countdownTasks() refuses options out of range", () => {
  const refused = [
    [{ count: -1 }, "'count' must be a whole number from 0"],
    [{ numCount: 0 }, "'numCount' must be a whole number from 1 to 20: current value is 0"],
    [{ numCount: 2.5 }, "current value is 2.5"],
    [{ maxNumber: 50, maxTarget: 49 }, "'maxTarget' must be a whole number from 50"],
    [{ seed: NaN }, "'seed'"],
  ] as const;
  for (const [options, message] of refused) {
    assertThrows(() => countdownTasks(options).next(), RangeError, message);
  }
});
