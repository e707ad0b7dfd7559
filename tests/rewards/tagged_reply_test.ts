import { assertEquals } from "@std/assert";
import { taggedReply } from "../../src/rewards/tagged_reply.ts";
import { HANG_MS } from "../deadline.ts";

Deno.test("taggedReply() separates thoughts and answers", () => {
  assertEquals(taggedReply("<think>a <b> & c</think>\n<answer>1\n2</answer> <answer></answer>"), {
    thoughts: ["a <b> & c"],
    answers: ["1\n2", ""],
    spoken: "\n<answer>1\n2</answer> <answer></answer>",
  });
  assertEquals(taggedReply("plain"), { thoughts: [], answers: [], spoken: "plain" });
  assertEquals(taggedReply(""), { thoughts: [], answers: [], spoken: "" });
});

Deno.test("taggedReply() ignores an answer inside a thought", () => {
  const { answers } = taggedReply("<think>maybe <answer>1</answer></think><answer>2</answer>");
  assertEquals(answers, ["2"]);
});

Deno.test("taggedReply() lets a thought begin with the reply, or end with it", () => {
  assertEquals(taggedReply("hm <answer>1</answer></think><answer>2</answer>").answers, ["2"]);
  assertEquals(taggedReply("hm</think>so").thoughts, ["hm"]);
  assertEquals(taggedReply("so <think>hm <answer>1</answer>"), {
    thoughts: [],
    answers: [],
    spoken: "so ",
  });
});

Deno.test("taggedReply() ignores tags that are not closed", () => {
  assertEquals(taggedReply("<answer>1").answers, []);
  assertEquals(taggedReply("</answer><answer>1</answer>").answers, ["1"]);
  assertEquals(taggedReply("<ANSWER>1</ANSWER>").answers, []);
});

Deno.test({ name: "taggedReply() reads a text of unclosed tags once", timeout: HANG_MS }, () => {
  for (const tag of ["<think>", "<answer>", "</think><think>"]) taggedReply(tag.repeat(1_000_000));
});
