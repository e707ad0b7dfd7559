import type { Message } from "../../message.ts";
import { splitDeepseekReply } from "./deepseek_calls.ts";
import { readGemmaResult, splitGemmaReply } from "./gemma_calls.ts";
import { splitKimiReply } from "./kimi_calls.ts";
import { DSML, findDsmlCalls, findParameterCalls, GLM_SYNTAX, splitFoundCalls } from "./parameter_calls.ts";
import type { ReplyParts } from "./reply_format.ts";

/** Syntax in which the template of a family of models writes a chat. */
interface ChatSyntax {
  /** Texts that show that a template writes this syntax. */
  readonly marks: readonly string[];
  /** Start of a turn; the first group names the speaker. */
  readonly start: RegExp;
  /** Token that ends a turn, if there is such a token. */
  readonly end?: string;
  /** True if the text before the first turn is the system message. */
  readonly opensWithSystem?: boolean;
  /** Splits a reply into text and calls. */
  readonly split: (text: string) => ReplyParts;
  /** Returns the messages of a turn. */
  readonly read: (turn: Turn, syntax: ChatSyntax) => Message[];
}

interface Turn {
  readonly speaker: string;
  readonly body: string;
  readonly isClosed: boolean;
}

const THOUGHT_END = "</think>";

/** The result of a call. A released template writes a backslash and n in place of the line end. */
const KIMI_RESULT = /^\s*## Return of ([^\n\\]*)(?:\n|\\n)(.*)$/s;

const DEEPSEEK_END = "<｜end▁of▁sentence｜>";

const SYNTAXES: readonly ChatSyntax[] = [
  {
    marks: ["<start_of_turn>"],
    start: /<start_of_turn>(\w+)\n/g,
    end: "<end_of_turn>",
    split: (content) => ({ content }),
    read: readTurn,
  },
  {
    marks: ["<|turn>", "<turn|>"],
    start: /<\|turn>(\w+)\n/g,
    end: "<turn|>",
    split: splitGemmaReply,
    read: readGemmaTurn,
  },
  {
    marks: ["<｜User｜>", "<｜Assistant｜>"],
    start: /<｜(User|Assistant|tool▁outputs?▁(?:begin|end))｜>/g,
    end: DEEPSEEK_END,
    opensWithSystem: true,
    split: (text) =>
      text.includes(DSML) ? splitFoundCalls(text, findDsmlCalls(text)) : splitDeepseekReply(text),
    read: readDeepseekTurn,
  },
  {
    marks: ["<|observation|>", "<arg_key>"],
    start: /<\|(system|user|assistant|observation)\|>\n?/g,
    split: (text) => splitFoundCalls(text, findParameterCalls(text, GLM_SYNTAX)),
    read: readGlmTurn,
  },
  {
    marks: ["<|im_middle|>"],
    start: /<\|im_\w+\|>([^<|]{0,256})<\|im_middle\|>/g,
    end: "<|im_end|>",
    split: splitKimiReply,
    read: readKimiTurn,
  },
];

/**
 * Returns the parser of chats that a template of Gemma, DeepSeek, GLM or Kimi K2 rendered; `undefined` for another
 * template. Thoughts become `reasoning_content`, calls `tool_calls`, and results messages of the role `tool`. The system
 * message of Gemma 2 and 3 stays in the first question, where the template puts it.
 */
export function modelChatParserOf(source: string): ((text: string) => Message[]) | undefined {
  const syntax = SYNTAXES.find(({ marks }) => marks.every((mark) => source.includes(mark)));
  return syntax && ((text) => parseChat(text, syntax));
}

/** @throws {SyntaxError} if the text contains no turn. */
function parseChat(text: string, syntax: ChatSyntax): Message[] {
  const { start, end, opensWithSystem = false } = syntax;
  const starts = [...text.matchAll(start)];
  const [first] = starts;
  if (first === undefined) {
    throw new SyntaxError(`Cannot parse chat as it must contain a turn that matches ${start}: found none`);
  }
  const before = text.slice(0, first.index).replace(/^\s*<[^<>\n]{1,40}>/, "").trim();
  const messages: Message[] = opensWithSystem && before !== "" ? [{ role: "system", content: before }] : [];
  for (const [at, { 0: header, 1: speaker = "", index }] of starts.entries()) {
    const next = starts[at + 1]?.index;
    const whole = text.slice(index + header.length, next);
    const stop = end === undefined ? -1 : whole.lastIndexOf(end);
    const body = stop < 0 ? whole : whole.slice(0, stop);
    // without a token for the end of a turn, nothing shows that the last turn was cut off
    messages.push(...syntax.read({ speaker, body, isClosed: stop >= 0 || end === undefined }, syntax));
  }
  return messages;
}

function readTurn({ speaker, body, isClosed }: Turn, syntax: ChatSyntax): Message[] {
  if (speaker === "model" || speaker === "assistant") return readReply(body, isClosed, syntax);
  return [{ role: speaker, content: body.trim() }];
}

/** Reads a reply. A turn without text is a generation prompt, unless the end is written. */
function readReply(body: string, isClosed: boolean, { end, split }: ChatSyntax): Message[] {
  const { thoughts, rest } = splitThoughts(body.trim());
  const { content, calls } = split(rest);
  const isEmpty = thoughts === "" && rest === "";
  if (isEmpty && (!isClosed || end === undefined)) return [];
  return [{
    role: "assistant",
    content: content.trim(),
    ...(thoughts !== "" && { reasoning_content: thoughts }),
    ...(calls !== undefined && calls.length > 0 && { tool_calls: calls }),
    ...(!isClosed && { is_complete: false }),
  }];
}

/** Splits the thoughts from a reply. The opening tag can be part of the prompt. */
function splitThoughts(text: string): { thoughts: string; rest: string } {
  const end = text.indexOf(THOUGHT_END);
  const open = text.startsWith("<think>") ? "<think>".length : 0;
  if (end < 0) {
    return open > 0 ? { thoughts: text.slice(open).trim(), rest: "" } : { thoughts: "", rest: text };
  }
  return { thoughts: text.slice(open, end).trim(), rest: text.slice(end + THOUGHT_END.length).trim() };
}

/** Reads a turn of Gemma 4, in which results stand between the parts of a reply. */
function readGemmaTurn({ speaker, body, isClosed }: Turn, syntax: ChatSyntax): Message[] {
  if (speaker !== "model") return readTurn({ speaker, body, isClosed }, syntax);
  const [opening, closing] = ["<|tool_response>", "<tool_response|>"];
  const messages: Message[] = [];
  let rest = body;
  for (let at = rest.indexOf(opening); at >= 0; at = rest.indexOf(opening)) {
    messages.push(...readGemmaReply(rest.slice(0, at), true, syntax));
    const end = rest.indexOf(closing, at);
    const result = rest.slice(at + opening.length, end < 0 ? rest.length : end);
    if (result.trim() !== "") messages.push({ role: "tool", ...readGemmaResult(result) });
    rest = end < 0 ? "" : rest.slice(end + closing.length);
  }
  // a reply after results has no header, so that only the token at the end of the previous turn shows where the reply
  // starts
  const parts = rest.split(syntax.end ?? "").filter((part) => part.trim() !== "");
  if (parts.length === 0 && messages.length === 0) parts.push("");
  return [
    ...messages,
    ...parts.flatMap((part, at) => readGemmaReply(part, isClosed || at < parts.length - 1, syntax)),
  ];
}

function readGemmaReply(body: string, isClosed: boolean, syntax: ChatSyntax): Message[] {
  const [opening, closing] = ["<|channel>thought\n", "<channel|>"];
  const start = body.indexOf(opening);
  const end = start < 0 ? -1 : body.indexOf(closing, start);
  if (end < 0) return body.trim() === "" && isClosed ? [] : readReply(body, isClosed, syntax);
  const thoughts = body.slice(start + opening.length, end).trim();
  const rest = body.slice(0, start) + body.slice(end + closing.length);
  if (thoughts === "") return readReply(rest, isClosed, syntax);
  return readReply(`<think>${thoughts}${THOUGHT_END}${rest}`, isClosed, syntax);
}

/** Reads a turn of DeepSeek, whose replies follow results without a token between them. */
function readDeepseekTurn({ speaker, body, isClosed }: Turn, syntax: ChatSyntax): Message[] {
  if (speaker === "User") return [{ role: "user", content: body }];
  if (speaker === "tool▁output▁begin") return [{ role: "tool", content: body }];
  // DeepSeek V3.2 writes results as text after the token that ends a reply
  const [open, close] = [`${DEEPSEEK_END}\n\n<function_results>`, "\n</function_results>"];
  const at = body.indexOf(open);
  const end = at < 0 ? -1 : body.indexOf(close, at);
  if (end >= 0) {
    const results = textsBetween(body.slice(at + open.length, end), "<result>", "</result>");
    return [
      ...readReply(body.slice(0, at), true, syntax),
      ...results.map((content) => ({ role: "tool", content })),
      ...readDeepseekTurn({ speaker, body: body.slice(end + close.length), isClosed }, syntax),
    ];
  }
  const isBetween = speaker !== "Assistant" && body.trim() === "";
  return isBetween ? [] : readReply(body, isClosed, syntax);
}

function readGlmTurn(turn: Turn, syntax: ChatSyntax): Message[] {
  if (turn.speaker === "user" && turn.body === "") return []; // a token that ends a reply
  if (turn.speaker !== "observation") return readTurn(turn, syntax);
  const results = textsBetween(turn.body, "<tool_response>", "</tool_response>");
  return results.map((text) => ({ role: "tool", content: text.replace(/^\n/, "").replace(/\n$/, "") }));
}

function readKimiTurn(turn: Turn, syntax: ChatSyntax): Message[] {
  const { speaker, body } = turn;
  if (speaker === "tool_declare") return [];
  const [, id, content = ""] = KIMI_RESULT.exec(body) ?? [];
  if (id === undefined || ["user", "assistant"].includes(speaker)) return readTurn(turn, syntax);
  const name = /^functions\.([^:]*)/.exec(id)?.[1];
  return [{ role: "tool", content, tool_call_id: id, ...(name !== undefined && { name }) }];
}

/** Returns the texts between two marks, in a single pass. */
function textsBetween(text: string, open: string, close: string): string[] {
  const texts: string[] = [];
  for (let at = text.indexOf(open); at >= 0;) {
    const end = text.indexOf(close, at);
    if (end < 0) break;
    texts.push(text.slice(at + open.length, end));
    at = text.indexOf(open, end);
  }
  return texts;
}
