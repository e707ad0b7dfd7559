/**
 * Plays random episodes with the chat templates of released models and checks the laws of their tokens, masks and
 * log-probabilities. `deno task test:template-tokens` installs the packages of template_packages.txt. This is not part of
 * `deno task test`, since it needs the network once. PADDOCK_EPISODES is the number of episodes for each template and
 * mode, PADDOCK_TEMPLATES a folder with further templates.
 */
import { assert, assertEquals, AssertionError } from "@std/assert";
import fc from "fast-check";
import type { Message } from "../../../src/message.ts";
import { TokenError } from "../../../src/errors.ts";
import type { TokenOptions } from "../../../src/rollout/tokens/episode_writer.ts";
import { TokenFormat } from "../../../src/rollout/tokens/token_format.ts";
import { furtherTemplates, releasedTemplates } from "../../chat/released_templates.ts";
import { installTemplatePackages } from "../../chat/template_packages.ts";
import {
  assertAppended,
  assertExactMask,
  play,
  type PlayedEpisode,
  type Sampled,
} from "./sampled_episode.ts";
import { text } from "./written_episode.ts";

// deno-lint-ignore no-console -- the counts belong into docs/truth.md
const report = (...line: unknown[]) => console.log(...line);

const EPISODES = Number(Deno.env.get("PADDOCK_EPISODES") ?? 700);
const MODES = [{ mode: "append" }, { mode: "append", onRewrite: "keep" }, { mode: "rerender" }] as const;

const plain = text.map((said) => `x${said}x`);
const pieces = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
const ends: fc.Arbitrary<Sampled["end"]> = fc.constantFrom("token", "token", "stop text", "cut");

/** A reply that thinks, calls or answers, in the syntax of a template. */
type Said = (text: string) => string;

/** Returns how a model of a template thinks and calls, besides plain text. */
function repliesOf(source: string): Said[] {
  const replies: Said[] = [(text) => text];
  if (source.includes("</think>")) {
    replies.push((text) => `${text}\n</think>\n\n${text}`, (text) => `<think>\n${text}\n</think>\n\n${text}`);
  }
  if (source.includes("<|channel|>analysis")) {
    replies.push(
      (text) => `<|channel|>final<|message|>${text}`,
      (text) =>
        `<|channel|>analysis<|message|>${text}<|end|><|start|>assistant<|channel|>final<|message|>${text}`,
    );
  }
  return replies;
}

/** Returns a call of the tool `f` in the syntax of a template; `undefined` if the template takes it as plain text. */
function callOf(source: string): string | undefined {
  if (source.includes("<|channel|>analysis")) {
    return "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f " +
      '<|constrain|>json<|message|>{"a": 1}';
  }
  if (source.includes("<|tool_call>call:")) return "<|tool_call>call:f{a:1}<tool_call|>";
  if (source.includes("<minimax:tool_call>")) {
    return '<minimax:tool_call>\n<invoke name="f"><parameter name="a">1</parameter>\n</invoke>\n</minimax:tool_call>';
  }
  if (source.includes("｜DSML｜")) {
    const group = source.includes("<function_results>") ? "function_calls" : "tool_calls";
    const parameter = '<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>';
    return `\n\n<｜DSML｜${group}>\n<｜DSML｜invoke name="f">\n${parameter}\n</｜DSML｜invoke>\n</｜DSML｜${group}>`;
  }
  if (source.includes("]<]minimax[>[")) {
    const tags = ["<tool_call>\n", '<invoke name="f">', "<a>1", "</a>", "</invoke>\n", "</tool_call>"];
    return tags.map((tag) => `]<]minimax[>[${tag}`).join("");
  }
  return undefined;
}

/** Returns episodes of a few turns: questions, and results after calls. */
function episodesOf(source: string, { chat }: TokenFormat, hasTools: boolean): fc.Arbitrary<Sampled[]> {
  const answer = fc.record({
    said: fc.tuple(fc.constantFrom(...repliesOf(source)), plain).map(([said, text]) => said(text)),
    pieces,
    end: ends,
    messages: plain.map((content): Message[] => [{ role: "user", content }]),
  });
  const call = fc.record({
    said: callOf(source) === undefined
      ? plain.map((text) => `${text}<tool_call>\n{"name": "f"}\n</tool_call>`)
      : fc.constant(callOf(source) ?? ""),
    pieces,
    end: fc.constant("token" as const),
    endToken: fc.constant(callOf(source) === undefined ? chat.endTokens[0] ?? "" : chat.callEnd ?? ""),
    messages: plain.map((content): Message[] => [{ ...RESULT, content }]),
  });
  return fc.array(hasTools ? fc.oneof(answer, call) : answer, { minLength: 1, maxLength: 4 });
}

/** True if a template renders a chat. */
function renders({ chat }: TokenFormat, messages: readonly Message[]): boolean {
  try {
    chat.render(messages, { addGenerationPrompt: true });
    return true;
  } catch {
    return false; // the template rejects such chats
  }
}

/** Asserts that no token that ends a turn follows another one, unless the model sampled both. */
function assertOneEnd({ writer, turns }: PlayedEpisode, { chat, tokenizer }: TokenFormat): void {
  const endIds = chat.endTokens.map((end) => tokenizer.encode(end)[0]);
  const { ids } = writer.tokens();
  for (const { start, ids: sampled } of turns) {
    const next = ids[start + sampled.length];
    const isRepeated = endIds.includes(sampled.at(-1)) && endIds.includes(next);
    if (isRepeated) throw new AssertionError(`two ends follow each other: ${tokenizer.decode(ids)}`);
  }
}

const USER: Message = { role: "user", content: "q" };
const CALL: Message = {
  role: "assistant",
  content: "",
  tool_calls: [{ id: "call00001", name: "f", arguments: { a: 1 } }],
};
const RESULT: Message = { role: "tool", name: "f", tool_call_id: "call00001", content: "r" };

const released = await releasedTemplates(await installTemplatePackages());

for (const { name, source, tokenizer } of [...released, ...await furtherTemplates()]) {
  Deno.test(`tokens of ${name}`, async (t) => {
    const format = new TokenFormat({ tokenizer, family: "tokenizer" });
    if (!renders(format, [USER])) return report(`${name}: renders no question`);
    const reply = { role: "assistant", content: "x" };
    const toolReply = format.chat.needsCalls ? CALL : reply;
    const readsCalls = !format.chat.needsCalls || callOf(source) !== undefined;
    if (!readsCalls) report(`${name}: the syntax of its calls is unknown, so they are not played`);
    const hasTools = readsCalls && renders(format, [USER, toolReply, RESULT, reply, USER]);
    const system = fc.constantFrom<Message[]>(
      [USER],
      ...renders(format, [{ role: "system", content: "s" }, USER])
        ? [[{ role: "system", content: "s" }, USER]]
        : [],
    );
    for (const mode of MODES) {
      const label = Object.values(mode).join(", ");
      const options: TokenOptions = { tokenizer, family: "tokenizer", ...mode, format };
      try {
        format.requireWritable(mode);
      } catch (error) {
        report(`${name}: ${label} is refused: ${String(error).slice(0, 200)}`);
        continue;
      }
      await t.step(label, () => {
        const reasons = new Map<string, number>();
        let played = 0;
        const law = fc.property(system, episodesOf(source, format, hasTools), (start, sampled) => {
          let episode: PlayedEpisode;
          try {
            episode = play(start, sampled, options);
          } catch (error) {
            if (!(error instanceof TokenError)) throw error;
            const reason = error.message.slice(0, 300);
            reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
            return;
          }
          played++;
          assertExactMask(episode);
          assertOneEnd(episode, format);
          if (mode.mode === "append") assertAppended(episode);
        });
        fc.assert(law, { numRuns: EPISODES });
        report(`${name}: ${label}: ${played} of ${EPISODES} episodes`, ...reasons);
        if (mode.mode === "append" && "onRewrite" in mode) assertEquals([...reasons], []);
        // in `append` alone, each episode may end where the template rewrites a turn, as with Qwen3's
        if (mode.mode === "rerender") assert(played > 0);
      });
    }
  });
}
