import { ChatFormat } from "../../../src/chat/chat_format.ts";
import { withoutThought } from "../../../src/chat/turn_tail.ts";
import type { Tokenizer } from "../../../src/chat/tokenizer.ts";
import type { Message, ToolCall } from "../../../src/message.ts";
import { CALL_STYLES } from "../../../src/tools/parsers/call_styles.ts";
import type { ParsedCall } from "../../../src/tools/parsers/tool_call_parser.ts";

/** What a template makes of native calls, and which parser reads its text. */
export interface CallRoundTrip {
  /** Number of messages with calls that were tried. */
  readonly tried: number;
  /** Number of messages whose calls the template shows. The others are refused. */
  readonly shown: number;
  /** Number of shown messages whose calls the parser reads as they were. */
  readonly read: number;
  /** Name of the parser that reads most of them; `undefined` if none reads any. */
  readonly style: string | undefined;
}

const QUESTION: Message = { role: "user", content: "q" };
const ONE: ToolCall = { id: "call00001", name: "get_weather", arguments: { city: "Zürich", days: 1 } };
const TYPES: ToolCall = {
  id: "call00001",
  name: "everything",
  arguments: { s: 'a\n"b" \\ <x>', n: 2.5, b: true, z: null, list: [1, "x", false], o: { k: { deep: "v" } } },
};
const OTHER: ToolCall = { id: "call00002", name: "get_items", arguments: { items: ["a"], keys: "b" } };

/** Messages with one call, values of every type, two calls, and text beside a call. */
const REPLIES: readonly Message[] = [
  { role: "assistant", content: "", tool_calls: [ONE] },
  { role: "assistant", content: "", tool_calls: [TYPES] },
  { role: "assistant", content: "", tool_calls: [ONE, OTHER] },
  { role: "assistant", content: "I look.", tool_calls: [ONE] },
];

/** Renders messages with native calls, and reads the calls from the text with each of Paddock's parsers. */
export function tryCalls(tokenizer: Tokenizer): CallRoundTrip {
  const format = new ChatFormat({ tokenizer, family: "tokenizer" });
  const shown = REPLIES.flatMap((reply) => {
    const text = textOf(format, reply);
    return text === undefined ? [] : [{ text, calls: reply.tool_calls ?? [] }];
  });
  const read = Object.entries(CALL_STYLES).map(([style, { parser }]) => ({
    style,
    read:
      shown.filter(({ text, calls }) => hasSameCalls(calls, parser().parse(assistant(text)).calls)).length,
  }));
  const best = read.reduce((best, other) => other.read > best.read ? other : best);
  const style = best.read === 0 ? undefined : best.style;
  return { tried: REPLIES.length, shown: shown.length, read: best.read, style };
}

/**
 * Returns the text that a model would write for a reply: what follows the generation prompt, without the token that ends
 * the turn. `undefined` if the reply is refused.
 */
function textOf(format: ChatFormat, reply: Message): string | undefined {
  try {
    const text = format.render([QUESTION, reply]);
    const prompt = format.render([QUESTION], { addGenerationPrompt: true });
    const start = [prompt, withoutThought(prompt), format.render([QUESTION])].find((start) =>
      text.startsWith(start)
    );
    const written = text.slice(start?.length).trim();
    const end = [format.callEnd, ...format.endTokens].find((end) =>
      end !== undefined && written.endsWith(end)
    );
    return end === undefined ? written : written.slice(0, -end.length);
  } catch {
    return undefined; // the template, or Paddock, refuses the message
  }
}

function assistant(content: string): Message {
  return { role: "assistant", content };
}

function hasSameCalls(calls: readonly ToolCall[], read: readonly ParsedCall[]): boolean {
  return calls.length === read.length &&
    calls.every(({ name, arguments: args }, at) => {
      const found = read[at];
      return found !== undefined && found.fault === undefined && found.name === name &&
        hasSameArguments(args as Readonly<Record<string, unknown>>, found);
    });
}

function hasSameArguments(
  args: Readonly<Record<string, unknown>>,
  { arguments: read, hasTextArguments }: ParsedCall,
): boolean {
  const keys = Object.keys(args);
  if (keys.length !== Object.keys(read).length) return false;
  return keys.every((key) =>
    hasTextArguments
      ? isTextOf(args[key], read[key])
      : JSON.stringify(args[key]) === JSON.stringify(read[key])
  );
}

/** True if a text is a value's, where the syntax has no types and the tool's schema gives them. */
function isTextOf(value: unknown, text: unknown): boolean {
  if (typeof value === "object" && value !== null && typeof text === "object") {
    const parts = Object.entries(value);
    return parts.every(([key, part]) => isTextOf(part, (text as Record<string, unknown>)[key]));
  }
  if (typeof text !== "string") return JSON.stringify(value) === JSON.stringify(text);
  if (typeof value === "string") return value === text;
  const python = JSON.stringify(value).replaceAll("true", "True").replaceAll("false", "False").replaceAll(
    "null",
    "None",
  );
  const plain = (text: string) => text.replaceAll(/\s/g, "").replaceAll("'", '"');
  return [JSON.stringify(value), python].some((written) => plain(written) === plain(text));
}
