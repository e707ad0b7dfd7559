const PLACE = /^ *File "(?:<block \d+>|[^"]*\/main\.py)", line \d+/;
const FRAME = /^ *File "<string>", line \d+, in /;
const MARKS = /^\s*[~^]+\s*$/;
const HEAD = "Traceback (most recent call last):";

/** Returns a traceback in IPython's mode `Plain`: lines of code without their locations. */
export function toPlainTraceback(traceback: string): string {
  const lines = traceback.split("\n").filter((line) => !PLACE.test(line));
  if (traceback.includes(HEAD)) return lines.filter((line) => !MARKS.test(line)).join("\n");
  return lines.some((line) => MARKS.test(line)) ? lines.join("\n") : addCaret(lines).join("\n");
}

/** Returns a traceback as `python -c` writes it: without lines of code, except for a SyntaxError. */
export function toCommandTraceback(stderr: string): string {
  let inFrame = false;
  return stderr.split("\n").map((line) => PLACE.test(line) ? line.replace(/"[^"]*"/, '"<string>"') : line)
    .filter((line) => {
      const isCode = inFrame && line.startsWith("    ");
      inFrame = isCode || FRAME.test(line);
      return !isCode;
    }).join("\n");
}

/** Adds a caret under the first line, the location of a SyntaxError without one. */
function addCaret([code = "", ...rest]: string[]): string[] {
  return code.startsWith(" ") ? [code, "    ^", ...rest] : [code, ...rest];
}
