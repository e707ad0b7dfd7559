import { unzlibSync } from "fflate";
import data from "./unicode_names.json" with { type: "json" };

/** Names that end in the character's number. */
const NUMBERED =
  /^(?:CJK UNIFIED IDEOGRAPH|CJK COMPATIBILITY IDEOGRAPH|TANGUT IDEOGRAPH|NUSHU CHARACTER|KHITAN SMALL SCRIPT CHARACTER)-([\dA-F]{4,6})$/;

let characters: Map<string, string> | undefined;

/**
 * Returns the character with a name of Unicode, in any case, such as `DEGREE SIGN`, as in Python's `\N{…}`. Names of
 * Hangul syllables and aliases are not known. Source: `unicodedata` of the interpreter, see `task unicode-names`.
 */
export function characterNamed(name: string): string | undefined {
  const upper = name.toUpperCase();
  const number = NUMBERED.exec(upper)?.[1];
  if (number !== undefined) {
    const character = String.fromCodePoint(Math.min(Number.parseInt(number, 16), 0x10ffff));
    return /^\p{Lo}$/u.test(character) ? character : undefined;
  }
  characters ??= readNames();
  return characters.get(upper);
}

function readNames(): Map<string, string> {
  const lines = new TextDecoder().decode(unzlibSync(Uint8Array.fromBase64(data.names))).split("\n");
  let code = 0;
  return new Map(lines.map((line) => {
    const space = line.indexOf(" ");
    code += Number(line.slice(0, space));
    return [line.slice(space + 1), String.fromCodePoint(code)];
  }));
}
