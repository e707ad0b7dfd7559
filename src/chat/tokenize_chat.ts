import { type Message, messageText } from "../message.ts";
import type { ChatFormat, RenderOptions } from "./chat_format.ts";
import type { GenerationMarks } from "./jinja_template.ts";

/** A chat as tokens, and which of them the assistant said. */
export interface TokenizedChat {
  readonly text: string;
  readonly ids: readonly number[];
  /** 1 exactly on what the assistant said: neither on the headers of its turns nor on the tokens that end them. */
  readonly assistantMask: readonly (0 | 1)[];
}

/**
 * Encodes a chat and tells the assistant's tokens from the others.
 *
 * The assistant's part is what its template puts in `{% generation %}`; of a template without it, the contents
 * of its messages. Each stretch of text is encoded apart, so that no token belongs to two: the ids are those of
 * the whole text but where the tokenizer would merge over the border of a turn.
 *
 * @throws {TypeError} when the format has no tokenizer.
 * @throws {Error} when the template changes contents so that they cannot be found in its text.
 */
export function tokenizeChat(
  messages: Iterable<Message>,
  format: ChatFormat,
  options: Omit<RenderOptions, "marks"> = {},
): TokenizedChat {
  const { tokenizer } = format;
  if (tokenizer === undefined) {
    throw new TypeError("Cannot tokenize chat as the format must have a tokenizer: it has none");
  }
  const ids: number[] = [];
  const assistantMask: (0 | 1)[] = [];
  const stretches = chatStretches([...messages], format, options);
  for (const { text, assistant } of stretches) {
    for (const id of tokenizer.encode(text)) {
      ids.push(id);
      assistantMask.push(assistant ? 1 : 0);
    }
  }
  return { text: stretches.map(({ text }) => text).join(""), ids, assistantMask };
}

interface Stretch {
  readonly text: string;
  readonly assistant: boolean;
}

function chatStretches(messages: readonly Message[], format: ChatFormat, options: RenderOptions): Stretch[] {
  const marks = unusedMarks([messages, options.tools]);
  if (format.marksGeneration) return stretches(format.render(messages, { ...options, marks }), marks);
  const plain = format.render(messages, options);
  const said = messages.map((message) =>
    message.role === "assistant"
      ? { ...message, content: `${marks.start}${format.cutEnd(messageText(message))}${marks.end}` }
      : message
  );
  const marked = stretches(format.render(said, options), marks);
  if (marked.map(({ text }) => text).join("") === plain) return marked;
  return searched(messages, plain, { format, options });
}

function stretches(marked: string, { start, end }: GenerationMarks): Stretch[] {
  const found: Stretch[] = [];
  for (const [index, part] of marked.split(start).entries()) {
    const [said, ...rest] = index === 0 ? ["", part] : part.split(end);
    found.push({ text: said ?? "", assistant: true }, { text: rest.join(""), assistant: false });
  }
  return found.filter(({ text }) => text !== "");
}

/**
 * The slow way, for a template that trims or splits contents: each reply is looked for behind the text of the
 * chat that led to it, which is rendered anew each time.
 */
function searched(
  messages: readonly Message[],
  plain: string,
  { format, options }: { format: ChatFormat; options: RenderOptions },
): Stretch[] {
  const found: Stretch[] = [];
  let at = 0;
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    const prompt = format.render(messages.slice(0, index), { ...options, addGenerationPrompt: true });
    const content = format.neutralise(format.cutEnd(messageText(message)), "assistant").trim();
    const start = plain.indexOf(content, Math.max(at, sharedLength(prompt, plain)));
    if (start === -1) {
      throw new Error(
        `Cannot tell the assistant's tokens as template '${format.template.name}' must keep its contents: ` +
          `message ${index} is not in the text`,
      );
    }
    found.push({ text: plain.slice(at, start), assistant: false }, { text: content, assistant: true });
    at = start + content.length;
  }
  found.push({ text: plain.slice(at), assistant: false });
  return found.filter(({ text }) => text !== "");
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** Two characters that stand nowhere in a chat; Unicode keeps them for such use. */
function unusedMarks(chat: unknown): GenerationMarks {
  const used = JSON.stringify(chat);
  const free: string[] = [];
  for (let code = 0xe000; code < 0xf900 && free.length < 2; code++) {
    const mark = String.fromCharCode(code);
    if (!used.includes(mark)) free.push(mark);
  }
  const [start, end] = free;
  if (start !== undefined && end !== undefined) return { start, end };
  throw new RangeError("Cannot mark the assistant's part as the chat must leave two private characters free");
}
