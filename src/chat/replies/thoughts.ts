/**
 * The tags in which models write their thoughts. Graders, code blocks and tool calls read thoughts by this table.
 *
 * @module
 */

import { splitHarmonyReply } from "./harmony.ts";

interface ThoughtTag {
  /** Opening tag, as the source of a pattern without groups. */
  readonly open: string;
  readonly close: string;
  /** True if the prompt can open the thought, so that a closing tag without an opening tag ends the thought. */
  readonly opensInPrompt: boolean;
}

/** Tags of thoughts, in any case. The tags without angle brackets alone are special tokens of the models named. */
const THOUGHT_TAGS: readonly ThoughtTag[] = [
  ...["think", "thinking", "thought", "thoughts", "seed:think"].map((name) => ({
    open: `<${name}>`,
    close: `</${name}>`,
    opensInPrompt: true,
  })),
  { open: "\\[think\\]", close: "\\[/think\\]", opensInPrompt: true }, // Magistral
  { open: "◁think▷", close: "◁/think▷", opensInPrompt: true }, // Kimi-VL
  { open: "<\\|start_thinking\\|>", close: "<\\|end_thinking\\|>", opensInPrompt: true }, // Command A
  { open: "<\\|channel>thought\\b", close: "<channel\\|>", opensInPrompt: true }, // Gemma 4
  // gpt-oss; Phi ends each turn with the same token
  { open: "<\\|channel\\|>analysis[^<]*<\\|message\\|>", close: "<\\|end\\|>", opensInPrompt: false },
];

const PROMPTED = THOUGHT_TAGS.filter(({ opensInPrompt }) => opensInPrompt);

/** Opening tag of a thought. Each tag of the table is a group. */
const OPENING = new RegExp(THOUGHT_TAGS.map(({ open }) => `(${open})`).join("|"), "i");
/** Closing tag of a thought that can begin with the reply. */
export const THOUGHT_END: RegExp = new RegExp(PROMPTED.map(({ close }) => close).join("|"), "i");
const CLOSINGS = THOUGHT_TAGS.map(({ close }) => new RegExp(close, "i"));
/** Start of a reply in channels, as by gpt-oss. */
const HARMONY = /^\s*(?:<\|start\|>assistant[^<]*)?<\|channel\|>/;

/** An opening tag. */
export interface ThoughtStart {
  readonly start: number;
  /** Index behind the tag. */
  readonly end: number;
  /** Closing tag of this thought. */
  readonly closing: RegExp;
}

/** Finds the first opening tag of a thought. */
export function findThought(text: string): ThoughtStart | undefined {
  return toThoughtStart(OPENING.exec(text));
}

function toThoughtStart(found: RegExpExecArray | null): ThoughtStart | undefined {
  if (found === null) return undefined;
  const [tag, ...groups] = found;
  const closing = CLOSINGS[groups.findIndex((group) => group !== undefined)] ?? THOUGHT_END;
  return { start: found.index, end: found.index + tag.length, closing };
}

/** A part of a reply: a thought, or text outside of thoughts. */
export interface ReplyPart {
  readonly text: string;
  /** Present for a thought. */
  readonly thought?: {
    /** Text between the tags. */
    readonly content: string;
    /** Opening tag; empty if the thought began with the reply. */
    readonly tag: string;
    readonly isClosed: boolean;
  };
}

/** Parts of a text in which the tags of thoughts are content: the calls of a syntax. */
export interface CallRegions {
  /** Start of a call. Must match no empty text. */
  readonly open: RegExp;
  /** End of a call. Without an end, a call reaches to the end of the reply. */
  readonly close?: string | undefined;
  /** Start of a call without tags, which fills the rest of the reply outside of thoughts. */
  readonly bare?: RegExp | undefined;
  /** True if the start of a call ends a thought without a closing tag. */
  readonly endsThought?: boolean | undefined;
}

/**
 * Splits a reply at the thoughts. A closing tag without an opening tag ends a thought that began with the reply, as for
 * prompts that end in `<think>`. A thought without a closing tag reaches to the end. Time is linear in the length.
 */
export function splitThoughts(reply: string, calls?: CallRegions): ReplyPart[] {
  return new ThoughtSplitter(reply, calls).split();
}

class ThoughtSplitter {
  readonly #text: string;
  readonly #calls: CallRegions | undefined;
  readonly #opening: Finder;
  readonly #call: Finder | undefined;
  readonly #closings = new Map<RegExp, Finder>();
  readonly #parts: ReplyPart[] = [];
  /** End of the last thought. */
  #from = 0;
  #at = 0;

  constructor(text: string, calls: CallRegions | undefined) {
    this.#text = text;
    this.#calls = calls;
    this.#opening = new Finder(text, OPENING);
    this.#call = calls && new Finder(text, calls.open);
  }

  split(): ReplyPart[] {
    this.#readPromptedThought();
    while (!this.#startsBareCall()) {
      const thought = toThoughtStart(this.#opening.from(this.#at));
      if (thought === undefined) break;
      if (!this.#skipCallBefore(thought.start)) this.#readThought(thought);
    }
    this.#addText(this.#text.length);
    return this.#parts;
  }

  /** Reads a thought that began with the reply: the closing tag comes before opening tags. */
  #readPromptedThought(): void {
    const closings = new Finder(this.#text, THOUGHT_END);
    for (;;) {
      const end = closings.from(this.#at);
      const opening = this.#opening.from(this.#at);
      if (end === null || (opening?.index ?? Infinity) < end.index || this.#startsBareCall()) break;
      if (this.#skipCallBefore(end.index)) continue;
      return this.#addThought({ start: 0, end: 0 }, { start: end.index, end: end.index + end[0].length });
    }
  }

  #readThought({ start, end, closing }: ThoughtStart): void {
    const closings = this.#closings.get(closing) ?? new Finder(this.#text, closing);
    this.#closings.set(closing, closings);
    const close = closings.from(end);
    this.#addText(start);
    if (close !== null) {
      this.#addThought({ start, end }, { start: close.index, end: close.index + close[0].length });
      return;
    }
    const call = this.#calls?.endsThought ? this.#call?.from(end)?.index : undefined;
    this.#addThought({ start, end }, { start: call ?? this.#text.length });
  }

  #addThought(
    opening: { start: number; end: number },
    closing: { start: number; end?: number },
  ): void {
    const { end = closing.start } = closing;
    const content = this.#text.slice(opening.end, closing.start);
    const tag = this.#text.slice(opening.start, opening.end);
    const text = this.#text.slice(opening.start, end);
    this.#parts.push({ text, thought: { content, tag, isClosed: closing.end !== undefined } });
    this.#at = this.#from = end;
  }

  #addText(end: number): void {
    if (end > this.#from) this.#parts.push({ text: this.#text.slice(this.#from, end) });
    this.#from = end;
  }

  /** Skips a call that begins before an index, and returns false if none does. */
  #skipCallBefore(index: number): boolean {
    const call = this.#call?.from(this.#at) ?? null;
    if (call === null || call.index >= index) return false;
    const { close } = this.#calls ?? {};
    const end = close === undefined ? -1 : this.#text.indexOf(close, call.index + call[0].length);
    this.#at = end < 0 ? this.#text.length : end + (close ?? "").length;
    return true;
  }

  #startsBareCall(): boolean {
    const { bare } = this.#calls ?? {};
    if (bare === undefined || this.#at !== this.#from) return false;
    const isFirst = this.#parts.every(({ thought }) => thought !== undefined);
    const start = this.#text.slice(this.#at, this.#at + MAX_BARE_START).trimStart();
    return isFirst && bare.test(start);
  }
}

/** Characters in which the start of a call without tags is searched. */
const MAX_BARE_START = 256;

/** Finds the next match of a pattern in a text, and searches each part of the text once. */
class Finder {
  readonly #text: string;
  readonly #pattern: RegExp;
  #found: RegExpExecArray | null | undefined;

  constructor(text: string, pattern: RegExp) {
    this.#text = text;
    this.#pattern = new RegExp(pattern, `${pattern.flags.replaceAll("g", "")}g`);
  }

  from(index: number): RegExpExecArray | null {
    if (this.#found === undefined || (this.#found !== null && this.#found.index < index)) {
      this.#pattern.lastIndex = index;
      this.#found = this.#pattern.exec(this.#text);
    }
    return this.#found;
  }
}

/** Splits a reply like {@linkcode splitThoughts}; of a reply in channels, the answer alone is no thought. */
export function splitReply(reply: string): ReplyPart[] {
  if (!HARMONY.test(reply)) return splitThoughts(reply);
  const { content, thinking } = splitHarmonyReply(reply);
  return [
    ...(thinking === undefined
      ? []
      : [{ text: thinking, thought: { content: thinking, tag: "<|channel|>", isClosed: true } }]),
    { text: content },
  ];
}
