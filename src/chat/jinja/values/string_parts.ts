// deno-lint-ignore-file no-control-regex
import { requireIndex } from "./arguments.ts";
import { PythonValueError } from "../jinja_errors.ts";
import type { Run } from "../run.ts";
import { charsOf, hasSurrogates, requireString } from "./text.ts";
import { Tuple, type Value } from "./values.ts";

const BLANKS = /[[\s\x1c-\x1f\x85]--[\ufeff]]+/v;
const LEADING = /^[[\s\x1c-\x1f\x85]--[\ufeff]]+/v;
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

/** Strips characters from the ends of a text: blanks if none are given. */
export function strip(
  text: string,
  chars: Value | undefined,
  sides: "both" | "left" | "right" = "both",
): string {
  if (chars === undefined || chars === null) {
    const left = sides === "right" ? text : text.replace(LEADING, "");
    return sides === "left" ? left : stripTrailing(left);
  }
  const set = new Set(charsOf(requireString(chars, "the characters to strip")));
  const all = hasSurrogates(text) ? charsOf(text) : text;
  let [start, end] = [0, all.length];
  while (sides !== "right" && start < end && set.has(all[start] as string)) start++;
  while (sides !== "left" && end > start && set.has(all[end - 1] as string)) end--;
  return typeof all === "string" ? all.slice(start, end) : all.slice(start, end).join("");
}

/** A pattern that ends with `$` would read long blanks inside a text again and again. */
function stripTrailing(text: string): string {
  let end = text.length;
  while (end > 0 && BLANKS.test(text[end - 1] as string)) end--;
  return text.slice(0, end);
}

/** Splits a text at line ends, of which Python knows ten. */
export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = [];
  let start = 0;
  for (const { 0: end, index } of text.matchAll(LINE_ENDS)) {
    lines.push(text.slice(start, keepEnds ? index + end.length : index));
    start = index + end.length;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}

/** Replaces a part of a text, at most as often as given; a negative count has no limit. */
export function replaceText(
  text: string,
  { old, replacement, most, run }: { old: string; replacement: string; most: number; run: Run },
): string {
  const parts = old === "" ? ["", ...charsOf(text), ""] : text.split(old);
  const times = Math.min(most < 0 ? Infinity : most, parts.length - 1);
  run.step(parts.length);
  run.grow(text.length + Math.max(0, replacement.length * times));
  if (times === parts.length - 1) return parts.join(replacement);
  const rest = parts.slice(times).join(old);
  return [...parts.slice(0, times), rest].join(replacement);
}

/** Splits a text at a separator, or at blanks, from the left. */
export function split(
  text: string,
  separator: Value | undefined,
  most: Value | undefined,
  run: Run,
): string[] {
  const limit = most === undefined ? -1 : requireIndex(most);
  const cuts = limit < 0 ? Infinity : limit;
  run.grow(text.length);
  if (separator === undefined || separator === null) return splitAtBlanks(text, cuts);
  const parts = text.split(requireSeparator(separator));
  run.step(parts.length);
  if (parts.length <= cuts + 1) return parts;
  return [...parts.slice(0, cuts), parts.slice(cuts).join(requireSeparator(separator))];
}

function splitAtBlanks(text: string, cuts: number): string[] {
  const parts: string[] = [];
  let rest = text.replace(LEADING, "");
  if (cuts === Infinity) return rest === "" ? [] : stripTrailing(rest).split(BLANKS);
  while (rest !== "" && parts.length < cuts) {
    const blank = BLANKS.exec(rest);
    if (blank === null) break;
    parts.push(rest.slice(0, blank.index));
    rest = rest.slice(blank.index + blank[0].length);
  }
  return rest === "" ? parts : [...parts, parts.length < cuts ? stripTrailing(rest) : rest];
}

/** Splits a text at a separator, or at blanks, from the right. */
export function splitRight(
  text: string,
  separator: Value | undefined,
  most: Value | undefined,
  run: Run,
): string[] {
  const limit = most === undefined ? -1 : requireIndex(most);
  if (limit < 0) return split(text, separator, undefined, run);
  if (separator !== undefined && separator !== null) {
    const cut = requireSeparator(separator);
    const parts = text.split(cut);
    run.step(parts.length);
    if (parts.length <= limit + 1) return parts;
    const at = parts.length - limit;
    return [parts.slice(0, at).join(cut), ...parts.slice(at)];
  }
  const parts: string[] = [];
  let rest = stripTrailing(text);
  while (rest !== "" && parts.length < limit) {
    let start = rest.length;
    while (start > 0 && !BLANKS.test(rest[start - 1] as string)) start--;
    if (start === 0) break;
    parts.unshift(rest.slice(start));
    rest = stripTrailing(rest.slice(0, start));
  }
  return rest === "" ? parts : [rest, ...parts];
}

function requireSeparator(value: Value): string {
  const text = requireString(value, "a separator");
  if (text === "") throw new PythonValueError("a separator must not be empty");
  return text;
}

/** Splits a text at the first or last separator into three parts. */
export function partition(text: string, separator: Value, fromRight: boolean): Value {
  const cut = requireSeparator(separator);
  const at = fromRight ? text.lastIndexOf(cut) : text.indexOf(cut);
  if (at === -1) return new Tuple(fromRight ? ["", "", text] : [text, "", ""]);
  return new Tuple([text.slice(0, at), cut, text.slice(at + cut.length)]);
}
