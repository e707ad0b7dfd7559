import { UsageError } from "../../command.ts";
import type { ParsedOptions } from "../../options.ts";
import { type Change, groupsOf, type LineGroup } from "./line_groups.ts";

const TROUBLE = 2;
const KINDS = ["old", "new", "unchanged"] as const;

/** Options of the formats, for the list of `diff`. */
export const FORMAT_OPTIONS = "line-format=:old-line-format=:new-line-format=:unchanged-line-format=:" +
  "old-group-format=:new-group-format=:unchanged-group-format=:changed-group-format=";

type Formats = Readonly<Record<string, string | undefined>>;

/** Prints both files by the formats of lines and of groups. Returns `undefined` if no format is given. */
export function formattedText(
  options: ParsedOptions,
  before: readonly string[],
  after: readonly string[],
  changes: readonly Change[],
): string | undefined {
  const names = FORMAT_OPTIONS.split(":").map((name) => name.replace("=", ""));
  if (!names.some((name) => options.has(name))) return undefined;
  const value = (name: string) => options.value(`${name}-format`);
  const anyLine = value("line");
  const lines = Object.fromEntries(KINDS.map((kind) => [kind, value(`${kind}-line`) ?? anyLine ?? "%l\n"]));
  const changed = value("changed-group");
  const groups = {
    old: value("old-group") ?? changed ?? "%<",
    new: value("new-group") ?? changed ?? "%>",
    unchanged: value("unchanged-group") ?? "%=",
    changed: changed ?? `${value("old-group") ?? "%<"}${value("new-group") ?? "%>"}`,
  };
  return groupsOf(before, after, changes).map((group) => groupText(groups[group.kind], group, lines)).join(
    "",
  );
}

/** Writes a format in which `%` begins what a function replaces. */
function expand(
  format: string,
  replaced: (rest: string) => { text: string; length: number } | undefined,
): string {
  let text = "";
  for (let at = 0; at < format.length; at++) {
    const sign = format.charAt(at);
    if (sign !== "%") {
      text += sign;
      continue;
    }
    const rest = format.slice(at + 1);
    const [constant, code] = /^c'(\\[0-7]+|[^])'/.exec(rest) ?? [];
    const found = rest.startsWith("%")
      ? { text: "%", length: 1 }
      : constant !== undefined && code !== undefined
      ? { text: characterOf(code), length: constant.length }
      : replaced(rest);
    if (!found) {
      throw new UsageError(`the format '%${rest}' is not available in the sandbox`, {
        exitCode: TROUBLE,
        hasHint: false,
      });
    }
    text += found.text;
    at += found.length;
  }
  return text;
}

function characterOf(code: string): string {
  return code.startsWith("\\") && code.length > 1 ? String.fromCharCode(parseInt(code.slice(1), 8)) : code;
}

function groupText(format: string, group: LineGroup, lines: Formats): string {
  return expand(format, (rest) => {
    const sign = rest.charAt(0);
    if (sign === "<") {
      return { text: linesText(group.old, group.oldStart, oldFormat(group, lines)), length: 1 };
    }
    if (sign === ">") {
      return { text: linesText(group.new, group.newStart, newFormat(group, lines)), length: 1 };
    }
    if (sign === "=") return { text: linesText(group.old, group.oldStart, lines.unchanged ?? ""), length: 1 };
    if (sign === "(") return conditionText(rest, group, lines);
    return numberText(rest, (letter) => numberOf(letter, group));
  });
}

function oldFormat({ kind }: LineGroup, lines: Formats): string {
  return lines[kind === "unchanged" ? "unchanged" : "old"] ?? "";
}

function newFormat({ kind }: LineGroup, lines: Formats): string {
  return lines[kind === "unchanged" ? "unchanged" : "new"] ?? "";
}

/** Writes `(A=B?THEN:ELSE)`, in which `A` and `B` are letters of numbers or numbers. */
function conditionText(rest: string, group: LineGroup, lines: Formats) {
  const [, left = "", right = ""] = /^\(([A-Za-z]|\d+)=([A-Za-z]|\d+)\?/.exec(rest) ?? [];
  const end = rest.indexOf(")");
  if (left === "" || end < 0) return undefined;
  const valueOf = (word: string) => /\d/.test(word) ? Number(word) : numberOf(word, group);
  const parts = rest.slice(rest.indexOf("?") + 1, end);
  const colon = parts.indexOf(":");
  if (colon < 0) return undefined;
  const chosen = valueOf(left) === valueOf(right) ? parts.slice(0, colon) : parts.slice(colon + 1);
  return { text: groupText(chosen, group, lines), length: end + 1 };
}

function numberOf(letter: string, group: LineGroup): number | undefined {
  const isOld = letter === letter.toLowerCase();
  const first = (isOld ? group.oldStart : group.newStart) + 1;
  const count = (isOld ? group.old : group.new).length;
  const values: Readonly<Record<string, number>> = {
    e: first - 1,
    f: first,
    l: first + count - 1,
    m: first + count,
    n: count,
  };
  return values[letter.toLowerCase()];
}

function linesText(lines: readonly string[], start: number, format: string): string {
  return lines.map((line, at) =>
    expand(format, (rest) => {
      if (rest.startsWith("L")) return { text: line, length: 1 };
      if (rest.startsWith("l")) return { text: line.replace(/\n$/, ""), length: 1 };
      return numberText(rest, (letter) => letter === "n" ? start + at + 1 : undefined);
    })
  ).join("");
}

/** Writes a number such as `-5.3dn`, in the manner of `printf`. */
function numberText(rest: string, valueOf: (letter: string) => number | undefined) {
  const match = /^(-?)(\d*)(?:\.(\d*))?([doxX])([A-Za-z])/.exec(rest);
  if (!match) return undefined;
  const [whole, isLeft, width, precision, base = "d", letter = ""] = match;
  const value = valueOf(letter);
  if (value === undefined) return undefined;
  const digits = value.toString(base === "o" ? 8 : base === "d" ? 10 : 16).padStart(
    Number(precision ?? 0),
    "0",
  );
  const shown = base === "X" ? digits.toUpperCase() : digits;
  const isZeroed = width?.startsWith("0") && !isLeft && precision === undefined;
  const padded = isLeft ? shown.padEnd(Number(width)) : shown.padStart(Number(width), isZeroed ? "0" : " ");
  return { text: padded, length: whole.length };
}
