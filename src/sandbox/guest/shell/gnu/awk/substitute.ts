import { matchesOf } from "./expressions.ts";

/** What `sub`, `gsub` and `gensub` replace. */
export interface SubstituteOptions {
  /** All matches, or a single match, counted from 1. */
  readonly which: "all" | number;
  /** True if `\1` to `\9` are groups, as of `gensub`. */
  readonly hasGroups: boolean;
}

/** Replaces matches of an expression. Returns the text, and the number of replacements. */
export function substitute(
  text: string,
  expression: RegExp,
  replacement: string,
  { which, hasGroups }: SubstituteOptions,
): { text: string; count: number } {
  const parts = readReplacement(replacement, hasGroups);
  let result = "";
  let [end, count, number] = [0, 0, 0];
  for (const match of matchesOf(expression, text)) {
    number++;
    if (which !== "all" && number !== which) continue;
    result += text.slice(end, match.index);
    for (const part of parts) result += typeof part === "string" ? part : match[part] ?? "";
    end = match.index + match[0].length;
    count++;
    if (which !== "all") break;
  }
  return { text: result + text.slice(end), count };
}

/** Splits a replacement into texts and numbers of groups; 0 is the match, which `&` stands for. */
function readReplacement(replacement: string, hasGroups: boolean): (string | number)[] {
  const parts: (string | number)[] = [];
  const expression = hasGroups ? /\\([0-9])|\\([&\\])|(&)|([^])/gu : /(\\\\)&|(\\)&|(&)|([^])/gu;
  if (hasGroups) {
    for (const [all, group, escaped, whole] of replacement.matchAll(expression)) {
      parts.push(group !== undefined ? Number(group) : whole !== undefined ? 0 : escaped ?? all);
    }
    return parts;
  }
  for (const [all, backslashes, backslash, whole] of replacement.matchAll(expression)) {
    if (backslashes !== undefined) parts.push("\\", 0);
    else if (backslash !== undefined) parts.push("&");
    else parts.push(whole !== undefined ? 0 : all);
  }
  return parts;
}
