import { JsonScanner } from "./json_scan.ts";

/** A number as its JSON has it. `NaN` and `Infinity`, which Python's `json` accepts, are numbers. */
class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What a number may have that JavaScript would write differently, or not at all: `50.0`, `1e2`, 16 digits, `NaN`. */
const ODD_NUMBER = /\d\.\d*0(?!\d)|\d[eE]|\d{16}|NaN|Infinity/;

/** Parses JSON so that {@linkcode exactJson} writes each number as the text has it. Returns `undefined` for other text. */
export function parseExact(json: string): unknown {
  if (!ODD_NUMBER.test(json)) return undefined;
  try {
    return new JsonScanner(json, 0, { toNumber: (text) => new NumberText(text) }).parse();
  } catch {
    return undefined; // the parser of the call reports it
  }
}

/** Writes a value of {@linkcode parseExact} as JSON without spaces; `undefined` if none of its numbers would change. */
export function exactJson(value: unknown): string | undefined {
  return hasOddNumber(value) ? writeExact(value) : undefined;
}

/** Returns the text of a JSON object, trimmed, or `undefined` when parsing it loses nothing. */
export function exactText(json: string): string | undefined {
  const value = parseExact(json);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && !(value instanceof NumberText) && hasOddNumber(value) ? json.trim() : undefined;
}

function hasOddNumber(value: unknown): boolean {
  if (value instanceof NumberText) return ODD_NUMBER.test(value.text);
  return typeof value === "object" && value !== null && Object.values(value).some(hasOddNumber);
}

function writeExact(value: unknown): string {
  if (value instanceof NumberText) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeExact).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) =>
    `${JSON.stringify(key)}:${writeExact(member)}`
  );
  return `{${members.join(",")}}`;
}
