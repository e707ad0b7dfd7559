import { isKnownTagAlone } from "./block_tags.ts";

/** Columns between tab stops, as in CommonMark. */
const TAB = 4;

/** Containers of a line that are read: quotes and list items. A fence that is deeper is text. */
const MAX_CONTAINERS = 32;

/** Marker of a list item before the content. */
const LIST_MARKER = /(?:[-+*]|\d{1,9}[.)])(?=[ \t])/y;

/** The opening fence of a block. */
export interface Fence {
  /** Backtick or tilde. */
  readonly character: string;
  /** Number of these characters. */
  readonly length: number;
  /** Text behind the fence. */
  readonly info: string;
  /** Number of markers `>` before the fence. */
  readonly quotes: number;
  /** Columns between the start of the line, or the last `>`, and the fence: white space and list markers. */
  readonly columns: number;
  /** Columns up to the content of the list item that starts on the line of the fence; 0 if none does. */
  readonly itemColumns: number;
}

/** Returns the fence at the start of a line, behind white space, list markers and `>`. */
export function fenceAtStart(line: string): Fence | undefined {
  const { at, ...containers } = readContainers(line);
  const character = line.charAt(at);
  const length = runLength(line, at);
  if (length < 3 || (character !== "`" && character !== "~")) return undefined;
  const info = line.slice(at + length);
  // An info string has no backticks: such a line is inline code.
  if (character === "`" && info.includes("`")) return undefined;
  return { character, length, info, ...containers };
}

/** Returns the fence of backticks with a known tag that ends a line of text, as in `so:```python`. */
export function fenceAtEnd(line: string): Fence | undefined {
  const end = line.lastIndexOf("```") + 3;
  if (end < 3 || !isKnownTagAlone(line.slice(end))) return undefined;
  let start = end;
  while (line[start - 1] === "`") start--;
  if (countRuns(line, start) % 2 === 1) return undefined; // the fence ends inline code
  const { quotes } = readContainers(line);
  return { character: "`", length: end - start, info: line.slice(end), quotes, columns: 0, itemColumns: 0 };
}

/** A block that begins and ends on the same line. */
export interface OneLineBlock {
  readonly info: string;
  readonly code: string;
  readonly quotes: number;
}

/** Returns the block of a line that is a fence, a tag, code and a fence: ```` ```python print(1)``` ````. */
export function oneLineBlock(line: string): OneLineBlock | undefined {
  const { at, quotes } = readContainers(line);
  const length = runLength(line, at);
  const end = line.trimEnd().length;
  const close = end - length;
  const mark = line.slice(at, at + length);
  if (length < 3 || close <= at + length || line.slice(close, end) !== mark) return undefined;
  const content = line.slice(at + length, close);
  if (content.includes("```") || content.endsWith("`")) return undefined;
  const [, info, code] = /^[ \t]*(\S+)[ \t]+(\S.*)$/.exec(content) ?? [];
  return info === undefined || code === undefined ? undefined : { info, code: code.trimEnd(), quotes };
}

/** Returns a line of a block without the block's `>` markers; `undefined` if the line has fewer of them. */
export function unquote(line: string, quotes: number): string | undefined {
  let at = 0;
  for (let level = 0; level < quotes; level++) {
    while (line[at] === " " || line[at] === "\t") at++;
    if (line[at] !== ">") return undefined;
    at += line[at + 1] === " " ? 2 : 1;
  }
  return line.slice(at);
}

/** Returns the number of columns of white space at the start of a line. */
export function indentOf(line: string): number {
  return readIndent(line, 0, 0).columns;
}

/** Removes up to so many columns of white space. A tab that is removed in part leaves spaces. */
export function dropIndent(line: string, columns: number): string {
  let at = 0;
  let column = 0;
  while (column < columns && (line[at] === " " || line[at] === "\t")) {
    column = nextColumn(column, line[at++]);
  }
  return " ".repeat(Math.max(0, column - columns)) + line.slice(at);
}

/** Returns how often the character at an index follows in a row. */
export function runLength(line: string, at: number): number {
  const character = line[at];
  let end = at;
  while (character !== undefined && line[end] === character) end++;
  return end - at;
}

/** Counts the runs of three or more backticks before an index. */
export function countRuns(line: string, end: number): number {
  let count = 0;
  for (let at = line.indexOf("```"); at >= 0 && at < end; at = line.indexOf("```", at)) {
    count++;
    at += runLength(line, at);
  }
  return count;
}

interface Containers extends Pick<Fence, "quotes" | "columns" | "itemColumns"> {
  /** Index behind the markers. */
  readonly at: number;
}

function readContainers(line: string): Containers {
  let [at, quotes, columns, itemColumns, isItem] = [0, 0, 0, 0, false];
  for (let depth = 0; depth <= MAX_CONTAINERS; depth++) {
    ({ at, columns } = readIndent(line, at, columns));
    if (isItem) itemColumns = columns;
    if (line[at] === ">") {
      at += line[at + 1] === " " ? 2 : 1;
      [quotes, columns, itemColumns, isItem] = [quotes + 1, 0, 0, false];
      continue;
    }
    LIST_MARKER.lastIndex = at;
    const marker = LIST_MARKER.exec(line)?.[0];
    if (marker === undefined) return { at, quotes, columns, itemColumns };
    [at, columns, isItem] = [at + marker.length, columns + marker.length, true];
  }
  return { at: line.length, quotes: 0, columns: 0, itemColumns: 0 };
}

function readIndent(line: string, at: number, columns: number): { at: number; columns: number } {
  while (line[at] === " " || line[at] === "\t") columns = nextColumn(columns, line[at++]);
  return { at, columns };
}

function nextColumn(column: number, space: string | undefined): number {
  return space === "\t" ? column + TAB - column % TAB : column + 1;
}
