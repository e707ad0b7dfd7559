import { tokenFormatOf } from "./token_format_of.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ChatEnv } from "../../../src/envs/chat_env.ts";
import { rolloutAll } from "../../../src/rollout/rollout_all.ts";
import { scriptedPolicy } from "../../../src/policy/scripted.ts";
import type { TokenOptions } from "../../../src/rollout/tokens/episode_writer.ts";
import { trainingRollout } from "../../../src/rollout/training_rollout.ts";
import { tinyTokenizer } from "../../tiny_tokenizer.ts";
import { type Played, saidTexts, sampledTexts, write } from "./written_episode.ts";

const tokenizer = await tinyTokenizer();

/** The modes of the table in docs/trainers.md. */
const MODES = {
  append: { mode: "append" },
  keep: { mode: "append", onRewrite: "keep" },
  rerender: { mode: "rerender" },
} as const;

/** Templates that cannot place a reply, or drop one. */
const WITHOUT_REPLIES = "{% for m in messages %}{% if m.role != 'assistant' %}{{ m.content }}\n{% endif %}" +
  "{% endfor %}{% if add_generation_prompt %}Reply: {% endif %}";
const OTHER_HEADER = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}" +
  "{% if add_generation_prompt %}Your turn>{% endif %}";
const TEMPLATES: readonly [Partial<TokenOptions>, readonly (keyof typeof MODES)[]][] = [
  [{ family: "chatml" }, ["append", "keep", "rerender"]],
  [{ family: "qwen" }, ["append", "keep", "rerender"]],
  [{ family: "llama" }, ["append", "keep", "rerender"]],
  [{ family: "falcon" }, ["append", "keep", "rerender"]],
  [{ family: "deepseek" }, ["append", "keep", "rerender"]],
  [{ family: "dialogpt" }, ["keep", "rerender"]],
  [{ chatTemplate: WITHOUT_REPLIES }, []],
  [{ chatTemplate: OTHER_HEADER }, []],
];

for (const [template, writable] of TEMPLATES) {
  const name = template.family ?? template.chatTemplate;
  for (const [label, mode] of Object.entries(MODES)) {
    const isWritable = writable.some((other) => other === label);
    Deno.test(`TokenFormat ${isWritable ? "writes" : "refuses"} ${JSON.stringify(name)} with ${label}`, () => {
      const options: TokenOptions = { tokenizer, ...template, ...mode };
      const format = tokenFormatOf(options);
      if (!isWritable) {
        assertThrows(() => format.requireWritable(mode), TypeError, "must put a reply after");
        return;
      }
      const plays: Played[] = ["a", " b", "c"].map((said) => ({
        said,
        ended: false,
        messages: [{ role: "user", content: "next" }],
      }));
      const written = write({ ...options, format }, plays, true);
      assertEquals(sampledTexts(written, tokenizer), saidTexts(plays));
    });
  }
}

Deno.test("TokenFormat.requireWritable() recommends only modes that work", () => {
  const messageFor = (template: Partial<TokenOptions>, mode: keyof typeof MODES) =>
    assertThrows(() => tokenFormatOf({ tokenizer, ...template }).requireWritable(MODES[mode]), TypeError)
      .message;
  assertStringIncludes(
    messageFor({ family: "dialogpt" }, "append"),
    "Use the token mode 'append' with 'onRewrite' set to 'keep', or the token mode 'rerender'",
  );
  for (const mode of ["append", "keep", "rerender"] as const) {
    assertStringIncludes(messageFor({ chatTemplate: OTHER_HEADER }, mode), "Use another template");
  }
});

Deno.test("dialogpt is refused before the first episode in the token mode append", async () => {
  const policy = scriptedPolicy({ replies: () => ["a"] });
  const task = { id: "1", query: "q" };
  let envs = 0;
  const makeEnv = () => {
    envs++;
    return new ChatEnv();
  };
  const messages: unknown[] = [];
  try {
    const tokens = { tokenizer, family: "dialogpt" };
    for await (const { error } of rolloutAll([task], { makeEnv, policy, tokens })) messages.push(error);
  } catch (error) {
    messages.push(error instanceof TypeError);
  }
  assertEquals([messages, envs], [[true], 0]);
  await using env = new ChatEnv();
  const refused = await trainingRollout(env, policy, tokenizer, { task, family: "dialogpt" })
    .catch((error: unknown) => error);
  assertEquals(refused instanceof TypeError, true);
});

Deno.test("dialogpt's reply stays after the white space of its generation prompt", () => {
  const plays: Played[] = [{ said: "hi", ended: false, messages: [{ role: "user", content: "more" }] }];
  const shown = (mode: keyof typeof MODES) => {
    const { writer } = write({ tokenizer, family: "dialogpt", ...MODES[mode] }, plays, true);
    return [tokenizer.decode(writer.tokens().ids), writer.prompt.text];
  };
  assertEquals(shown("keep"), ["q</s> hi</s>more</s>", "q</s> hi</s>more</s> "]);
  assertEquals(shown("rerender"), ["q</s> hi</s>more</s>", "q</s>hi</s>more</s> "]);
});
