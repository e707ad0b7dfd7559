/**
 * Parts of grammars in the EBNF that SGLang and vLLM take.
 *
 * @module
 */

/** Returns the expression of a text. */
export function literal(text: string): string {
  return `"${Array.from(text, escape).join("")}"`;
}

/**
 * Returns the expression of a text that does not have a mark. The first character of the mark must occur in it once, so
 * that a mark can begin only where the text has this character.
 */
export function freeText(mark: string): string {
  const [first = "", ...others] = mark;
  if (first === "" || others.includes(first)) {
    throw new TypeError(`Cannot exclude '${mark}' as its first character must occur in it once`);
  }
  const begin = escapeInClass(first);
  const starts = others.map((_, at) => literal(first + others.slice(0, at).join("")));
  const broken = others.map((next, at) =>
    `${starts[at]} [^${begin}${next === first ? "" : escapeInClass(next)}]`
  );
  if (others.length === 0) return `[^${begin}]*`;
  const started = `(${starts.join(" | ")})*`;
  return `([^${begin}] | ${started} (${broken.join(" | ")}))* ${started}`;
}

function escape(character: string): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  return escapeControl(character);
}

function escapeInClass(character: string): string {
  return "]\\^-[".includes(character) ? `\\${character}` : escapeControl(character);
}

function escapeControl(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === "\n") return "\\n";
  if (code >= 0x20 && code < 0x7f) return character;
  return code <= 0xffff
    ? `\\u${code.toString(16).padStart(4, "0")}`
    : `\\U${code.toString(16).padStart(8, "0")}`;
}
