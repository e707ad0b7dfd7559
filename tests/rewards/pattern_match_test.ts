import { assertEquals, assertThrows } from "@std/assert";
import { patternMatch } from "../../src/rewards/pattern_match.ts";
import { replyContext } from "./replies.ts";

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

Deno.test("patternMatch() uses the task's answer if it has no pattern option", () => {
  assertEquals(patternMatch().grade(replyContext("Paris, I think", "^(Paris|Lutetia)\\b")), 1);
  assertEquals(patternMatch().grade(replyContext("London", "^(Paris|Lutetia)\\b")), 0);
  assertEquals(patternMatch().grade(replyContext("London")), null);
  assertThrows(() => patternMatch().grade(replyContext("London", "(")), SyntaxError);
});
