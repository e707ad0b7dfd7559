import { assertEquals } from "@std/assert";
import { exactMatch } from "../../src/rewards/exact_match.ts";
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
