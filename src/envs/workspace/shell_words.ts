/** Quotes a text as one word of a command line. NUL characters are removed. */
export function quoteShellWord(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", `'\\''`)}'`;
}

/**
 * Returns the line that sets a shell variable. A text such as `()` or `(a b)` makes it an array.
 *
 * @throws {SyntaxError} if the name is not a valid variable name.
 */
export function shellAssignment(name: string, value: string | number): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    throw new SyntaxError(
      `Cannot set shell variable as its name must be letters, digits and '_': current value is '${name}'`,
    );
  }
  const text = String(value);
  return `${name}=${/^\([^()]*\)$/.test(text) ? text : quoteShellWord(text)}`;
}
