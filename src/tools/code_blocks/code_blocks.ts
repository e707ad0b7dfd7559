import { type BlockLanguage, isKnownTagAlone, tagOf } from "./block_tags.ts";
import {
  countRuns,
  dropIndent,
  type Fence,
  fenceAtEnd,
  fenceAtStart,
  indentOf,
  oneLineBlock,
  runLength,
  unquote,
} from "./fences.ts";
import { findFenceInCode, NO_OPEN_STRING } from "./python_strings.ts";

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
  /** True for a block inside `<think>`. */
  readonly inThought?: true;
}

/** Levels of text inside of blocks, thoughts and outputs that are searched. Each is read once more. */
const MAX_DEPTH = 3;

/** Blocks and tags that are read on one line. More are text, as each is searched for in the rest of the line. */
const MAX_READS_OF_LINE = 16;

/** What every line has that can open a block or a thought. */
const OPENING = /```|~~~|</;
const THOUGHT = "<think>";
const THOUGHT_END = "</think>";
/** Tags for the results of tools. Models repeat them, with results that they made up. */
const OUTPUT =
  /^[ \t]*<(tool_results?|tool_responses?|tool_outputs?|outputs?|interpreter|execution_results?|results?|stdout)>/i;
const CODE = /^[ \t]*<(python|tool_code|code)>/i;
/** A closing tag at the start of a line, which is no Python. */
const CLOSING_TAG = /^[ \t]*<\/(?:think|code|python|tool_code|answer|tool_call)>/i;
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
 * Where models differ from CommonMark: a Python block ends at a fence outside of its strings and comments, also behind
 * code; a fence that is glued to a closing fence, or that ends a line of text, opens a block if its tag is known; a
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

/** The end of a block. */
interface End {
  /** First line after the content. */
  readonly line: number;
  /** Content on that line before the fence. */
  readonly code?: string;
  /** Text of that line after the fence; without it, the line is not part of the block. */
  readonly tail?: string;
  readonly isClosed: boolean;
}

class BlockScanner {
  /** The lines not read yet are changed: a line keeps the text after what was read of it. */
  readonly #lines: string[];
  readonly #around: Surroundings;
  readonly #depth: number;
  #blocks: CodeBlock[] = [];
  /** Closing tags that do not occur after the current line. */
  readonly #missing = new Set<string>();
  #at = 0;
  #skipsStrings = true;
  #hasThought = false;

  constructor(lines: string[], around: Surroundings) {
    this.#lines = lines;
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
    const end = isCode ? this.#endOfPython(first, fence) : this.#endOfText(first, fence);
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

  /** Finds the end of a block of Python, whose strings and comments may have fences. */
  #endOfPython(first: number, fence: Fence): End {
    if (this.#skipsStrings) {
      const end = this.#endOutsideStrings(first, fence);
      if (end !== undefined) return end;
      // A string that does not end would hide all later fences, so strings are ignored from here on.
      this.#skipsStrings = false;
    }
    for (let line = first; line < this.#lines.length; line++) {
      const text = unquote(this.#lines[line] ?? "", fence.quotes);
      if (text === undefined) return { line, isClosed: true };
      const column = text.length - text.trimStart().length;
      if (runLength(text, column) >= fence.length && text[column] === fence.character) {
        return afterFence(line, { text, column, fence });
      }
      if (CLOSING_TAG.test(text)) return { line, tail: text, isClosed: true };
    }
    return { line: this.#lines.length, isClosed: false };
  }

  #endOutsideStrings(first: number, fence: Fence): End | undefined {
    // Tildes are Python operators, so they close a block only on their own line.
    const mark = fence.character === "`" ? "`".repeat(fence.length) : "\n";
    let open: string = NO_OPEN_STRING;
    for (let line = first; line < this.#lines.length; line++) {
      const text = unquote(this.#lines[line] ?? "", fence.quotes);
      if (text === undefined) return { line, isClosed: true };
      if (open === NO_OPEN_STRING) {
        if (closesAlone(text, fence)) return { line, tail: "", isClosed: true };
        if (CLOSING_TAG.test(text)) return { line, tail: text, isClosed: true };
      }
      const scanned = findFenceInCode(text, open, mark);
      if (scanned.column >= 0) return afterFence(line, { text, column: scanned.column, fence });
      open = scanned.open;
    }
    return undefined;
  }

  /** Finds the end of a block of another language, whose content is literal. */
  #endOfText(first: number, fence: Fence): End {
    const { tag } = tagOf(fence.info);
    const isMarkup = /^(?:markdown|md|mdx|rst|text|txt)$/i.test(tag);
    let itemColumns: number | undefined;
    let showsThought = this.#hasThought;
    for (let line = first; line < this.#lines.length; line++) {
      const text = unquote(this.#lines[line] ?? "", fence.quotes);
      if (text === undefined) return { line, isClosed: true };
      const indent = indentOf(text);
      if (text.trim() === "") continue;
      itemColumns ??= indent >= fence.itemColumns ? fence.itemColumns : 0;
      if (indent < itemColumns) return { line, isClosed: true };
      if (indent <= fence.columns + 3 && closesAlone(text, fence)) return { line, tail: "", isClosed: true };
      const glued = gluedFence(text, fence);
      if (glued !== undefined) return { line, tail: glued, isClosed: true };
      if (!isMarkup && closesBehindText(text, fence)) {
        return { line, code: text.trimEnd().slice(0, -fence.length), tail: "", isClosed: true };
      }
      showsThought ||= text.includes(THOUGHT);
      if (!showsThought && text.trimStart().startsWith(THOUGHT_END)) {
        return { line, tail: text, isClosed: true };
      }
    }
    return { line: this.#lines.length, isClosed: false };
  }

  /** Reads `<think>…</think>`, and a `</think>` that ends a thought that began with the reply. */
  #readThought(line: string): boolean {
    if (this.#around.inThought || this.#depth >= MAX_DEPTH) return false;
    const start = line.indexOf(THOUGHT);
    const end = line.indexOf(THOUGHT_END);
    if (!this.#hasThought && end >= 0 && (start < 0 || end < start)) {
      this.#hasThought = true;
      this.#blocks = this.#blocks.map((block) => ({ ...block, inThought: true }));
      this.#continueAt({ line: this.#at, tail: line.slice(end + THOUGHT_END.length), isClosed: true });
      return true;
    }
    if (start < 0) return false;
    this.#lines[this.#at] = line.slice(start + THOUGHT.length);
    const found = this.#find(THOUGHT_END);
    if (found === undefined && !line.trimStart().startsWith(THOUGHT)) {
      this.#lines[this.#at] = line;
      return false;
    }
    this.#hasThought = true;
    this.#readRegion(found, { ...this.#around, inThought: true });
    return true;
  }

  #readOutput(line: string): boolean {
    const [head, name = ""] = OUTPUT.exec(line) ?? [];
    if (head === undefined || this.#depth >= MAX_DEPTH) return false;
    this.#lines[this.#at] = line.slice(head.length);
    const found = this.#find(`</${name}>`);
    if (found === undefined) {
      this.#lines[this.#at] = line;
      return false;
    }
    this.#readRegion(found, { place: "output", ...this.#around });
    return true;
  }

  /** Reads the lines up to a closing tag as text with blocks of its own. */
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
    const end = this.#find(`</${name}>`);
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

  /** Returns the lines from the current one up to a closing tag, without it. */
  #linesUntil(end: Required<End> | undefined): string[] {
    const lines = this.#lines.slice(this.#at, end?.line);
    return end === undefined ? lines : [...lines, end.code];
  }

  /** Finds a closing tag from the current line on. */
  #find(tag: string): Required<End> | undefined {
    if (this.#missing.has(tag)) return undefined;
    for (let line = this.#at; line < this.#lines.length; line++) {
      const text = this.#lines[line] ?? "";
      const column = text.indexOf(tag);
      if (column < 0) continue;
      return { line, code: text.slice(0, column), tail: text.slice(column + tag.length), isClosed: true };
    }
    this.#missing.add(tag);
    return undefined;
  }

  /** Returns the blocks in the content of a block. */
  #scanInside(lines: string[], place: BlockPlace): CodeBlock[] {
    if (this.#depth >= MAX_DEPTH || !lines.some((line) => fenceAtStart(line) !== undefined)) return [];
    return new BlockScanner([...lines], { ...this.#around, place, depth: MAX_DEPTH }).scan();
  }

  /** Returns true if one of the two lines before a line announces output. */
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

/** What is known about a block that is added. */
interface NewBlock
  extends Pick<CodeBlock, "isClosed" | "place">, Partial<Pick<CodeBlock, "tag" | "language">> {
  readonly info: string;
  readonly quotes: number;
}

function languageOf(info: string, code: string): BlockLanguage {
  const { language } = tagOf(info);
  return language !== "other" && PROMPT.test(code) ? "transcript" : language;
}

/** Returns true if a line is only a fence that closes a block. */
function closesAlone(line: string, { character, length }: Fence): boolean {
  const mark = line.trim();
  return mark.length >= length && mark.startsWith(character) && runLength(mark, 0) === mark.length;
}

/** Returns true if a line has one fence, at its end and behind text: `{"a": 1}```` closes a block of JSON. */
function closesBehindText(line: string, { character, length }: Fence): boolean {
  const text = line.trimEnd();
  const mark = character.repeat(length);
  if (character !== "`" || !text.endsWith(mark) || text.at(-length - 1) === "`") return false;
  return countRuns(text, text.length) === 1;
}

/** Returns the opening fence that is glued to the closing fence of a block: ``` ```python ``` of ``` ``````python ```. */
function gluedFence(line: string, { character, length }: Fence): string | undefined {
  const text = line.trimStart();
  const run = text.startsWith(character) ? runLength(text, 0) : 0;
  if (run < length + 3 || !isKnownTagAlone(text.slice(run))) return undefined;
  return text.slice(length);
}

/** Returns the end of a Python block at a fence, and the text behind it, which may open the next block. */
function afterFence(line: number, at: { text: string; column: number; fence: Fence }): End {
  const { text, column, fence } = at;
  const run = runLength(text, column);
  const code = text.slice(0, column);
  const behind = text.slice(column + run);
  if (!isKnownTagAlone(behind)) return { line, code, tail: behind, isClosed: true };
  // The fence opens the next block, alone or glued to the closing fence.
  const opening = run >= fence.length + 3 ? run - fence.length : run;
  return { line, code, tail: fence.character.repeat(opening) + behind, isClosed: true };
}
