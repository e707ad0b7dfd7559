/** Quotes a text as one word of a command line. NUL characters are removed. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", `'\\''`)}'`;
}
