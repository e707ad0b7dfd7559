/**
 * Returns a JSON value in the form of Python's `str`: `{'a': "it's", 'b': [True, None]}`. A string stays
 * unchanged.
 *
 * JavaScript has a single number type, so a float without a fraction is written as an int.
 */
export function pythonStr(value: unknown): string {
  return typeof value === "string" ? value : pythonRepr(value);
}

/** Returns a number as Python writes a float: `10.0`, `0.5`, `1e+16`. */
export function pythonFloat(value: number): string {
  const text = pythonNumber(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

function pythonRepr(value: unknown): string {
  switch (typeof value) {
    case "string":
      return stringRepr(value);
    case "boolean":
      return value ? "True" : "False";
    case "number":
      return pythonNumber(value);
    case "object":
      return value === null ? "None" : containerRepr(value);
    default:
      return "None";
  }
}

function containerRepr(value: object): string {
  if (Array.isArray(value)) return `[${value.map(pythonRepr).join(", ")}]`;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${entries.map(([key, field]) => `${stringRepr(key)}: ${pythonRepr(field)}`).join(", ")}}`;
}

function pythonNumber(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0.0";
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return String(value);
  const [digits = "", power] = value.toExponential().split("e");
  const exponent = Number(power);
  // between 1e-4 and 1e16 neither language writes an exponent
  if (exponent >= -4 && exponent < 16) return String(value);
  const sign = exponent < 0 ? "-" : "+";
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

function stringRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\\p{C}\p{Z}']/gu, (character) => {
    if (character === " ") return character;
    if (character === "'") return quote === "'" ? "\\'" : character;
    return ESCAPES[character] ?? escapeCodePoint(character);
  });
  return `${quote}${escaped}${quote}`;
}

function escapeCodePoint(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
