import { bracketSource } from "../../gnu/glob.ts";

/** How a pattern is matched. */
export interface WildmatchOptions {
  /** True if `*` and `?` match no slash, and `**` matches folders. */
  readonly isPath: boolean;
  readonly ignoresCase?: boolean;
}

/** Converts a pattern of git to a regular expression for whole byte texts. */
export function wildmatch(pattern: string, { isPath, ignoresCase = false }: WildmatchOptions): RegExp {
  let source = "";
  const any = isPath ? "[^/]" : "[^]";
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern.charAt(at);
    if (sign === "*") {
      let end = at;
      while (pattern[end] === "*") end++;
      const isFolders = isPath && end - at > 1 && (at === 0 || pattern[at - 1] === "/") &&
        (end === pattern.length || pattern[end] === "/");
      if (isFolders && end < pattern.length) {
        source += "(?:[^]*/)?";
        end++;
      } else source += isFolders ? "[^]*" : `${any}*`;
      at = end - 1;
    } else if (sign === "?") source += any;
    else if (sign === "\\") source += quote(pattern.charAt(++at) || "\\");
    else if (sign === "[") {
      const [, not = "", inside] = /^\[([!^]?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]/.exec(pattern.slice(at)) ??
        [];
      if (inside === undefined) return /(?!)/;
      const list = bracketSource(inside.replace(/\\(.)/g, "$1"));
      source += isPath ? `(?!/)[${not && "^"}${list}]` : `[${not && "^"}${list}]`;
      at += not.length + inside.length + 1;
    } else source += quote(sign);
  }
  try {
    return new RegExp(`^${source}$`, ignoresCase ? "i" : "");
  } catch {
    return /(?!)/; // such as a range in wrong order, which matches nothing
  }
}

function quote(sign: string): string {
  return sign.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
}

/** True if a text has signs that make it a pattern. */
export function isPattern(text: string): boolean {
  return /[*?[\\]/.test(text);
}
