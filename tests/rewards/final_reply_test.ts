import { assertEquals } from "@std/assert";
import { parseTaggedReply } from "../../src/rewards/final_reply.ts";
import { HANG_MS } from "../deadline.ts";

Deno.test("parseTaggedReply() separates thoughts and answers", () => {
  assertEquals(parseTaggedReply("<think>a <b> & c</think>\n<answer>1\n2</answer> <answer></answer>"), {
    thoughts: ["a <b> & c"],
    answers: ["1\n2", ""],
    visibleText: "\n<answer>1\n2</answer> <answer></answer>",
  });
  assertEquals(parseTaggedReply("plain"), { thoughts: [], answers: [], visibleText: "plain" });
  assertEquals(parseTaggedReply(""), { thoughts: [], answers: [], visibleText: "" });
});

Deno.test("parseTaggedReply() ignores an answer inside a thought", () => {
  const { answers } = parseTaggedReply("<think>maybe <answer>1</answer></think><answer>2</answer>");
  assertEquals(answers, ["2"]);
});

Deno.test("parseTaggedReply() lets a thought begin with the reply, or end with it", () => {
  assertEquals(parseTaggedReply("hm <answer>1</answer></think><answer>2</answer>").answers, ["2"]);
  assertEquals(parseTaggedReply("hm</think>so").thoughts, ["hm"]);
  assertEquals(parseTaggedReply("so <think>hm <answer>1</answer>"), {
    thoughts: [],
    answers: [],
    visibleText: "so ",
  });
});

Deno.test("parseTaggedReply() ignores tags that are not closed", () => {
  assertEquals(parseTaggedReply("<answer>1").answers, []);
  assertEquals(parseTaggedReply("</answer><answer>1</answer>").answers, ["1"]);
  assertEquals(parseTaggedReply("<ANSWER>1</ANSWER>").answers, []);
});

Deno.test({ name: "taggedReply() reads a text of unclosed tags once", timeout: HANG_MS }, () => {
  for (const tag of ["<think>", "<answer>", "</think><think>"]) parseTaggedReply(tag.repeat(1_000_000));
});
