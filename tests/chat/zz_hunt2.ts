import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import { tokenizeChat } from "../../src/chat/tokenize_chat.ts";
import { tinyTokenizer } from "../tiny_tokenizer.ts";
const tokenizer = await tinyTokenizer();
const formats = Object.fromEntries(
  ["chatml", "qwen", "llama"].map((f) => [f, new ChatFormat({ family: f, tokenizer })]),
);
const frag = fc.constantFrom(
  "<s>",
  "</s>",
  "<",
  "s>",
  "/",
  "|",
  "<|",
  "|>",
  "<|eot|>",
  " ",
  "1",
  "a",
  "the",
  "hello",
  " w",
  "user",
  "constructor",
  "__proto__",
  "toString",
  "valueOf",
  "key",
  "apply",
  "call",
  "ref",
  "length",
  "w",
  "hasOwnProperty",
  "</think>",
  "<think>",
  "tool_call>",
  "<tool_response>",
  "{",
  "}",
  "%",
  "#",
  "\n",
  "'",
  "s",
  "User:",
  "assistant",
  ":",
  ".",
  " .",
  "?",
  " n't",
  "\\",
  '"',
  "&",
);
const words = fc.array(frag, { maxLength: 5 }).map((t) => `w${t.join("").trim()}`);
const turn = fc.record({ role: fc.constantFrom("user", "assistant", "tool"), content: words });
const law = fc.property(fc.array(turn), fc.constantFrom("chatml", "qwen", "llama"), (messages, family) => {
  const format = formats[family]!;
  const { text, ids, assistantMask } = tokenizeChat(messages, format);
  assertEquals(ids, tokenizer.encode(text));
  const replies = messages.filter(({ role }) => role === "assistant").map(({ content }) =>
    Deno.args[2] ? format.neutralise(format.cutEnd(content), "assistant") : content
  ).join("");
  assertEquals(tokenizer.decode(ids.filter((_id, at) => assistantMask[at] === 1)), replies);
});
const start = Number(Deno.args[0]);
const end = Date.now() + Number(Deno.args[1]) * 1000;
let n = 0, fails = 0;
const seen = new Set();
for (let seed = start; Date.now() < end; seed++) {
  const r = fc.check(law, { numRuns: 200, seed });
  n++;
  if (r.failed) {
    fails++;
    const k = JSON.stringify(r.counterexample);
    if (!seen.has(k) && seen.size < 12) {
      seen.add(k);
      console.log(
        "SEED",
        seed,
        r.counterexamplePath,
        "runs",
        r.numRuns,
        k,
        String(r.errorInstance).slice(0, 400),
      );
    }
  }
}
console.log({ n, fails });
