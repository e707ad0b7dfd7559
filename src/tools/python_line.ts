/** No triple-quoted string is open. */
export const NO_STRING = "";

/** What {@linkcode codeFence} saw in a line. */
export interface SeenLine {
  /** Where a fence starts outside of strings and comments; -1 when there is none. */
  readonly column: number;
  /** The quotes of the triple-quoted string that is open behind the line, else {@linkcode NO_STRING}. */
  readonly open: string;
}

/**
 * Looks in a line of Python for a fence of backticks, `mark` or longer: outside of strings and comments no
 * program holds a backtick. `open` is the string that the line starts in.
 */
export function codeFence(line: string, open: string, mark: string): SeenLine {
  let at = open === NO_STRING ? 0 : stringEnd(line, 0, open);
  while (at !== null && at < line.length && line.charAt(at) !== "#") {
    if (line.startsWith(mark, at)) return { column: at, open: NO_STRING };
    open = quotesAt(line, at);
    at = open === NO_STRING ? at + 1 : stringEnd(line, at + open.length, open);
  }
  return { column: -1, open: at === null && open.length === 3 ? open : NO_STRING };
}

function quotesAt(line: string, at: number): string {
  const quote = line.charAt(at);
  if (quote !== '"' && quote !== "'") return NO_STRING;
  const triple = quote.repeat(3);
  return line.startsWith(triple, at) ? triple : quote;
}

/** Where the string with these quotes ends, looked for from `at` on; `null` when not in this line. */
function stringEnd(line: string, at: number, quotes: string): number | null {
  while (at < line.length) {
    if (line.charAt(at) === "\\") at += 2;
    else if (line.startsWith(quotes, at)) return at + quotes.length;
    else at++;
  }
  return null;
}
