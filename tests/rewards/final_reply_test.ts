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

Deno.test("parseTaggedReply() hides the thoughts of each tag, and counts those of <think>", () => {
  const replies: readonly (readonly [reply: string, visible: string, thoughts?: readonly string[]])[] = [
    ["<think>hm <answer>1</answer></think>so", "so", ["hm <answer>1</answer>"]],
    ["<THINK>hm</THINK>so", "so"],
    ["<thinking>hm <answer>1</answer></thinking>so", "so"],
    ["<thought>hm</thought>so", "so"],
    ["[THINK]hm[/THINK]so", "so"],
    ["<seed:think>hm</seed:think>so", "so"],
    ["<|START_THINKING|>hm<|END_THINKING|>so", "so"],
    ["<|channel>thought\nhm<channel|>so", "so"],
    ["◁think▷hm◁/think▷so", "so"],
    ["hm</seed:think>so", "so"],
    ["hm[/THINK]so", "so"],
    ["so<thinking>hm", "so"],
    [
      "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>so<|return|>",
      "so",
    ],
    ["<|channel|>analysis<|message|>hm", ""],
    ["Yes<|end|>", "Yes<|end|>"],
    ["<thinker>hm</thinker>so", "<thinker>hm</thinker>so"],
  ];
  for (const [reply, visibleText, thoughts = []] of replies) {
    const parsed = parseTaggedReply(reply);
    assertEquals([parsed.visibleText, parsed.answers], [visibleText, []], reply);
    assertEquals(parsed.thoughts, thoughts, reply);
  }
});
