import { assertEquals } from "@std/assert";
import { History } from "../../src/history.ts";
import { exactMatch, numberMatch, patternMatch } from "../../src/rewards/text_match.ts";
import { HANG_MS } from "../deadline.ts";
import { replyContext } from "./replies.ts";

Deno.test("exactMatch() compares the reply or its answer block", () => {
  assertEquals(exactMatch().grade(replyContext(" Paris\n", "Paris")), 1);
  assertEquals(exactMatch().grade(replyContext("<think>London?</think> Paris", "Paris")), 1);
  assertEquals(exactMatch().grade(replyContext("It is <answer>Paris</answer>.", "Paris ")), 1);
  assertEquals(exactMatch().grade(replyContext("It is Paris", "Paris")), 0);
  assertEquals(exactMatch().grade(replyContext("paris", "Paris")), 0);
  assertEquals(exactMatch().grade(replyContext("", "Paris")), 0);
});

Deno.test("exactMatch() distinguishes similar letters but ignores Unicode composition", () => {
  assertEquals(exactMatch().grade(replyContext("\u0420aris", "Paris")), 0);
  assertEquals(exactMatch().grade(replyContext("\uff11\uff18", "18")), 0);
  assertEquals(exactMatch().grade(replyContext("1\u200b8", "18")), 0);
  assertEquals(exactMatch().grade(replyContext("\u212a", "k")), 0);
  assertEquals(exactMatch().grade(replyContext("caf\u00e9", "cafe\u0301")), 1);
});

Deno.test("exactMatch() returns null for a task without an answer", () => {
  assertEquals(exactMatch().grade(replyContext("Paris")), null);
});

Deno.test("patternMatch() searches the reply or its answer block", () => {
  const grader = patternMatch({ pattern: /^\d{4}-\d\d-\d\d$/ });
  assertEquals(grader.grade(replyContext("2024-05-01")), 1);
  assertEquals(grader.grade(replyContext("On <answer>2024-05-01</answer>")), 1);
  assertEquals(grader.grade(replyContext("On 2024-05-01")), 0);
});

Deno.test("patternMatch() searches from the beginning each time", () => {
  const grader = patternMatch({ pattern: /paris/gi });
  const scores = [1, 2, 3].map(() => grader.grade(replyContext("Paris")));
  assertEquals(scores, [1, 1, 1]);
});

Deno.test("patternMatch() does not use the task's answer as a pattern", () => {
  const grader = patternMatch({ pattern: /^(Paris|Lutetia)\b/ });
  assertEquals(grader.grade(replyContext("Paris, I think", "(a+)+$")), 1);
  assertEquals(grader.grade(replyContext("London", "London")), 0);
});

function score(reply: string, answer?: string) {
  const task = { id: "t", query: "q", ...(answer !== undefined && { answer }) };
  const messages = [{ role: "user", content: "q" }, { role: "assistant", content: reply }];
  return numberMatch().grade({ task, history: History.fromChats(messages) });
}

function short(text: string): string {
  return text.replace("\n", " ").replace(/0{20,}/, "0…0");
}

const right = [
  ["The answer is 18", "18"],
  ["The answer is 18.", "18"],
  ["so it is $1,450,000.00 in all", "1450000"],
  ["The answer is 2125", "2,125"],
  ["it grows by 25%", "25"],
  ["16 - 3 = 13", "13"],
  ["it loses, so -5", "-5"],
  ["it is -$5", "-5"],
  ["it is \u22125", "-5"],
  ["007", "7"],
  ["-0.0", "0"],
  [".5", "0.50"],
  ["The answer is 29.999999999999996", "30"],
  ["The answer is 3e2", "300"],
  ["#### 4\nI checked 3 times", "4"],
  ["The answer is 5? No, the answer is 6, of 10", "6"],
  ["18 is what the answer is", "18"],
  ["18 <think>20</think>", "18"],
  ["<think>The answer is 20</think> so 18", "18"],
  ["1e400", `1${"0".repeat(400)}`],
  [`1${"0".repeat(400)}.0`, `1${"0".repeat(400)}`],
  ["0.30000000000000004", "0.3"],
  ["12345678901.0000001", "12345678901"],
  ["1.80e1", "18"],
  ["0.00e7", "0"],
] as const;

for (const [reply, answer] of right) {
  Deno.test(`numberMatch() accepts '${short(reply)}' for ${short(answer)}`, () => {
    assertEquals(score(reply, answer), 1);
  });
}

const wrong = [
  ["The answer is 19", "18"],
  ["no number", "18"],
  ["v18 is it", "18"],
  ["18 or rather 19", "18"],
  ["1450001", "1450000"],
  ["10000000001", "10000000000"],
  ["1.001", "1"],
  ["1e999", "1"],
  ["<think>The answer is 18?</think>\nMy result: 7.", "18"],
  ["<think>18", "18"],
  ["0.5", `1${"0".repeat(400)}`],
  ["1e999", "1e998"],
  ["1e9999999999", `1${"0".repeat(400)}`],
  ["12345678902.5", "12345678901"],
  ["1234567890123456.5", "1234567890123456"],
  ["0.00000000001", "0"],
] as const;

for (const [reply, answer] of wrong) {
  Deno.test(`numberMatch() refuses '${short(reply)}' for ${short(answer)}`, () =>
    assertEquals(score(reply, answer), 0));
}

Deno.test("numberMatch() returns null for a task without a number", () => {
  assertEquals(score("18"), null);
  assertEquals(score("18", "eighteen"), null);
});

Deno.test("numberMatch() reads only the assistant's messages", () => {
  const task = { id: "t", query: "q", answer: "18" };
  const messages = [{ role: "assistant", content: "I print it" }, { role: "tool", content: "18" }];
  assertEquals(numberMatch().grade({ task, history: History.fromChats(messages) }), 0);
});

Deno.test({ name: "numberMatch() reads long numbers in linear time", timeout: HANG_MS }, () => {
  const zeros = "0".repeat(1_000_000);
  for (const number of [`0.${zeros}1`, `1${zeros}.${zeros}1`, `1e${zeros}1`]) {
    assertEquals(score(number, "18"), 0);
  }
});
