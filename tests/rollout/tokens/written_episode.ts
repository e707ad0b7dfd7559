import fc from "fast-check";
import type { Tokenizer } from "../../../src/chat/tokenizer.ts";
import { History } from "../../../src/history.ts";
import type { Message } from "../../../src/message.ts";
import type { Reply } from "../../../src/policy/policy.ts";
import { EpisodeWriter, type TokenOptions } from "../../../src/rollout/tokens/episode_writer.ts";

/** The token that ends a turn. */
export const END = "<|im_end|>";
/** What stands before an assistant's turn. */
export const HEADER = "<|im_start|>assistant\n";
/** Drops what an assistant thought before the last question, as Qwen 3 does. */
export const FORGETFUL = "{% set ns = namespace(last=0) %}" +
  "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}" +
  "{% for m in messages %}<|im_start|>{{ m.role }}\n" +
  "{{ m.content if m.role != 'assistant' or loop.index0 > ns.last else m.content.split('</think>')[-1] }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
/** The task of every episode here. */
export const task = { id: "t", query: "q" };

/** What a policy says and what comes back. */
export interface Played {
  readonly said: string;
  /** False for a reply that was cut off. */
  readonly ended: boolean;
  readonly messages: readonly Message[];
}

/** Text with what is hard: control tokens, accents, nothing. */
export const text: fc.Arbitrary<string> = fc.array(
  fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 6 }),
    fc.constantFrom(
      END,
      HEADER,
      "<think>",
      "</think>",
      "<tool_call>\n",
      "é",
      "e\u0301",
      "\ue000",
      "\n",
      "{{ x }}",
    ),
  ),
  { maxLength: 5 },
).map((parts) => parts.join(""));
/** What is rendered is compared with what was said, and a template takes an end off that is said as text. */
const said = text.filter((said) => !said.endsWith(END) && !said.endsWith("</s>"));
const others = fc.oneof(
  text.map((content): Message[] => [{ role: "user", content }]),
  fc.array(text.map((content): Message => ({ role: "tool", name: "f", content })), {
    minLength: 1,
    maxLength: 3,
  }),
);
/** Episodes of a few turns. */
export const plays: fc.Arbitrary<Played[]> = fc.array(
  fc.record({ said, ended: fc.boolean(), messages: others }),
  { maxLength: 4 },
);

/** The reply of a policy that said so. */
export function replyOf({ said, ended }: Played, tokenizer: Tokenizer, hasIds: boolean): Reply {
  const ids = tokenizer.encode(ended ? said + END : said);
  const message = { role: "assistant", content: said, ...(!ended && { is_complete: false }) };
  return { message, ...(hasIds && { tokens: { ids, logProbs: ids.map(() => -1) } }) };
}

/** An episode that was written. */
export interface Written {
  readonly writer: EpisodeWriter;
  readonly chat: readonly Message[];
}

/** Writes an episode. */
export function write(options: TokenOptions, plays: readonly Played[], hasIds: boolean): Written {
  const writer = new EpisodeWriter(options);
  let history = History.fromChats([{ role: "system", content: "s" }, { role: "user", content: "q" }]);
  writer.start({ task, history: { prompt: history } });
  for (const play of plays) {
    const reply = replyOf(play, options.tokenizer, hasIds);
    writer.reply(reply);
    history = history.append(reply.message).extend(play.messages);
    writer.step(history);
  }
  return { writer, chat: [...history] };
}

/** The pieces with loss mask 1, as text. */
export function sampledTexts({ writer }: Written, tokenizer: Tokenizer): string[] {
  const { ids, lossMask } = writer.tokens();
  const pieces: number[][] = [];
  for (const [at, id] of ids.entries()) {
    if (lossMask[at] !== 1) continue;
    if (lossMask[at - 1] === 1) pieces.at(-1)?.push(id);
    else pieces.push([id]);
  }
  return pieces.map((ids) => tokenizer.decode(ids));
}

/** What was sampled, turn by turn. */
export function saidTexts(plays: readonly Played[]): string[] {
  return plays.map(({ said, ended }) => ended ? said + END : said).filter((text) => text !== "");
}

/** Puts a space behind what opens a text, as tokenizers of Llama 2 and Mistral do. */
export function spacing(tokenizer: Tokenizer): Tokenizer {
  const spaced = (text: string) => text.replace(/^(<s>)?(?! )/, "$1 ").replace(/(<\/s>)(?=[^ <])/g, "$1 ");
  return { ...tokenizer, decode: (ids) => spaced(tokenizer.decode(ids)) };
}
