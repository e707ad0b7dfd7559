const CLASSES: Readonly<Record<string, string>> = {
  alpha: "A-Za-z",
  digit: "0-9",
  alnum: "A-Za-z0-9",
  upper: "A-Z",
  lower: "a-z",
  space: "\\s",
  blank: " \\t",
  punct: "!-\\/:-@\\[-`{-~",
  print: " -~\\x80-\\uffff",
  graph: "!-~\\x80-\\uffff",
  cntrl: "\\0-\\x1f\\x7f",
  xdigit: "0-9A-Fa-f",
};

/** Returns the source of a class of a regular expression from the inside of POSIX brackets, without `^` or `!`. */
export function bracketSource(inside: string): string {
  return inside.replace(/\[:(\w+):\]|[\\\]^]|\[/g, (part, name?: string) => {
    return name === undefined ? `\\${part}` : CLASSES[name] ?? "";
  });
}

/** Converts a shell pattern, as `fnmatch` of the C library reads it without flags, to a regular expression. */
export function globExpression(
  pattern: string,
  { ignoreCase = false }: { ignoreCase?: boolean } = {},
): RegExp {
  let source = "";
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern.charAt(at);
    if (sign === "*") source += ".*";
    else if (sign === "?") source += ".";
    else if (sign === "\\" && at + 1 < pattern.length) source += quote(pattern.charAt(++at));
    else if (sign === "[") {
      const [, not = "", inside] = /^\[([!^]?)(\]?(?:\[:\w+:\]|[^\]])*)\]/.exec(pattern.slice(at)) ?? [];
      if (inside === undefined) source += "\\[";
      else {
        source += `[${not && "^"}${bracketSource(inside)}]`;
        at += not.length + inside.length + 1;
      }
    } else source += quote(sign);
  }
  return compile(`^${source}$`, ignoreCase ? "isu" : "su");
}

function quote(sign: string): string {
  return sign.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
}

/**
 * Compiles an expression; an expression that never matches if the source is no expression, such as a range in wrong
 * order.
 */
function compile(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch {
    return /(?!)/; // the C library's pattern matches nothing then
  }
}
