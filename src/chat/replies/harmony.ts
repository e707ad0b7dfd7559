import { isJsonObject, parseUntrustedJson } from "../../json.ts";
import { exactText } from "../../numbers/exact_numbers.ts";
import type { ToolCall } from "../../message.ts";

/**
 * A message of a text in harmony, the format of gpt-oss. A reply consists of several: thoughts in the channel
 * `analysis`, calls and text before calls in `commentary`, the answer in `final`.
 */
export interface HarmonyMessage {
  /** Author: `assistant`, or the name of a tool, such as `functions.search`. */
  readonly author: string;
  /** Addressee, such as `functions.search` for a call. */
  readonly recipient?: string | undefined;
  readonly channel?: string | undefined;
  /** Type of the content, such as `json`. */
  readonly contentType?: string | undefined;
  readonly content: string;
  /** Token that ended the message; left out if the text ends before that token. */
  readonly end?: HarmonyEnd | undefined;
}

/** Token that ends a message: more follow, a call, or the end of the reply. */
export type HarmonyEnd = "<|end|>" | "<|call|>" | "<|return|>";

const START = "<|start|>";
const MESSAGE = "<|message|>";
const END = /<\|(?:end|call|return)\|>/;
const RECIPIENT = /(?:^|\s)to=(\S+)/;
/** Maximum number of messages that are read from a text. Text after them is ignored. */
const MAX_MESSAGES = 10_000;

/** True if a chat template writes harmony. */
export function isHarmonyTemplate(source: string): boolean {
  return ["<|start|>", "<|channel|>", "<|message|>", "<|call|>"].every((token) => source.includes(token));
}

/**
 * Parses a text in harmony, as sampled after `<|start|>assistant` or as a complete chat. A text that does not begin with
 * a header of harmony is a message of the assistant without a channel, up to the first token of harmony.
 *
 * The recipient may stand before or after the channel, and the content's type after `<|constrain|>` or alone: gpt-oss
 * writes all of these. Source: OpenAI's "harmony response format" and openai-harmony 0.0.8.
 */
export function parseHarmony(text: string): HarmonyMessage[] {
  const messages: HarmonyMessage[] = [];
  for (const [index, segment] of text.split(START, MAX_MESSAGES).entries()) {
    let rest = segment;
    while (rest !== "" && messages.length < MAX_MESSAGES) {
      const at = rest.indexOf(MESSAGE);
      const body = at === -1 ? rest : rest.slice(at + MESSAGE.length);
      const end = END.exec(body);
      const content = body.slice(0, end?.index);
      if (at === -1 && isHeader(content, index > 0)) break;
      const header = at === -1 ? "" : rest.slice(0, at);
      messages.push({ ...readHeader(header), content, ...(end && { end: end[0] as HarmonyEnd }) });
      rest = end === null ? "" : body.slice(end.index + end[0].length);
    }
  }
  return messages;
}

/** True for the start of a message that was cut off before the content, or a generation prompt. */
function isHeader(text: string, isStarted: boolean): boolean {
  if (text.trim() === "") return true;
  return text.includes("<|channel|>") || (isStarted && /^\S+(?:\s+to=\S*)?\s*$/.test(text));
}

/** Reads the text between `<|start|>` and `<|message|>`. */
function readHeader(header: string): Omit<HarmonyMessage, "content" | "end"> {
  const [author = "", ...afterChannel] = header.split("<|channel|>");
  const [named = "", constrained = ""] = afterChannel.join(" ").split("<|constrain|>", 2);
  const recipient = RECIPIENT.exec(`${author} ${named}`)?.[1];
  const [channel, plainType] = wordsOf(named);
  const contentType = wordsOf(constrained)[0] ?? plainType;
  return {
    author: wordsOf(author)[0] ?? "assistant",
    ...(recipient !== undefined && { recipient }),
    ...(channel !== undefined && { channel }),
    ...(contentType !== undefined && { contentType }),
  };
}

/** Returns the words of a header without the recipient. */
function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "" && !word.startsWith("to="));
}

/** Parts of a reply in harmony. */
export interface HarmonyReply {
  /** Text of the channel `final`, or of a reply without channels. */
  readonly content: string;
  /** Thoughts, and text for the user before a call; left out if there are none. */
  readonly thinking?: string;
  readonly calls?: readonly ToolCall[];
}

const FUNCTIONS = "functions.";

/**
 * Splits a reply in harmony into the fields that gpt-oss's chat template takes. Several messages of a channel are joined
 * by line breaks. The template has no place for text before a call, so that this text is joined to the thoughts.
 */
export function splitHarmonyReply(text: string): HarmonyReply {
  const final: string[] = [];
  const thoughts: string[] = [];
  const calls: ToolCall[] = [];
  for (const message of parseHarmony(text)) {
    const { author, channel, content, recipient } = message;
    if (author !== "assistant") continue;
    if (recipient !== undefined && recipient !== "assistant") calls.push(toHarmonyCall(message));
    else if (channel === undefined || channel === "final") final.push(content);
    else thoughts.push(content);
  }
  return {
    content: final.join("\n"),
    ...(thoughts.length > 0 && { thinking: thoughts.join("\n") }),
    ...(calls.length > 0 && { calls }),
  };
}

/** Returns the call that a message to a tool makes. Arguments that are not JSON stay text. */
export function toHarmonyCall({ recipient = "", content }: HarmonyMessage): ToolCall {
  const name = recipient.startsWith(FUNCTIONS) ? recipient.slice(FUNCTIONS.length) : recipient;
  const args = objectOf(content);
  if (args === undefined) return { name, arguments: content };
  const exact = exactText(content);
  return { name, arguments: args, ...(exact !== undefined && { arguments_text: exact }) };
}

function objectOf(json: string): Record<string, unknown> | undefined {
  try {
    const value = parseUntrustedJson(json);
    return isJsonObject(value) ? { ...value } : undefined;
  } catch {
    return undefined; // a model may write invalid JSON, or code for a tool such as python
  }
}
