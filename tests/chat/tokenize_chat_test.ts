import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import { ChatTemplates, FAMILIES } from "../../src/chat/chat_templates.ts";
import { tokenizeChat } from "../../src/chat/tokenize_chat.ts";
import type { Message } from "../../src/message.ts";
import { tinyTokenizer } from "../tiny_tokenizer.ts";

const tokenizer = await tinyTokenizer();
const CHAT: Message[] = [
  { role: "system", content: "s" },
  { role: "user", content: "a1" },
  { role: "assistant", content: "a1" },
  { role: "tool", content: "a1" },
  { role: "assistant", content: "hello 🦊 wörld" },
  { role: "assistant", content: "" },
  { role: "user", content: "a1" },
];

/** Decodes each run of masked tokens. */
function masked(messages: readonly Message[], format: ChatFormat): string[] {
  const { ids, assistantMask } = tokenizeChat(messages, format);
  const runs: number[][] = [];
  ids.forEach((id, at) => {
    if (assistantMask[at] === 0) return;
    if (assistantMask[at - 1] === 1) runs.at(-1)?.push(id);
    else runs.push([id]);
  });
  return runs.map((run) => tokenizer.decode(run));
}

Deno.test("tokenizeChat() masks exactly the assistant's content in each family", () => {
  for (const { name: family } of FAMILIES) {
    const format = new ChatFormat({ family, tokenizer });
    assertEquals(masked(CHAT, format), ["a1", "hello 🦊 wörld"], family);
    const { text, ids, assistantMask } = tokenizeChat(CHAT, format, { addGenerationPrompt: true });
    assertEquals(text, format.render(CHAT, { addGenerationPrompt: true }));
    assertEquals(tokenizer.decode(ids), text);
    assertEquals(assistantMask.length, ids.length);
  }
});

Deno.test("tokenizeChat() masks tool calls that the assistant writes", () => {
  const call: Message = { role: "assistant", content: "A", tool_calls: [{ name: "f", arguments: {} }] };
  const content = 'A\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>';
  assertEquals(masked([call], new ChatFormat({ family: "qwen", tokenizer })), [content]);
});

Deno.test("tokenizeChat() returns the tokens of the full text when special tokens bound the turns", () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom(
      "<s>",
      "</s>",
      "<|eot|>",
      "<|im_end|>",
      "<",
      "|>",
      " w",
      "\n",
      "constructor",
      "__proto__",
    ),
  );
  const words = fc.array(piece, { maxLength: 4 }).map((pieces) => `w${pieces.join("").trim()}`);
  const turn = fc.record({ role: fc.constantFrom("user", "assistant", "tool"), content: words });
  const bounded = FAMILIES.filter(({ speakers }) => speakers === undefined);
  const law = fc.property(fc.array(turn), fc.constantFrom(...bounded), (messages, { name: family }) => {
    const format = new ChatFormat({ family, tokenizer });
    const { text, ids, assistantMask } = tokenizeChat(messages, format);
    assertEquals(ids, tokenizer.encode(text));
    // control tokens in a content are broken, and the end token is written by the template
    const replies = messages.filter(({ role }) => role === "assistant")
      .map(({ content }) => format.neutralise(format.cutEnd(content), "assistant"));
    assertEquals(tokenizer.decode(ids.filter((_id, at) => assistantMask[at] === 1)), replies.join(""));
  });
  fc.assert(law, { numRuns: 200 });
});

Deno.test("tokenizeChat() finds the assistant's content when the template has no {% generation %}", async (t) => {
  const templates = {
    plain: "{% for m in messages %}<s>{{ m.role }}\n{{ m.content }}</s>\n{% endfor %}",
    trimming: "{% for m in messages %}<s>{{ m.role }}\n{{ m.content | trim }}</s>\n{% endfor %}",
    splitting:
      "{% for m in messages %}<s>{{ m.role }}\n{{ m.content.split('</think>')[-1] | trim }}</s>{% endfor %}",
  };
  for (const [name, chatTemplate] of Object.entries(templates)) {
    await t.step(name, () => {
      const format = new ChatFormat({ chatTemplate, tokenizer });
      assertEquals(masked(CHAT, format), ["a1", "hello 🦊 wörld"]);
    });
  }
  await t.step("a template that trims contents", () => {
    const format = new ChatFormat({ chatTemplate: templates.trimming, tokenizer });
    const chat = [
      { role: "user", content: " x \n" },
      { role: "assistant", content: "\n x " },
      { role: "user", content: "x" },
      { role: "assistant", content: " x" },
    ];
    assertEquals(masked(chat, format), ["x", "x"]);
  });
  await t.step("a template that changes contents", () => {
    const format = new ChatFormat({
      chatTemplate: "{% for m in messages %}{{ m.content[1:] }}{% endfor %}",
      tokenizer,
    });
    const chat = [{ role: "assistant", content: "word" }];
    assertThrows(() => tokenizeChat(chat, format), Error, "message 0 is not in the text");
  });
});

Deno.test("tokenizeChat() supports generation tags with and without whitespace control", () => {
  const source = "{% for m in messages %}\n  {% generation %}\n  [{{ m.content }}]\n  {% endgeneration %}\n" +
    "{%- generation -%}  {{ m.content }}{%- endgeneration %}.\n{% endfor %}\n";
  const templates = new ChatTemplates().addChatTemplate("x", source);
  const format = new ChatFormat({ family: "x", templates, tokenizer });
  assertEquals(format.render([{ role: "assistant", content: "a" }]), "  [a]\na.\n");
  assertEquals(masked([{ role: "assistant", content: "a" }], format), ["  [a]\na"]);
});

Deno.test("tokenizeChat() keeps a call that the template shows only beside a content that is null", () => {
  const chatTemplate = "{% for m in messages %}{% if m.tool_calls and m.content is none %}" +
    "[{{ m.tool_calls[0].function.name }}]{% else %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}";
  const format = new ChatFormat({ chatTemplate, tokenizer });
  const chat = [
    { role: "user", content: "q" },
    { role: "assistant", content: "", tool_calls: [{ name: "f", arguments: {} }] },
    { role: "assistant", content: "a" },
  ];
  assertEquals(tokenizeChat(chat, format).text, "<user>q[f]<assistant>a");
  assertEquals(masked(chat, format), ["a"]);
});

Deno.test("tokenizeChat() accepts private-use characters in a message", () => {
  const format = new ChatFormat({ family: "chatml", tokenizer });
  const chat = [{ role: "user", content: "\ue000x\ue001" }, { role: "assistant", content: "\ue001\ue002" }];
  assertEquals(masked(chat, format), ["\ue001\ue002"]);
});

Deno.test("tokenizeChat() throws without a tokenizer", () => {
  const format = new ChatFormat({ family: "chatml" });
  assertThrows(() => tokenizeChat([], format), TypeError, "the format must have a tokenizer");
});
