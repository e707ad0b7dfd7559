import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import { FAMILIES } from "../../src/chat/chat_templates.ts";
import { isAppendOnly, type SampledTurn, turnTokens } from "../../src/chat/turns.ts";
import type { Message } from "../../src/message.ts";
import { tinyTokenizer } from "../tiny_tokenizer.ts";

const tokenizer = await tinyTokenizer();
const chatml = new ChatFormat({ tokenizer, family: "chatml" });
const [END = -1] = tokenizer.encode("<|im_end|>");

/** Families that render a chat as its parts: dialogpt ends a chat with a token. */
const APPENDED = FAMILIES.map(({ name }) => name).filter((name) => name !== "dialogpt");

/** Drops reasoning before the last question, as Qwen 3 does. */
const FORGETFUL = "{% set ns = namespace(last=0) %}" +
  "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}" +
  "{% for m in messages %}<|im_start|>{{ m.role }}\n" +
  "{{ m.content if loop.index0 > ns.last else m.content.split('</think>')[-1] }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

const words = fc.array(fc.constantFrom("hello", " the", "w", "ör", "<|im_end|>", "\nUser: ", " ", ".", "{}"))
  .map((parts) => `w${parts.join("")}w`);
const others = fc.oneof(
  fc.array(words.map((content) => ({ role: "tool", content })), { minLength: 1, maxLength: 3 }),
  words.map((content) => [{ role: "user", content }]),
  fc.constant([]),
);

Deno.test("turnTokens() keeps sampled ids, masks exactly them, and equals the tokens of the full text", () => {
  const turn = fc.record({
    content: words.map((text) => text.replaceAll(/<\|im_end\|>|:/g, "")),
    others,
    ended: fc.boolean(),
  });
  const families = fc.constantFrom(...APPENDED);
  const law = fc.property(
    families,
    fc.array(turn, { maxLength: 5 }),
    fc.boolean(),
    (family, turns, isSampled) => {
      const format = new ChatFormat({ tokenizer, family });
      const chat: Message[] = [{ role: "user", content: "q" }];
      const start = format.render(chat, { addGenerationPrompt: true });
      let ids: readonly number[] = tokenizer.encode(start);
      let text = start;
      const lossMask: number[] = ids.map(() => 0);
      const sampledIds: number[] = [];
      for (const { content, others, ended } of turns) {
        const space = ["deepseek", "falcon"].includes(family) ? " " : "";
        const end = ended ? (family === "falcon" ? "\n" : format.endTokens[0] ?? "") : "";
        const sampled = isSampled ? tokenizer.encode(space + content + end) : undefined;
        const reply = { role: "assistant", content };
        const added = turnTokens({ reply, sampled, messages: others }, format);
        chat.push(reply, ...others);
        ids = [...ids, ...added.ids];
        text += added.text;
        lossMask.push(...added.lossMask);
        sampledIds.push(...sampled ?? []);
      }
      assertEquals(text, format.render(chat, { addGenerationPrompt: true }));
      assertEquals(tokenizer.decode(ids), text);
      if (family !== "falcon") assertEquals(ids, tokenizer.encode(text), family);
      assertEquals(ids.filter((_id, at) => lossMask[at] === 1), sampledIds);
      assertEquals(lossMask.length, ids.length);
    },
  );
  fc.assert(law, { numRuns: 300 });
});

Deno.test("turnTokens() keeps sampled ids that differ from the encoding of their text", () => {
  const sampled = [..."hello"].flatMap((letter) => tokenizer.encode(letter));
  const turn: SampledTurn = { reply: { role: "assistant", content: "hello" }, sampled: [...sampled, END] };
  const { ids, lossMask, text } = turnTokens(turn, chatml);
  assertEquals(ids.slice(0, 6), [...sampled, END]);
  assertEquals(lossMask.slice(0, 7), [1, 1, 1, 1, 1, 1, 0]);
  assertEquals(text, "hello<|im_end|>\n<|im_start|>assistant\n");
});

Deno.test("turnTokens() adds an end token only when none was sampled", () => {
  const reply = { role: "assistant", content: "hello" };
  const tail = "\n<|im_start|>assistant\n";
  const cases: [string, string, number][] = [
    ["hello", "hello<|im_end|>", 1],
    ["hello<|im_end|>", "hello<|im_end|>", 2],
    ["hello</s>", "hello</s>", 2],
    ["", "<|im_end|>", 0],
  ];
  for (const [content, written, sampledCount] of cases) {
    const { text, lossMask } = turnTokens({ reply, sampled: tokenizer.encode(content) }, chatml);
    assertEquals(text, written + tail);
    assertEquals(lossMask.filter((bit) => bit === 1).length, sampledCount);
  }
  const falcon = new ChatFormat({ tokenizer, family: "falcon" });
  const { text } = turnTokens({ reply, sampled: tokenizer.encode(" hello\n") }, falcon);
  assertEquals(text, " hello\nAssistant:");
});

Deno.test("turnTokens() treats an end token that is sampled letter by letter as text", () => {
  const spelled = [..."<|im_end|>"].flatMap((letter) => tokenizer.encode(letter));
  const { ids } = turnTokens({ reply: { role: "assistant", content: "" }, sampled: spelled }, chatml);
  assertEquals(ids.filter((id) => id === END).length, 1);
});

Deno.test("turnTokens() encodes no more text when the chat is longer", () => {
  const encoded: number[] = [];
  const counting = {
    ...tokenizer,
    encode: (text: string) => (encoded.push(text.length), tokenizer.encode(text)),
  };
  const format = new ChatFormat({ tokenizer: counting, family: "qwen" });
  turnTokens(
    { reply: { role: "assistant", content: "a" }, messages: [{ role: "tool", content: "t" }] },
    format,
  );
  assert(encoded.every((length) => length < 150), `${encoded}`);
});

Deno.test("turnTokens() keeps reasoning that the template would drop", () => {
  const format = new ChatFormat({ tokenizer, chatTemplate: FORGETFUL });
  const content = "<think>c</think>a";
  const turn = { sampled: tokenizer.encode(content), messages: [{ role: "user", content: "q" }] };
  const { text } = turnTokens({ ...turn, reply: { role: "assistant", content } }, format);
  assertEquals(text, `${content}<|im_end|>\n<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n`);
});

Deno.test("isAppendOnly() is false for templates that render a turn by its position", () => {
  const tools = [{ name: "f", description: "d", parameters: {} }];
  const numbered = "{% for m in messages %}{{ loop.index }} {{ m.content }}</s>{% endfor %}" +
    "{% if add_generation_prompt %}{{ messages | length + 1 }} {% endif %}";
  const strict =
    "{% for m in messages %}{% if m.role == 'tool' or m.role == 'system' %}{{ raise_exception('no') }}" +
    "{% endif %}<s>{{ m.role }} {{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant {% endif %}";
  for (const family of APPENDED) {
    assertEquals(isAppendOnly(new ChatFormat({ tokenizer, family })), true, family);
    assertEquals(isAppendOnly(new ChatFormat({ tokenizer, family }), tools), true, family);
  }
  assertEquals(isAppendOnly(new ChatFormat({ tokenizer, family: "dialogpt" })), false);
  assertEquals(isAppendOnly(new ChatFormat({ tokenizer, chatTemplate: strict })), true);
  for (const chatTemplate of [FORGETFUL, numbered, strict.replace("<s>{{ m.role }} ", "")]) {
    assertEquals(isAppendOnly(new ChatFormat({ tokenizer, chatTemplate })), false, chatTemplate);
  }
});

Deno.test("turnTokens() throws when the reply cannot follow the generation prompt", () => {
  const reply = { role: "assistant", content: "a" };
  const dialogpt = new ChatFormat({ tokenizer, family: "dialogpt" });
  assertThrows(() => turnTokens({ reply }, dialogpt), Error, "must put a reply after its generation prompt");
  assertThrows(
    () => turnTokens({ reply: { role: "user", content: "q" } }, chatml),
    TypeError,
    "current value is 'user'",
  );
  assertThrows(
    () => turnTokens({ reply }, new ChatFormat({ family: "chatml" })),
    TypeError,
    "must have a tokenizer",
  );
});
