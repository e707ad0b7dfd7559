import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import { tokenizeChat } from "../../src/chat/tokenize_chat.ts";
import { tinyTokenizer } from "../tiny_tokenizer.ts";
const tokenizer = await tinyTokenizer();
const formats = Object.fromEntries(
  ["chatml", "qwen", "llama"].map((f) => [f, new ChatFormat({ family: f, tokenizer })]),
);
const words = fc.string({ maxLength: 20 }).map((text) => `w${text.trim()}`);
const turn = fc.record({ role: fc.constantFrom("user", "assistant", "tool"), content: words });
const law = fc.property(fc.array(turn), fc.constantFrom("chatml", "qwen", "llama"), (messages, family) => {
  const format = formats[family]!;
  const { text, ids, assistantMask } = tokenizeChat(messages, format);
  assertEquals(ids, tokenizer.encode(text));
  const replies = messages.filter(({ role }) => role === "assistant").map(({ content }) => content).join("");
  assertEquals(tokenizer.decode(ids.filter((_id, at) => assistantMask[at] === 1)), replies);
});
const start = Number(Deno.args[0]);
const end = Date.now() + Number(Deno.args[1]) * 1000;
let n = 0, fails = 0;
for (let seed = start; Date.now() < end; seed++) {
  const r = fc.check(law, { numRuns: 200, seed });
  n++;
  if (r.failed) {
    fails++;
    console.log(
      "SEED",
      seed,
      r.counterexamplePath,
      "runs",
      r.numRuns,
      JSON.stringify(r.counterexample),
      String(r.errorInstance).slice(0, 600),
    );
  }
}
console.log({ n, fails });
