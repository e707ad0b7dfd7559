/** What a command asks for by printing a mark. */
export type Mark = "VALIDATION" | "SUBMISSION";

/** Goes on to the end of a line, where nothing but blanks is left of it. */
const REST = /[^\S\n]*(?:\n|$)/y;

/**
 * Whether something was printed that begins a line with `<<VALIDATION||` and ends one with `||VALIDATION>>`. However
 * much of either an agent prints, the text is gone through once.
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
