import { assertEquals, assertThrows } from "@std/assert";
import { renderChat } from "../../src/chat/chat_format.ts";
import { fromText } from "../../src/chat/conversions.ts";
import { parseHarmony, splitHarmonyReply } from "../../src/chat/replies/harmony.ts";
import type { Message } from "../../src/message.ts";
import { HARMONY } from "./model_templates.ts";

Deno.test("parseHarmony() reads authors, recipients, channels and types in each order", () => {
  const rows = [
    ["<|channel|>final<|message|>a<|return|>", { channel: "final", content: "a", end: "<|return|>" }],
    [" to=functions.f<|channel|>commentary json<|message|>{}<|call|>", {
      recipient: "functions.f",
      channel: "commentary",
      contentType: "json",
      content: "{}",
      end: "<|call|>",
    }],
    ["<|channel|>commentary to=functions.f <|constrain|>json<|message|>{", {
      recipient: "functions.f",
      channel: "commentary",
      contentType: "json",
      content: "{",
    }],
    ["<|start|>functions.f to=assistant<|channel|>commentary<|message|>r<|end|>", {
      author: "functions.f",
      recipient: "assistant",
      channel: "commentary",
      content: "r",
      end: "<|end|>",
    }],
    ["<|start|>user<|message|>q<|end|>", { author: "user", content: "q", end: "<|end|>" }],
    ["plain text<|return|>", { content: "plain text", end: "<|return|>" }],
  ] as const;
  for (const [text, expected] of rows) {
    assertEquals(parseHarmony(text), [{ author: "assistant", ...expected }], text);
  }
  assertEquals(parseHarmony("<|channel|>anal"), []);
  assertEquals(parseHarmony(""), []);
});

Deno.test("splitHarmonyReply() joins the messages of a channel, and reads calls", () => {
  assertEquals(
    splitHarmonyReply(
      "<|channel|>analysis<|message|>one<|end|><|start|>assistant<|channel|>analysis<|message|>two<|end|>" +
        '<|start|>assistant<|channel|>commentary to=functions.f<|message|>{"a": 1.0}<|call|>',
    ),
    {
      content: "",
      thinking: "one\ntwo",
      calls: [{ name: "f", arguments: { a: 1 }, arguments_text: '{"a": 1.0}' }],
    },
  );
  assertEquals(splitHarmonyReply("hello"), { content: "hello" });
});

Deno.test("fromText() reads the chat that a template of harmony writes", () => {
  const chat: Message[] = [
    { role: "system", content: "s" },
    { role: "user", content: "q" },
    { role: "assistant", content: "", tool_calls: [{ name: "f", arguments: { a: [1, null], b: "é" } }] },
    { role: "tool", name: "f", content: 'line\n"two"' },
    { role: "assistant", content: "a" },
    { role: "user", content: "next" },
    { role: "assistant", content: "b" },
  ];
  const text = renderChat(chat, { chatTemplate: HARMONY });
  assertEquals(fromText(text, { chatTemplate: HARMONY }).toChats(), chat);
  const thought =
    "<|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>b";
  const [reply] = fromText(thought, { chatTemplate: HARMONY });
  assertEquals(reply, { role: "assistant", content: "b", reasoning_content: "hm", is_complete: false });
  assertThrows(
    () => fromText("", { chatTemplate: HARMONY }),
    SyntaxError,
    "must contain a message of harmony",
  );
});
