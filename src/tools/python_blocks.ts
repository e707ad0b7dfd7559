const LANGUAGE = /^[ \t]*(?:python3?|py3?)(?:[ \t].*)?$/i;
const LANGUAGE_ALONE = /^[ \t]*(?:python3?|py3?)[ \t]*$/i;

interface Fence {
  /** The backticks or tildes of the fence. */
  readonly mark: string;
  /** Number of white space characters before the fence. As many are removed from each line of the block. */
  readonly indent: number;
}

interface Closing {
  readonly line: number;
  readonly column: number;
}

/**
 * Returns the Python programs in a message: its fenced blocks with the language `python`, `python3`, `py` or
 * `py3`, in any case.
 *
 * Fences are ``` or ~~~. A ``` inside a Python string or comment does not close a block; one after code on
 * the same line does. A last block without a closing fence counts. Line ends become `\n`, and the last one
 * is removed.
 */
export function pythonBlocks(text: string): string[] {
  const lines = text.split(/\r?\n/);
  const blocks: string[] = [];
  let skipsStrings = true;
  for (let at = 0; at < lines.length; at++) {
    const fence = openingFence(lines[at] ?? "");
    if (fence === null) continue;
    const first = at + 1;
    const stringAware: Closing | null = skipsStrings ? closingFence(lines, first, fence) : null;
    // An unterminated string would hide all fences after it, so strings are ignored from here on.
    skipsStrings = stringAware !== null;
    const closing = stringAware ?? plainClosingFence(lines, first, fence);
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
  // Tildes are Python operators, so they close a block only on their own line.
  const mark = fence.mark.startsWith("`") ? fence.mark : "\n";
  let open: string = NO_OPEN_STRING;
  for (let line = first; line < lines.length; line++) {
    const text = lines[line] ?? "";
    if (open === NO_OPEN_STRING && closesAlone(text, fence)) {
      return { line, column: text.indexOf(fence.mark) };
    }
    const scanned = findFence(text, open, mark);
    if (scanned.column >= 0) return { line, column: scanned.column };
    open = scanned.open;
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

/** Value of `open` when no triple-quoted string is open. */
const NO_OPEN_STRING = "";

/** Result of {@linkcode findFence}. */
export interface ScannedLine {
  /** Column of a fence outside of strings and comments; -1 if there is none. */
  readonly column: number;
  /** Quotes of the triple-quoted string that is open at the end of the line, else {@linkcode NO_OPEN_STRING}. */
  readonly open: string;
}

/**
 * Finds a fence of backticks, `mark` or longer, in a line of Python. Python code has no backticks outside of
 * strings and comments. `open` is the triple-quoted string in which the line starts.
 */
function findFence(line: string, open: string, mark: string): ScannedLine {
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

/** Returns the index after the string that ends with `quotes`, or `null` if it does not end in this line. */
function stringEnd(line: string, at: number, quotes: string): number | null {
  while (at < line.length) {
    if (line.charAt(at) === "\\") at += 2;
    else if (line.startsWith(quotes, at)) return at + quotes.length;
    else at++;
  }
  return null;
}
