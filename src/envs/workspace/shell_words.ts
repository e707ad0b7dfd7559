/** A text as one word of a command line, whatever is in it. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", `'\\''`)}'`;
}

/**
 * The line that sets a shell variable. A text such as `()` or `(a b)` makes an array of it.
 *
 * @throws {SyntaxError} when the name is none of a variable.
 */
export function assignment(name: string, value: string | number): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    throw new SyntaxError(
      `Cannot set shell variable as its name must be letters, digits and '_': current value is '${name}'`,
    );
  }
  const text = String(value);
  return `${name}=${/^\([^()]*\)$/.test(text) ? text : shellWord(text)}`;
}
