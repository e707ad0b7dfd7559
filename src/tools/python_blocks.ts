import { codeFence, NO_STRING } from "./python_line.ts";

const LANGUAGE = /^[ \t]*(?:python3?|py3?)(?:[ \t].*)?$/i;
const LANGUAGE_ALONE = /^[ \t]*(?:python3?|py3?)[ \t]*$/i;

interface Fence {
  /** The character and how often it stands. */
  readonly mark: string;
  /** The white space before it, which is taken off the block's lines too. */
  readonly indent: number;
}

interface Closing {
  readonly line: number;
  readonly column: number;
}

/**
 * The programs in a message: its fenced blocks whose language is `python`, `python3`, `py` or `py3` in any case.
 *
 * Fences are ``` or ~~~. A ``` inside a Python string or comment closes nothing; one behind a line of code
 * does. A last block that nobody closed counts. Line ends become `\n`, and the last one is left out.
 */
export function pythonBlocks(text: string): string[] {
  const lines = text.split(/\r?\n/);
  const blocks: string[] = [];
  let mindStrings = true;
  for (let at = 0; at < lines.length; at++) {
    const fence = openingFence(lines[at] ?? "");
    if (fence === null) continue;
    const first = at + 1;
    const minded: Closing | null = mindStrings ? closingFence(lines, first, fence) : null;
    // A string that never ends would swallow the fences behind it, so from here on strings are not minded.
    mindStrings = minded !== null;
    const closing = minded ?? plainClosingFence(lines, first, fence);
    blocks.push(codeBetween(lines, first, closing, fence));
    const tail = lines[closing.line]?.slice(closing.column) ?? "";
    const reopens = openingFence(tail) !== null;
    if (reopens) lines[closing.line] = tail;
    at = reopens ? closing.line - 1 : closing.line;
  }
  return blocks;
}

function openingFence(line: string): Fence | null {
  const end = Math.max(line.lastIndexOf("```"), line.lastIndexOf("~~~")) + 3;
  const character = line[end - 1];
  if (end < 3 || character === undefined) return null;
  let start = end;
  while (line[start - 1] === character) start--;
  const indent = line.length - line.trimStart().length;
  const language = start === indent ? LANGUAGE : LANGUAGE_ALONE;
  if (!language.test(line.slice(end)) || (start !== indent && character === "~")) return null;
  return { mark: line.slice(start, end), indent: start === indent ? indent : 0 };
}

function closingFence(lines: readonly string[], first: number, fence: Fence): Closing | null {
  // Tildes are operators of Python, so they close a block only in a line of their own.
  const mark = fence.mark.startsWith("`") ? fence.mark : "\n";
  let open: string = NO_STRING;
  for (let line = first; line < lines.length; line++) {
    const text = lines[line] ?? "";
    if (open === NO_STRING && closesAlone(text, fence)) return { line, column: text.indexOf(fence.mark) };
    const seen = codeFence(text, open, mark);
    if (seen.column >= 0) return { line, column: seen.column };
    open = seen.open;
  }
  return null;
}

function plainClosingFence(lines: readonly string[], first: number, fence: Fence): Closing {
  for (let line = first; line < lines.length; line++) {
    const text = lines[line] ?? "";
    const indent = text.length - text.trimStart().length;
    if (text.startsWith(fence.mark, indent)) return { line, column: indent };
  }
  return { line: lines.length, column: 0 };
}

function closesAlone(line: string, fence: Fence): boolean {
  const mark = line.trim();
  return mark.startsWith(fence.mark) && mark === fence.mark.charAt(0).repeat(mark.length);
}

function codeBetween(lines: readonly string[], first: number, closing: Closing, fence: Fence): string {
  const code = lines.slice(first, closing.line);
  const rest = lines[closing.line]?.slice(0, closing.column) ?? "";
  if (rest.trim() !== "") code.push(rest);
  if (fence.indent === 0) return code.join("\n");
  return code.map((line) => line.slice(Math.min(fence.indent, line.length - line.trimStart().length))).join(
    "\n",
  );
}
