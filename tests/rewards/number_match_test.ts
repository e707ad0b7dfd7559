import { assertEquals } from "@std/assert";
import { History } from "../../src/history.ts";
import { numberMatch } from "../../src/rewards/number_match.ts";

function score(reply: string, answer?: string) {
  const task = { id: "t", query: "q", ...(answer !== undefined && { answer }) };
  const said = [{ role: "user", content: "q" }, { role: "assistant", content: reply }];
  return numberMatch().grade({ task, history: History.fromChats(said) });
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
] as const;

for (const [reply, answer] of right) {
  Deno.test(`numberMatch() takes '${reply.replace("\n", " ")}' for ${answer}`, () => {
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
] as const;

for (const [reply, answer] of wrong) {
  Deno.test(`numberMatch() does not take '${reply}' for ${answer}`, () =>
    assertEquals(score(reply, answer), 0));
}

Deno.test("numberMatch() gives no score when the task has no number to compare with", () => {
  assertEquals(score("18"), null);
  assertEquals(score("18", "eighteen"), null);
});

Deno.test("numberMatch() looks at the assistant's words only", () => {
  const task = { id: "t", query: "q", answer: "18" };
  const said = [{ role: "assistant", content: "I print it" }, { role: "tool", content: "18" }];
  assertEquals(numberMatch().grade({ task, history: History.fromChats(said) }), 0);
});
