import { requireKnownOptions } from "../options.ts";
import { type Message, messageText } from "../message.ts";
import type { ChatFormat, RenderOptions } from "./chat_format.ts";
import type { GenerationMarks } from "./chat_template.ts";

/** A chat as tokens, with a mask of the assistant's tokens. */
export interface TokenizedChat {
  readonly text: string;
  readonly ids: readonly number[];
  /** 1 for the assistant's content, 0 elsewhere; turn headers and end tokens are 0. */
  readonly assistantMask: readonly (0 | 1)[];
}

/**
 * Encodes a chat and masks the assistant's tokens.
 *
 * The assistant's part is the part that the template marks with `{% generation %}`, or else the contents of
 * the assistant's messages. Each segment of text is encoded separately, so that no token belongs to two segments. The ids
 * equal the ids of the full text, except where the tokenizer would merge characters across the border of a
 * turn.
 *
 * @example
 * ```ts ignore
 * import { ChatFormat, tokenizeChat } from "@paddock/paddock/chat";
 * import { loadTokenizer } from "@paddock/paddock";
 *
 * const format = new ChatFormat({ tokenizer: await loadTokenizer("./Qwen3-0.6B") });
 * const chat = [{ role: "user", content: "Hello" }, { role: "assistant", content: "Hi!" }];
 * const { ids, assistantMask } = tokenizeChat(chat, format);
 * ```
 *
 * @throws {TypeError} if the format has no tokenizer.
 * @throws {Error} if the template changes contents so that they cannot be found in the rendered text.
 */
export function tokenizeChat(
  messages: Iterable<Message>,
  format: ChatFormat,
  options: Omit<RenderOptions, "marks"> = {},
): TokenizedChat {
  requireKnownOptions("call tokenizeChat", options, { addGenerationPrompt: true, tools: true, time: true });
  const { tokenizer } = format;
  if (tokenizer === undefined) {
    throw new TypeError("Cannot tokenize chat as the format must have a tokenizer: found none");
  }
  const ids: number[] = [];
  const assistantMask: (0 | 1)[] = [];
  const segments = chatSegments([...messages], format, { time: format.now(), ...options });
  for (const { text, assistant } of segments) {
    for (const id of tokenizer.encode(text)) {
      ids.push(id);
      assistantMask.push(assistant ? 1 : 0);
    }
  }
  return { text: segments.map(({ text }) => text).join(""), ids, assistantMask };
}

interface Segment {
  readonly text: string;
  readonly assistant: boolean;
}

function chatSegments(messages: readonly Message[], format: ChatFormat, options: RenderOptions): Segment[] {
  const marks = unusedMarks([messages, options.tools]);
  if (format.hasGenerationTags) return splitAtMarks(format.render(messages, { ...options, marks }), marks);
  const plain = format.render(messages, options);
  const markedMessages = messages.map((message) => {
    const content = format.cutEnd(messageText(message));
    // some templates show calls only beside an empty content
    if (message.role !== "assistant" || (content === "" && message.tool_calls !== undefined)) return message;
    return { ...message, content: `${marks.start}${content}${marks.end}` };
  });
  const marked = splitAtMarks(format.render(markedMessages, options), marks);
  if (marked.map(({ text }) => text).join("") === plain) return marked;
  return findContents(messages, plain, { format, options });
}

function splitAtMarks(marked: string, { start, end }: GenerationMarks): Segment[] {
  const segments: Segment[] = [];
  for (const [index, part] of marked.split(start).entries()) {
    const [content, ...rest] = index === 0 ? ["", part] : part.split(end);
    segments.push({ text: content ?? "", assistant: true }, { text: rest.join(""), assistant: false });
  }
  return segments.filter(({ text }) => text !== "");
}

/**
 * Finds the assistant's contents in a text whose template trims or splits them. Each reply is searched after
 * the text of the earlier chat. This is slow, since that chat is rendered for each reply.
 */
function findContents(
  messages: readonly Message[],
  plain: string,
  { format, options }: { format: ChatFormat; options: RenderOptions },
): Segment[] {
  const segments: Segment[] = [];
  let position = 0;
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    const prompt = format.render(messages.slice(0, index), { ...options, addGenerationPrompt: true });
    const content = format.neutralise(format.cutEnd(messageText(message)), "assistant").trim();
    const start = plain.indexOf(content, Math.max(position, sharedLength(prompt, plain)));
    if (start === -1) {
      throw new Error(
        `Cannot mask the assistant's tokens as template '${format.template.name}' must keep message contents: ` +
          `message ${index} is not in the text`,
      );
    }
    segments.push({ text: plain.slice(position, start), assistant: false }, {
      text: content,
      assistant: true,
    });
    position = start + content.length;
  }
  segments.push({ text: plain.slice(position), assistant: false });
  return segments.filter(({ text }) => text !== "");
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** Returns two private-use characters that do not occur in the chat. */
function unusedMarks(chat: unknown): GenerationMarks {
  const used = JSON.stringify(chat);
  const free: string[] = [];
  for (let code = 0xe000; code < 0xf900 && free.length < 2; code++) {
    const mark = String.fromCharCode(code);
    if (!used.includes(mark)) free.push(mark);
  }
  const [start, end] = free;
  if (start !== undefined && end !== undefined) return { start, end };
  throw new RangeError(
    "Cannot mark the assistant's part as two private-use characters must be unused: the chat uses all",
  );
}
