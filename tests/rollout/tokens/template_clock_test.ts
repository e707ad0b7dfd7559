import { tokenFormatOf } from "./token_format_of.ts";
import { assertEquals, assertNotEquals } from "@std/assert";
import { ChatFormat } from "../../../src/chat/chat_format.ts";
import { tokenizeChat } from "../../../src/chat/tokenize_chat.ts";
import { isAppendOnly } from "../../../src/chat/turns.ts";
import { History } from "../../../src/history.ts";
import type { Message } from "../../../src/message.ts";
import { EpisodeWriter, type TokenOptions } from "../../../src/rollout/tokens/episode_writer.ts";
import { IncrementalTokenizer } from "../../../src/transforms/incremental_tokenizer.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";
import { task } from "./written_episode.ts";

/** As Hunyuan A13B's template, which prints the second of each rendering. */
const CLOCK = "<|sys|>{{ strftime_now('%Y-%m-%d %H:%M:%S') }}" +
  "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.role == 'assistant' %}<|eos|>{% endif %}{% endfor %}" +
  "{% if add_generation_prompt %}<|assistant|>{% endif %}";
/** The same, and earlier replies are rewritten. */
const REWRITING = CLOCK.replace(
  "{{ m.content }}",
  "{{ m.content if loop.index0 + 2 >= messages|length or m.role == 'user' else '-' }}",
);

/** A clock that shows another second each time. */
function runningClock(): () => Date {
  let second = 0;
  return () => new Date(2026, 0, 1, 0, 0, second++);
}

function optionsOf(chatTemplate: string): TokenOptions {
  const specialTokens = ["<|sys|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|eos|>"];
  const tokenizer = { ...byteTokenizer({ specialTokens, chatTemplate }), eosToken: "<|eos|>" };
  return { tokenizer, family: "tokenizer", now: runningClock() };
}

/** Plays three turns. Returns the prompts. */
function play(options: TokenOptions): string[] {
  const writer = new EpisodeWriter(options);
  let history = History.fromChats([{ role: "user", content: "q" }]);
  writer.start({ task, history: { prompt: history } });
  const prompts = [writer.prompt.text];
  for (const said of ["a", "b", "c"]) {
    const ids = options.tokenizer.encode(`${said}<|eos|>`);
    const message = { role: "assistant", content: said };
    writer.reply({ message, tokens: { ids, logProbs: ids.map(() => -1) } });
    history = history.append(message).append({ role: "user", content: "next" });
    writer.step(history);
    prompts.push(writer.prompt.text);
  }
  return prompts;
}

const timeOf = (prompt: string) => /\d\d:\d\d:\d\d/.exec(prompt)?.[0];

for (
  const mode of [{ mode: "append" }, { mode: "append", onRewrite: "keep" }, { mode: "rerender" }] as const
) {
  Deno.test(`an episode has the time of its start in all prompts: ${Object.values(mode).join(", ")}`, () => {
    const options = { ...optionsOf(mode.mode === "append" ? CLOCK : REWRITING), ...mode };
    const format = tokenFormatOf(options);
    const [first, second] = [play({ ...options, format }), play({ ...options, format })];
    for (const prompts of [first, second]) {
      assertEquals(new Set(prompts.map(timeOf)).size, 1);
      assertEquals(prompts.length, 4);
    }
    assertNotEquals(timeOf(first[0] ?? ""), timeOf(second[0] ?? ""));
  });
}

Deno.test("IncrementalTokenizer gives an episode the time of its reset", () => {
  const { tokenizer, now } = optionsOf(CLOCK);
  const transform = new IncrementalTokenizer({ tokenizer, family: "tokenizer", now });
  const prompt = History.fromChats([{ role: "user", content: "q" }]);
  const observation = transform.reset({ task, history: { prompt } });
  const step = transform.step(
    {
      task,
      history: {
        prompt: prompt.append({ role: "assistant", content: "a" }).append({ role: "user", content: "next" }),
      },
      reward: null,
      terminated: false,
      truncated: false,
      toolResults: [],
    },
    { action: undefined, task } as never,
  );
  assertEquals(step.text?.prompt?.startsWith(observation.text?.prompt ?? "?"), true);
});

Deno.test("a template that prints the time is append-only, and its chat can be masked", () => {
  const { tokenizer, now } = optionsOf(CLOCK);
  const format = new ChatFormat({ tokenizer, family: "tokenizer", now });
  assertEquals(isAppendOnly(format), true);
  const chat: Message[] = [{ role: "user", content: "q" }, { role: "assistant", content: "abc" }];
  const { ids, assistantMask } = tokenizeChat(chat, format);
  assertEquals(tokenizer.decode(ids.filter((_id, at) => assistantMask[at] === 1)), "abc");
});

Deno.test("renderChat() shows the given time", () => {
  const format = new ChatFormat({ chatTemplate: CLOCK, now: () => new Date(2026, 0, 1) });
  const chat = [{ role: "user", content: "q" }];
  assertEquals(timeOf(format.render(chat)), "00:00:00");
  assertEquals(timeOf(format.render(chat, { time: new Date(2026, 0, 1, 7, 8, 9) })), "07:08:09");
});
