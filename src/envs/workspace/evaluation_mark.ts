/** Request that a command makes by printing a mark. */
export type Mark = "VALIDATION" | "SUBMISSION";

/** The blanks up to the end of a line. */
const REST = /[^\S\n]*(?:\n|$)/y;

/**
 * True if the output has a line that begins with `<<VALIDATION||`, and a later or the same line that ends with
 * `||VALIDATION>>`. It scans the output once, however many marks it holds.
 */
export function hasMark(output: string, mark: Mark): boolean {
  const opening = `<<${mark}||`;
  const closing = `||${mark}>>`;
  const start = output.startsWith(opening) ? 0 : output.indexOf(`\n${opening}`);
  if (start === -1) return false;
  let at = output.indexOf(opening, start) + opening.length;
  for (;;) {
    at = output.indexOf(closing, at);
    if (at === -1) return false;
    REST.lastIndex = at += closing.length;
    if (REST.test(output)) return true;
  }
}
