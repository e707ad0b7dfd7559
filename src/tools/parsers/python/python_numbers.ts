import { ODD_NUMBER, rawNumber, rawNumberText } from "../../../numbers/exact_numbers.ts";
import { JsonScanner } from "../json_scan.ts";
import { isJsonObject } from "../../../json.ts";

/** `NaN`, `Infinity` or `-Infinity`, which Python's `json` reads and writes. */
class NonFinite {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const NON_FINITE = /NaN|Infinity/;

/**
 * Parses JSON as Python's `json` does, so that {@linkcode exactJson} writes each number in the text's form. Returns
 * `undefined` for other text.
 */
export function parseExact(json: string): unknown {
  if (!ODD_NUMBER.test(json) && !NON_FINITE.test(json)) return undefined;
  const toNumber = (text: string) => NON_FINITE.test(text) ? new NonFinite(text) : rawNumber(text);
  try {
    return new JsonScanner(json, 0, { toNumber }).parse();
  } catch {
    return undefined; // the parser of the call reports the error
  }
}

/** Writes a value of {@linkcode parseExact} as JSON without spaces; `undefined` if no number would change. */
export function exactJson(value: unknown): string | undefined {
  return hasOddNumber(value) ? writeExact(value) : undefined;
}

/** Returns the text of a JSON object, trimmed, or `undefined` when parsing loses nothing. */
export function exactText(json: string): string | undefined {
  const value = parseExact(json);
  const isObject = isJsonObject(value);
  return isObject && numberTextOf(value) === undefined && hasOddNumber(value) ? json.trim() : undefined;
}

function hasOddNumber(value: unknown): boolean {
  const number = numberTextOf(value);
  if (number !== undefined) return ODD_NUMBER.test(number) || NON_FINITE.test(number);
  return typeof value === "object" && value !== null && Object.values(value).some(hasOddNumber);
}

function writeExact(value: unknown): string {
  const number = numberTextOf(value);
  if (number !== undefined) return number;
  if (Array.isArray(value)) return `[${value.map(writeExact).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) =>
    `${JSON.stringify(key)}:${writeExact(member)}`
  );
  return `{${members.join(",")}}`;
}

function numberTextOf(value: unknown): string | undefined {
  return value instanceof NonFinite ? value.text : rawNumberText(value);
}
