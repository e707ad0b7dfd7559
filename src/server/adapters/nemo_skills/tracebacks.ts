const PLACE = /^ *File "(?:<block \d+>|[^"]*\/main\.py)", line \d+/;
const FRAME = /^ *File "<string>", line \d+, in /;
const MARKS = /^\s*[~^]+\s*$/;
const HEAD = "Traceback (most recent call last):";

/** A traceback as IPython's mode `Plain` has it here: lines of code, without where they stand. */
export function plainTraceback(traceback: string): string {
  const lines = traceback.split("\n").filter((line) => !PLACE.test(line));
  if (traceback.includes(HEAD)) return lines.filter((line) => !MARKS.test(line)).join("\n");
  return lines.some((line) => MARKS.test(line)) ? lines.join("\n") : marked(lines).join("\n");
}

/** A traceback as `python -c` writes it, which has no lines of code but in a SyntaxError. */
export function commandTraceback(stderr: string): string {
  let inFrame = false;
  return stderr.split("\n").map((line) => PLACE.test(line) ? line.replace(/"[^"]*"/, '"<string>"') : line)
    .filter((line) => {
      const isCode = inFrame && line.startsWith("    ");
      inFrame = isCode || FRAME.test(line);
      return !isCode;
    }).join("\n");
}

/** With a mark under the first line, which is where a SyntaxError is that has none. */
function marked([code = "", ...rest]: string[]): string[] {
  return code.startsWith(" ") ? [code, "    ^", ...rest] : [code, ...rest];
}
