import type { Message, ToolSpec } from "../message.ts";
import type { ChatFormat } from "./chat_format.ts";
import { type ChatTurn, QUESTION, renderTurnSuffix } from "./turn_tail.ts";

/** A turn whose reply may have been sampled as token ids. */
export interface SampledTurn extends ChatTurn {
  /** Ids of the sampled reply; without them, the reply's text is encoded. */
  readonly sampled?: readonly number[] | undefined;
}

/** The text and the tokens that a turn adds to a chat. */
export interface TurnTokens {
  readonly text: string;
  readonly ids: readonly number[];
  /** 1 for each sampled id, 0 for all others. */
  readonly lossMask: readonly (0 | 1)[];
}

/**
 * Returns the tokens to append to a chat that ends in a generation prompt: the sampled ids unchanged, the end
 * of the turn if the end was not sampled, the other messages, and the next generation prompt.
 *
 * Only the new messages are rendered and encoded; existing tokens are never changed. The result equals the
 * tokens of the full text under three conditions: the template renders a turn the same way at every position;
 * the tokenizer does not merge across the border of a generation prompt or of a sampled reply; the
 * tokenizer does not put a space before each text.
 *
 * @throws {TypeError} if the format has no tokenizer, or the reply's role is not `assistant`.
 * @throws {Error} if the template does not put the reply after the generation prompt.
 */
export function turnTokens(turn: SampledTurn, format: ChatFormat): TurnTokens {
  const { tokenizer } = format;
  const { reply, sampled } = turn;
  if (tokenizer === undefined) {
    throw new TypeError("Cannot encode turn as the format must have a tokenizer: found none");
  }
  if (reply.role !== "assistant") {
    throw new TypeError(
      `Cannot encode turn as the reply's role must be 'assistant': current value is '${reply.role}'`,
    );
  }
  if (sampled === undefined) {
    const text = renderTurn(turn, format);
    const ids = tokenizer.encode(text);
    return { text, ids, lossMask: ids.map(() => 0) };
  }
  const rest = renderTurnSuffix({ ...turn, sampled }, format);
  const added = tokenizer.encode(rest);
  return {
    text: tokenizer.decode(sampled) + rest,
    ids: [...sampled, ...added],
    lossMask: [...sampled.map(() => 1 as const), ...added.map(() => 0 as const)],
  };
}

/**
 * Renders the text of a turn, from the end of a generation prompt to the end of the next generation prompt.
 *
 * @throws {Error} if the template does not put the reply after the generation prompt.
 */
function renderTurn(turn: ChatTurn, format: ChatFormat): string {
  const { reply, messages = [], tools, before = QUESTION, time = format.now() } = turn;
  const options = { addGenerationPrompt: true, tools, time };
  const prompt = format.render(before, options);
  const text = format.render([...before, reply, ...messages], options);
  if (text.startsWith(prompt)) return text.slice(prompt.length);
  throw new Error(
    `Cannot render turn as template '${format.template.name}' must put a reply after its generation prompt: ` +
      "it changes earlier text",
  );
}

type Turn = readonly [Message, ...Message[]];

const SYSTEM: Message = { role: "system", content: "s" };
const USER: Message = { role: "user", content: "q" };
const TOOL: Message = { role: "tool", content: "t" };
const REPLY: Message = { role: "assistant", content: "a" };
const THOUGHT: Message = { role: "assistant", content: "<think>\nc\n</think>\n\na" };

const TALK: readonly Turn[] = [[THOUGHT, USER], [REPLY, USER], [REPLY, USER]];
const TOOL_USE: readonly Turn[] = [[THOUGHT, TOOL], [REPLY, TOOL, TOOL], [REPLY, USER], [REPLY], [
  REPLY,
  TOOL,
]];

/** Small chats, the fullest first. A template that rejects a chat may accept the next chat. */
const CHATS: readonly { start: readonly Message[]; turns: readonly Turn[] }[] = [
  { start: [SYSTEM, USER], turns: TOOL_USE },
  { start: [USER], turns: TOOL_USE },
  { start: [USER], turns: TALK },
];

/**
 * True if a template writes each turn the same way at every position and never changes earlier text. A turn
 * can then be rendered without the earlier chat. Tested on a small chat with every kind of turn that the
 * template supports.
 */
export function isAppendOnly(format: ChatFormat, tools: readonly ToolSpec[] = []): boolean {
  for (const { start, turns } of CHATS) {
    try {
      return isAppendOnlyFor(format, start, { turns, tools });
    } catch {
      // The template does not support some kind of turn in this chat.
    }
  }
  return false;
}

function isAppendOnlyFor(
  format: ChatFormat,
  start: readonly Message[],
  { turns, tools }: { turns: readonly Turn[]; tools: readonly ToolSpec[] },
): boolean {
  const time = format.now();
  const options = { addGenerationPrompt: true, tools, time };
  const chat = [...start];
  let text = format.render(chat, options);
  for (const [reply, ...messages] of turns) {
    text += renderTurn({ reply, messages, tools, time }, format);
    chat.push(reply, ...messages);
    if (format.render(chat, options) !== text) return false;
  }
  return true;
}
