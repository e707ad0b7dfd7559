/** Value of `open` where no triple-quoted string is open. */
export const NO_OPEN_STRING = "";

/** Result of {@linkcode findFenceInCode}. */
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
export function findFenceInCode(line: string, open: string, mark: string): ScannedLine {
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
