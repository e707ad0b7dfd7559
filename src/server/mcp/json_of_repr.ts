import { matchAt } from "../../tools/match_at.ts";

const STRING = /'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"/y;
const NUMBER = /-?\d+(?:\.\d+)?(?:e[-+]\d+)?(?!\w)/y;
const SIGN = /True\b|False\b|None\b|,\)|[[\](){},:]/y;
const SPACE = / */y;

const SIGNS: Readonly<Record<string, string>> = {
  True: "true",
  False: "false",
  None: "null",
  "(": "[",
  ")": "]",
  ",)": "]",
};
const LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
const ESCAPE = /\\(?:x(..)|u(.{4})|U(.{8})|(.))/g;

/** Stands before a number while it is a text, so that none of its digits is lost. */
const MARK = "\0";
const MARKED = /"\\u0000([^"]+)"(:?)/g;

/**
 * A value as JSON that reads well, made of its Python repr; a text is given as it is. Nothing when there is more in
 * the value than texts, numbers, truth, None, lists, tuples and dicts.
 */
export function jsonOfRepr(repr: string): string | undefined {
  try {
    const value: unknown = repr.includes("\\x00") ? undefined : JSON.parse(marked(repr));
    if (typeof value === "string" && !value.startsWith(MARK)) return value;
    return JSON.stringify(value, null, 2)
      ?.replace(MARKED, (_, number, colon) => colon === "" ? number : `"${number}":`);
  } catch {
    return undefined; // it is no such value, or is nested too deeply
  }
}

function marked(repr: string): string {
  const pieces: string[] = [];
  let at = 0;
  while (at < repr.length) {
    const piece = matchAt(STRING, repr, at) ?? matchAt(NUMBER, repr, at) ?? matchAt(SIGN, repr, at);
    if (piece === undefined) throw new SyntaxError(`there is no literal at character ${at}`);
    pieces.push(jsonOf(piece));
    at += piece.length;
    at += matchAt(SPACE, repr, at)?.length ?? 0;
  }
  return pieces.join("");
}

function jsonOf(piece: string): string {
  if (/^['"]/.test(piece)) return JSON.stringify(unescaped(piece.slice(1, -1)));
  if (/^[-\d]/.test(piece)) return JSON.stringify(MARK + piece);
  return SIGNS[piece] ?? piece;
}

function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, x, u, long, letter) => {
    const code = x ?? u ?? long;
    return code === undefined ? LETTERS[letter] ?? letter : String.fromCodePoint(Number.parseInt(code, 16));
  });
}
