import { tokenFormatOf } from "./token_format_of.ts";
import { assert, assertEquals } from "@std/assert";
import type { Tokenizer } from "../../../src/chat/tokenizer.ts";
import { History } from "../../../src/history.ts";
import type { Message } from "../../../src/message.ts";
import type { Reply } from "../../../src/policy/policy.ts";
import { EpisodeWriter, type TokenOptions } from "../../../src/rollout/tokens/episode_writer.ts";
import { task } from "./written_episode.ts";

/** Stop text that servers remove from a reply. */
export const STOP = "###";

/** A reply as it is sampled, and the messages after it. */
export interface Sampled {
  readonly said: string;
  /** Lengths of the pieces that are encoded on their own, so that the ids are not those of the text. */
  readonly pieces: readonly number[];
  /** End of the reply: its end token, a stop text that the server removes, or none, as its length is limited. */
  readonly end: "token" | "stop text" | "cut";
  /**
   * Token that ends the reply.
   *
   * @default the first end token of the format
   */
  readonly endToken?: string;
  readonly messages: readonly Message[];
}

/** Encodes a text piece by piece, as a model may sample it. */
function sampleIds(text: string, pieces: readonly number[], tokenizer: Tokenizer): number[] {
  const points = [...text];
  const ids: number[] = [];
  let piece = 0;
  for (let at = 0; at < points.length;) {
    const length = pieces[piece++ % pieces.length] ?? 1;
    ids.push(...tokenizer.encode(points.slice(at, at + length).join("")));
    at += length;
  }
  return ids;
}

/** A turn that was played: the ids of its prompt and of its reply, and where the reply starts. */
export interface PlayedTurn {
  readonly prompt: readonly number[];
  readonly ids: readonly number[];
  readonly start: number;
}

/** An episode that was played. */
export interface PlayedEpisode {
  readonly writer: EpisodeWriter;
  readonly turns: readonly PlayedTurn[];
  readonly chat: readonly Message[];
}

/** Plays an episode whose replies are sampled as given. */
export function play(
  start: readonly Message[],
  sampled: readonly Sampled[],
  options: TokenOptions,
): PlayedEpisode {
  const { tokenizer, format = tokenFormatOf(options) } = options;
  const writer = new EpisodeWriter({ ...options, format });
  let history = History.fromChats([...start]);
  writer.start({ task, history: { prompt: history } });
  const turns: PlayedTurn[] = [];
  for (const { said, pieces, end, endToken = format.chat.endTokens[0] ?? "", messages } of sampled) {
    const tail = { token: endToken, "stop text": STOP, cut: "" }[end];
    const ids = [...sampleIds(said, pieces, tokenizer), ...tokenizer.encode(tail)];
    const message = { role: "assistant", content: said, ...(end === "cut" && { is_complete: false }) };
    const reply: Reply = {
      message,
      tokens: { ids, logProbs: ids.map((_id, at) => -1 - at) },
      ...(end === "stop text" && { stopText: STOP }),
    };
    const prompt = writer.prompt.ids;
    const written = writer.reply(reply);
    assertSameNumbers(written.ids, ids);
    turns.push({ prompt, ids, start: written.start });
    history = history.append(message).extend(messages);
    writer.step(history);
  }
  return { writer, turns, chat: [...history] };
}

/** Asserts that lists of numbers are equal. assertEquals() takes most of the time of a long episode. */
function assertSameNumbers(found: readonly number[], expected: readonly number[] | undefined): void {
  const isSame = found.length === expected?.length && found.every((value, at) => value === expected[at]);
  if (!isSame) assertEquals(found, expected);
}

/** Asserts that exactly the sampled ids have the mask 1, unchanged and in order. */
export function assertExactMask({ writer, turns }: PlayedEpisode): void {
  const { ids, lossMask, logProbs = [], promptLength = 0 } = writer.tokens();
  const expectedMask = ids.map(() => 0);
  for (const { start, ids: sampled } of turns) {
    assertSameNumbers(ids.slice(start, start + sampled.length), sampled);
    expectedMask.fill(1, start, start + sampled.length);
    assertSameNumbers(logProbs.slice(start, start + sampled.length), sampled.map((_id, at) => -1 - at));
  }
  assertSameNumbers(lossMask, expectedMask);
  assert(logProbs.every((value, at) => lossMask[at] === 1 || value === 0));
  assertSameNumbers(ids.slice(0, promptLength), turns[0]?.prompt);
}

/** Asserts that each prompt is the one before it, its reply unchanged, and new text. */
export function assertAppended({ writer, turns }: PlayedEpisode): void {
  const prompts = [...turns.slice(1).map(({ prompt }) => prompt), writer.prompt.ids];
  for (const [at, { prompt, ids, start }] of turns.entries()) {
    assertEquals(start, prompt.length);
    assertSameNumbers([...prompt, ...ids], prompts[at]?.slice(0, prompt.length + ids.length));
  }
  const { ids } = writer.tokens();
  assertSameNumbers(writer.prompt.ids.slice(0, ids.length), ids);
}
