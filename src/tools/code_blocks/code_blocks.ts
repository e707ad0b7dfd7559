import { findThought, THOUGHT_END } from "../../chat/replies/thoughts.ts";
import { BlockEnds, type End } from "./block_ends.ts";
import { type BlockLanguage, tagOf } from "./block_tags.ts";
import {
  dropIndent,
  type Fence,
  fenceAtEnd,
  fenceAtStart,
  indentOf,
  oneLineBlock,
  unquote,
} from "./fences.ts";

/**
 * Where a block stands: in the content of another block (`block`), in a quote of Markdown (`quote`), or in a tag for
 * the results of tools (`output`).
 */
export type BlockPlace = "block" | "quote" | "output";

/** A code block of a reply. */
export interface CodeBlock {
  /** Content without fences, and without the indentation and markers of the fence's list item or quote. */
  readonly code: string;
  /** First word behind the fence as written, at most 32 characters; empty if there is none. */
  readonly tag: string;
  readonly language: BlockLanguage;
  /** False if the text ends inside the block. */
  readonly isClosed: boolean;
  /** Absent for a block of the reply itself. */
  readonly place?: BlockPlace;
  /** True for a block inside of a thought, such as `<think>`. */
  readonly inThought?: true;
}

/** Levels of text inside of blocks, thoughts and outputs that are searched. Each is read once more. */
const MAX_DEPTH = 3;

/** Blocks and tags that are read on a line. Further blocks are text, as each is searched in the rest of the line. */
const MAX_READS_OF_LINE = 16;

/** Mark of every line that can open a block or a thought. */
const OPENING = /```|~~~|<|◁|\[\/?(?:think|tool_results)\]/i;
const CODE = /^[ \t]*<(python|tool_code|code)>/i;
/** A line that announces output: `Output:`, `**Expected output**`, `The result is:`. */
const ANNOUNCES_OUTPUT =
  /^[\s*_#>+-]*(?:(?:the|this|its|expected|actual|sample|example|program|console|code) )*(?:outputs?|stdout|prints|results?)(?: (?:is|are|will be|would be|should be))?[\s:*_]*$/i;
/** Maximum length of a line that announces output. */
const MAX_ANNOUNCEMENT = 120;
/** First line of a transcript of Python's or IPython's prompt. */
const PROMPT = /^\s*(?:>>>(?:\s|$)|(?:In|Out) ?\[\d+\]:)/;

/**
 * Returns the code blocks of a reply, in the order of their starts: fenced blocks of Markdown, as CommonMark reads them
 * and as models write them, and the tags `<python>`, `<tool_code>` and `<code>`. A block inside of another block is
 * returned after the outer block.
 *
 * Where models differ from CommonMark: a Python block ends at a fence outside of strings and comments, also behind
 * code; a fence that is glued to a closing fence, or that ends a line of text, opens a block if the tag is known; a
 * line ```` ```python print(1)``` ```` is a block; and the lines of a block in a list item need no indentation. Time
 * and memory are linear in the length of the text.
 */
export function codeBlocks(text: string): CodeBlock[] {
  return new BlockScanner(text.split(/\r?\n/), {}).scan();
}

/** Place of the text that a scanner reads. */
interface Surroundings extends Pick<CodeBlock, "place" | "inThought"> {
  readonly depth?: number;
}

class BlockScanner {
  /** Unread lines are changed: a line keeps the text after the part that was read. */
  readonly #lines: string[];
  readonly #around: Surroundings;
  readonly #depth: number;
  readonly #ends: BlockEnds;
  #blocks: CodeBlock[] = [];
  /** Closing tags that do not occur after the current line. */
  readonly #missing = new Set<string>();
  #at = 0;
  #hasThought = false;

  constructor(lines: string[], around: Surroundings) {
    this.#lines = lines;
    this.#ends = new BlockEnds(lines);
    this.#around = around;
    this.#depth = around.depth ?? 0;
  }

  scan(): CodeBlock[] {
    for (let reads = 0; this.#at < this.#lines.length;) {
      const before = this.#at;
      const line = this.#lines[before] ?? "";
      if (!OPENING.test(line) || reads > MAX_READS_OF_LINE || !this.#readLine(line)) this.#at++;
      reads = this.#at === before ? reads + 1 : 0;
    }
    return this.#blocks;
  }

  /** Reads what begins on a line, and returns false if nothing does. */
  #readLine(line: string): boolean {
    const fence = fenceAtStart(line);
    if (fence !== undefined) return this.#readFence(fence);
    if (this.#readThought(line) || this.#readOutput(line) || this.#readCodeTag(line)) return true;
    const oneLine = oneLineBlock(line);
    if (oneLine !== undefined && tagOf(oneLine.info).language === "python") {
      this.#add(oneLine.code, { ...oneLine, isClosed: true });
      return false;
    }
    const atEnd = fenceAtEnd(line);
    return atEnd !== undefined && this.#readFence(atEnd);
  }

  #readFence(fence: Fence): true {
    const { language } = tagOf(fence.info);
    const first = this.#at + 1;
    const isCode = language === "python" || language === "transcript";
    const end = isCode
      ? this.#ends.ofPython(first, fence)
      : this.#ends.ofText(first, fence, { showsThought: this.#hasThought });
    const content = this.#contentOf(first, end, fence);
    const nested = isCode ? [] : this.#scanInside(content, "block");
    const known = language === "unlabeled" && this.#announcesOutput(this.#at)
      ? { place: "output" } as const
      : {};
    const notPython = nested.length > 0 ? { language: "other" } as const : {};
    this.#add(content.join("\n"), { ...fence, isClosed: end.isClosed, ...known, ...notPython });
    for (const block of nested) this.#blocks.push(block);
    this.#continueAt(end, fence.quotes);
    return true;
  }

  #continueAt({ line, tail }: End, quotes = 0): void {
    this.#at = line;
    if (tail === undefined) return;
    if (tail === "" || !OPENING.test(tail)) this.#at++;
    else this.#lines[line] = "> ".repeat(quotes) + tail;
  }

  #contentOf(first: number, end: End, fence: Fence): string[] {
    const lines = this.#lines.slice(first, end.line).map((line) => unquote(line, fence.quotes) ?? "");
    if (end.code !== undefined && end.code.trim() !== "") lines.push(end.code);
    const start = lines.find((line) => line.trim() !== "") ?? "";
    const isIndented = indentOf(start) >= fence.itemColumns;
    const columns = isIndented ? fence.columns : Math.min(fence.columns, indentOf(start));
    return columns === 0 ? lines : lines.map((line) => dropIndent(line, columns));
  }

  /** Reads a thought, such as `<think>…</think>`, and a closing tag that ends a thought that began with the reply. */
  #readThought(line: string): boolean {
    if (this.#around.inThought || this.#depth >= MAX_DEPTH) return false;
    const thought = findThought(line);
    const end = THOUGHT_END.exec(line);
    if (!this.#hasThought && end !== null && end.index < (thought?.start ?? Infinity)) {
      this.#hasThought = true;
      this.#blocks = this.#blocks.map((block) => ({ ...block, inThought: true }));
      this.#continueAt({ line: this.#at, tail: line.slice(end.index + end[0].length), isClosed: true });
      return true;
    }
    if (thought === undefined) return false;
    this.#lines[this.#at] = line.slice(thought.end);
    const found = this.#find(thought.closing);
    if (found === undefined && line.slice(0, thought.start).trim() !== "") {
      this.#lines[this.#at] = line;
      return false;
    }
    this.#hasThought = true;
    this.#readRegion(found, { ...this.#around, inThought: true });
    return true;
  }

  /**
   * Reads results of tools. Without a closing tag, which may have stopped the reply, they reach to the end of the text,
   * or to the end of a thought that began with the reply.
   */
  #readOutput(line: string): boolean {
    const output = this.#depth >= MAX_DEPTH ? undefined : findOutput(line);
    if (output === undefined) return false;
    this.#lines[this.#at] = line.slice(output.end);
    this.#readRegion(this.#find(output.closing) ?? this.#findThoughtEnd(), {
      place: "output",
      ...this.#around,
    });
    return true;
  }

  /** Finds the closing tag of a thought that began with the reply. The tag stays in the text. */
  #findThoughtEnd(): Required<End> | undefined {
    if (this.#hasThought || this.#around.inThought) return undefined;
    const end = this.#find(THOUGHT_END);
    return end && { ...end, tail: (this.#lines[end.line] ?? "").slice(end.code.length) };
  }

  /** Reads the lines up to a closing tag as text with separate blocks. */
  #readRegion(end: Required<End> | undefined, around: Surroundings): void {
    const inside = new BlockScanner(this.#linesUntil(end), { ...around, depth: this.#depth + 1 });
    for (const block of inside.scan()) this.#blocks.push(block);
    this.#continueAt(end ?? { line: this.#lines.length, isClosed: false });
  }

  #readCodeTag(line: string): boolean {
    const [head, name = ""] = CODE.exec(line) ?? [];
    if (head === undefined) return false;
    const rest = line.slice(head.length);
    const next = rest.trim() === "" ? this.#lines[this.#at + 1] ?? "" : rest;
    if (/^[ \t]*(?:```|~~~)/.test(next)) { // the tag encloses a fenced block
      this.#lines[this.#at] = rest;
      return true;
    }
    this.#lines[this.#at] = rest;
    const end = this.#find(closingTag(name));
    const isInline = end?.line === this.#at && end.tail.trim() !== "" &&
      !end.tail.trimStart().startsWith("<");
    if (isInline || (end === undefined && rest.trim() !== "")) {
      this.#lines[this.#at] = line;
      return false;
    }
    const code = this.#linesUntil(end).join("\n").replace(/^[ \t]*\n/, "").trimEnd();
    const info = name.toLowerCase() === "code" ? "" : name;
    this.#add(code, { info, tag: name, quotes: 0, isClosed: end !== undefined });
    this.#continueAt(end ?? { line: this.#lines.length, isClosed: false });
    return true;
  }

  /** Returns the lines from the current line up to a closing tag, without the tag. */
  #linesUntil(end: Required<End> | undefined): string[] {
    const lines = this.#lines.slice(this.#at, end?.line);
    return end === undefined ? lines : [...lines, end.code];
  }

  /** Finds a closing tag from the current line on. */
  #find(tag: RegExp): Required<End> | undefined {
    if (this.#missing.has(tag.source)) return undefined;
    for (let line = this.#at; line < this.#lines.length; line++) {
      const text = this.#lines[line] ?? "";
      const found = tag.exec(text);
      if (found === null) continue;
      const { 0: { length }, index } = found;
      return { line, code: text.slice(0, index), tail: text.slice(index + length), isClosed: true };
    }
    this.#missing.add(tag.source);
    return undefined;
  }

  /** Returns the blocks in the content of a block. */
  #scanInside(lines: string[], place: BlockPlace): CodeBlock[] {
    if (this.#depth >= MAX_DEPTH || !lines.some((line) => fenceAtStart(line) !== undefined)) return [];
    return new BlockScanner([...lines], { ...this.#around, place, depth: MAX_DEPTH }).scan();
  }

  /** Returns true if either of the two lines before a line announces output. */
  #announcesOutput(at: number): boolean {
    const before = this.#lines.slice(Math.max(0, at - 2), at).findLast((line) => line.trim() !== "");
    return before !== undefined && before.length <= MAX_ANNOUNCEMENT && ANNOUNCES_OUTPUT.test(before);
  }

  #add(code: string, block: NewBlock): void {
    const { info, quotes, isClosed, tag = tagOf(info).tag, language = languageOf(info, code) } = block;
    if (language !== "python" && code.trim() === "") return;
    const place = this.#around.place ?? block.place ?? (quotes > 0 ? "quote" : undefined);
    const { inThought } = this.#around;
    this.#blocks.push({
      code,
      tag,
      language,
      isClosed,
      ...(place && { place }),
      ...(inThought && { inThought }),
    });
  }
}

/** Facts about a block that is added. */
interface NewBlock
  extends Pick<CodeBlock, "isClosed" | "place">, Partial<Pick<CodeBlock, "tag" | "language">> {
  readonly info: string;
  readonly quotes: number;
}

function languageOf(info: string, code: string): BlockLanguage {
  const { language } = tagOf(info);
  return language !== "other" && PROMPT.test(code) ? "transcript" : language;
}

/**
 * Names of the tags for the results of tools, which are no text to the user. Models repeat them, with results that they
 * made up.
 */
const OUTPUT_NAMES =
  "tool_results?|tool_responses?|tool_outputs?|function_results?|function_responses?|outputs?|" +
  "interpreter|execution_results?|execution_outputs?|results?|stdout|stderr|observations?|information";
/** Opening tag of results at the start of a line, perhaps behind closing tags. */
const OUTPUT = new RegExp(
  `^(?:[ \\t]*</\\w+>)*[ \\t]*(?:<(${OUTPUT_NAMES})(?:[ \\t][^<>]*)?>|\\[tool_results\\])`,
  "i",
);

/**
 * Finds the opening tag of results at the start of a line. `end` is the index behind the tag, `closing` the pattern of
 * the closing tag.
 */
function findOutput(line: string): { readonly end: number; readonly closing: RegExp } | undefined {
  const [head, name] = OUTPUT.exec(line) ?? [];
  return head === undefined ? undefined : { end: head.length, closing: closingTag(name, "tool_results") };
}

/** Returns the pattern of the closing tag of a name, or of a name in brackets. */
function closingTag(name: string | undefined, bracketed = ""): RegExp {
  return name === undefined ? new RegExp(`\\[/${bracketed}\\]`, "i") : new RegExp(`</${name}>`, "i");
}
