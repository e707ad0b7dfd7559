import { assertEquals, assertThrows } from "@std/assert";
import { calculationOf } from "../../src/policy/calculator.ts";
import { toScore } from "../../src/rewards/grader.ts";
import { gsm8k, type Gsm8kOptions } from "../../src/rewards/gsm8k.ts";
import { readTasks } from "../../src/datasets/read_tasks.ts";
import { replyContext } from "./replies.ts";

function score(reply: string, answer?: string, options?: Gsm8kOptions) {
  const given = gsm8k(options).grade(replyContext(reply, answer));
  if (given instanceof Promise) throw new Error("a grader of answers need not wait");
  return toScore(given).score;
}

Deno.test("gsm8k() scores 1, 0.1 and 0", () => {
  assertEquals(score("<think>16 - 7</think><answer>18</answer>", "6 + 12 = 18\n#### 18"), 1);
  assertEquals(score("<think>16 - 7</think><answer>19</answer>", "#### 18"), 0.1);
  assertEquals(score("<think>16 - 7</think>18", "#### 18"), 1);
  assertEquals(score("<think>16 - 7</think>18", "#### 18", { untagged: "none" }), 0);
  assertEquals(score("<think>16 - 7</think><answer> </answer>", "#### 18"), 0);
  assertEquals(score("<answer>18</answer>", "18", { correctReward: 2 }), 2);
  assertEquals(score("<answer>19</answer>", "18", { formatReward: 0.5 }), 0.5);
});

Deno.test("gsm8k() returns the parts of the score", () => {
  assertEquals(gsm8k().grade(replyContext("<think>hm</think><answer>18</answer>", "18")), {
    score: 1,
    parts: { reward_answer: 1, reward_think: 1, reward_right: 1, success: 1 },
  });
  assertEquals(gsm8k().grade(replyContext("<answer>1</answer>", "18")), {
    score: 0.1,
    parts: { reward_answer: 1, reward_think: 0, reward_right: 0.1, success: 0 },
  });
});

const same = [
  ["1,234", "1234"],
  ["$120", "120"],
  ["120.0", "120"],
  ["120.00", "120"],
  [" 42 ", "42"],
  ["3.14", "3.14"],
  ["100%", "100"],
  ["18.", "18"],
  ["-5", "-5"],
  ["1450000", "1,450,000"],
  ["29.999999999999996", "30"],
  ["0.5", ".50"],
  ["18 dollars", "18"],
  ["It makes <special> & stuff, $18.00", "18"],
  ["\n18\n", "18"],
] as const;

for (const [given, truth] of same) {
  Deno.test(`gsm8k() accepts '${given.trim()}' for ${truth}`, () => {
    assertEquals(score(`<answer>${given}</answer>`, `#### ${truth}`), 1);
  });
}

for (
  const [given, truth] of [
    ["12345678902.5", "12345678901"],
    ["0.5", `#### 1${"0".repeat(400)}`],
    ["3.15", "3.14"],
    ["18 or 19", "18"],
    ["18", "1"],
    ["five", "5"],
  ]
) {
  Deno.test(`gsm8k() refuses '${given}' for ${truth?.slice(0, 20)}`, () => {
    assertEquals(score(`<answer>${given}</answer>`, truth), 0.1);
  });
}

Deno.test("gsm8k() grades the first answer outside of thoughts", () => {
  assertEquals(score("<answer>1</answer><answer>18</answer>", "18"), 0.1);
  assertEquals(score("<think><answer>18</answer></think><answer>1</answer>", "18"), 0.1);
});

Deno.test("gsm8k() grades a stated number without an answer block, unless untagged is none", () => {
  assertEquals(score("The answer is 18", "18"), 1);
  assertEquals(score("so\n#### 18", "18"), 1);
  assertEquals(score("The answer is 19", "18"), 0);
  assertEquals(score("18", "18", { untagged: "stated" }), 0);
  assertEquals(score("<think>The answer is 18</think>I do not know", "18"), 0);
  assertEquals(score("The answer is 18", "18", { untagged: "none" }), 0);
});

Deno.test("gsm8k() returns null for a task without an answer", () => {
  assertEquals(score("<answer>18</answer>"), null);
  assertEquals(score("<answer>18</answer>", "####  "), null);
});

Deno.test("gsm8k() refuses rewards that are not numbers and unknown values of untagged", () => {
  assertThrows(
    () => gsm8k({ correctReward: NaN }),
    RangeError,
    "Cannot score replies as 'correctReward' must be a finite number: current value is NaN",
  );
  assertThrows(() => gsm8k({ formatReward: Infinity }), RangeError, "'formatReward'");
  assertThrows(() => gsm8k({ untagged: JSON.parse('"last"') }), TypeError, "current value is 'last'");
});

const FILE = decodeURIComponent(new URL("../data/gsm8k/test.jsonl", import.meta.url).pathname);

Deno.test({
  name: "gsm8k() grades the worked out answers to 1,208 of 1,319 real problems right",
  async fn() {
    let problems = 0;
    let right = 0;
    for await (const task of readTasks(FILE)) {
      const value = calculationOf(task.reference ?? "")?.value;
      const reply = value === undefined ? "I find nothing." : `The answer is <answer>${value}</answer>`;
      problems++;
      if (score(reply, task.answer) === 1) right++;
    }
    assertEquals({ problems, right }, { problems: 1319, right: 1208 });
  },
});
