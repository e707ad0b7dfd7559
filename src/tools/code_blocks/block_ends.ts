import { findThought, THOUGHT_END } from "../../chat/replies/thoughts.ts";
import { isKnownTagAlone, tagOf } from "./block_tags.ts";
import { countRuns, type Fence, indentOf, runLength, unquote } from "./fences.ts";

/** A closing tag that does not close a thought. */
const CLOSING_TAG = /<\/(?:code|python|tool_code|answer|tool_call)>/i;

/** The end of a block. */
export interface End {
  /** First line after the content. */
  readonly line: number;
  /** Content on that line before the fence. */
  readonly code?: string;
  /** Text of that line after the fence. Without such text, the line is not part of the block. */
  readonly tail?: string;
  readonly isClosed: boolean;
}

/** Finds the ends of the blocks of a text. The lines may change up to the last end. */
export class BlockEnds {
  readonly #lines: readonly string[];
  #skipsStrings = true;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** Finds the end of a block of Python, whose strings and comments may have fences. */
  ofPython(first: number, fence: Fence): End {
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
      if (startsWithClosingTag(text)) return { line, tail: text, isClosed: true };
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
        if (startsWithClosingTag(text)) return { line, tail: text, isClosed: true };
      }
      const scanned = findFenceInCode(text, open, mark);
      if (scanned.column >= 0) return afterFence(line, { text, column: scanned.column, fence });
      open = scanned.open;
    }
    return undefined;
  }

  /**
   * Finds the end of a block of another language, whose content is literal. `showsThought`: whether the text before the
   * block has a thought.
   */
  ofText(first: number, fence: Fence, { showsThought }: { showsThought: boolean }): End {
    const { tag } = tagOf(fence.info);
    const isMarkup = /^(?:markdown|md|mdx|rst|text|txt)$/i.test(tag);
    let itemColumns: number | undefined;
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
      showsThought ||= findThought(text) !== undefined;
      if (!showsThought && text.trimStart().search(THOUGHT_END) === 0) {
        return { line, tail: text, isClosed: true };
      }
    }
    return { line: this.#lines.length, isClosed: false };
  }
}

/** Returns true if a line begins with a closing tag, which is no Python. */
function startsWithClosingTag(line: string): boolean {
  const text = line.trimStart();
  return text.search(CLOSING_TAG) === 0 || text.search(THOUGHT_END) === 0;
}

/** Returns true if a line is only a fence that closes a block. */
function closesAlone(line: string, { character, length }: Fence): boolean {
  const mark = line.trim();
  return mark.length >= length && mark.startsWith(character) && runLength(mark, 0) === mark.length;
}

/**
 * Returns true if a line has a single fence, at the end of the line and behind text: `{"a": 1}```` closes a block of JSON.
 */
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

/** Value of `open` where no triple-quoted string is open. */
const NO_OPEN_STRING = "";

/** Result of {@linkcode findFenceInCode}. */
interface ScannedLine {
  /** Column of a fence outside of strings and comments; -1 if there is none. */
  readonly column: number;
  /** Quotes of the triple-quoted string that is open at the end of the line, else {@linkcode NO_OPEN_STRING}. */
  readonly open: string;
}

/**
 * Finds a fence of backticks, `mark` or longer, in a line of Python. Python code has no backticks outside of
 * strings and comments. `open` is the triple-quoted string in which the line starts.
 */
function findFenceInCode(line: string, open: string, mark: string): ScannedLine {
  let at = open === NO_OPEN_STRING ? 0 : stringEnd(line, 0, open);
  while (at !== null && at < line.length && line.charAt(at) !== "#") {
    if (line.startsWith(mark, at)) return { column: at, open: NO_OPEN_STRING };
    open = quotesAt(line, at);
    at = open === NO_OPEN_STRING ? at + 1 : stringEnd(line, at + open.length, open);
  }
  return { column: -1, open: at === null && open.length === 3 ? open : NO_OPEN_STRING };
}

function quotesAt(line: string, at: number): string {
  const quote = line.charAt(at);
  if (quote !== '"' && quote !== "'") return NO_OPEN_STRING;
  const triple = quote.repeat(3);
  return line.startsWith(triple, at) ? triple : quote;
}

/** Returns the index after the string that ends with `quotes`, or `null` if the string does not end in this line. */
function stringEnd(line: string, at: number, quotes: string): number | null {
  while (at < line.length) {
    if (line.charAt(at) === "\\") at += 2;
    else if (line.startsWith(quotes, at)) return at + quotes.length;
    else at++;
  }
  return null;
}
