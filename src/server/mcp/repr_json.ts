import { stickyMatch } from "../../tools/parsers/json_scan.ts";

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

/** Maximum length of a repr that is converted: the thread that serves everyone parses the repr. */
const MAX_REPR_CHARACTERS = 65_536;

/** Marks a number that is kept as a string, so that no digits are lost. */
const MARK = "\0";
const MARKED = /"\\u0000([^"]+)"(:?)/g;

/**
 * Converts a Python repr to indented JSON; a string is returned unchanged. Returns `undefined` if the value contains
 * more than strings, numbers, booleans, None, lists, tuples and dicts, or is longer than 65,536 characters.
 */
export function jsonOfRepr(repr: string): string | undefined {
  try {
    if (repr.length > MAX_REPR_CHARACTERS) return undefined;
    const value: unknown = repr.includes("\\x00") ? undefined : JSON.parse(toMarkedJson(repr));
    if (typeof value === "string" && !value.startsWith(MARK)) return value;
    return JSON.stringify(value, null, 2)
      ?.replace(MARKED, (_, number, colon) => colon === "" ? number : `"${number}":`);
  } catch {
    return undefined; // another kind of value, or nested too deeply
  }
}

function toMarkedJson(repr: string): string {
  const pieces: string[] = [];
  let at = 0;
  while (at < repr.length) {
    const piece = stickyMatch(STRING, repr, at) ?? stickyMatch(NUMBER, repr, at) ??
      stickyMatch(SIGN, repr, at);
    if (piece === undefined) throw new SyntaxError(`there is no literal at character ${at}`);
    pieces.push(jsonOf(piece));
    at += piece.length;
    at += stickyMatch(SPACE, repr, at)?.length ?? 0;
  }
  return pieces.join("");
}

function jsonOf(piece: string): string {
  if (/^['"]/.test(piece)) return JSON.stringify(unescape(piece.slice(1, -1)));
  if (/^[-\d]/.test(piece)) return JSON.stringify(MARK + piece);
  return SIGNS[piece] ?? piece;
}

function unescape(text: string): string {
  return text.replace(ESCAPE, (_, x, u, long, letter) => {
    const code = x ?? u ?? long;
    return code === undefined ? LETTERS[letter] ?? letter : String.fromCodePoint(Number.parseInt(code, 16));
  });
}
