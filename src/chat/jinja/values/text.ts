import { PythonTypeError, UnsupportedError } from "../jinja_errors.ts";
import { floatText, intText } from "./numbers.ts";
import type { Run } from "../run.ts";
import {
  Dict,
  Float,
  isList,
  Markup,
  Namespace,
  type PyObject,
  Range,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from "./values.ts";

/** An object that defines a text, such as `<Macro 'm'>`. */
export interface Printable extends PyObject {
  repr(run: Run): string;
}

/** Returns the text that Python's `str` gives, which is also what `{{ … }}` prints. */
export function strOf(value: Value, run: Run): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return `${value}`;
  if (value instanceof Undefined) return "";
  return stringOf(value) ?? reprOf(value, run);
}

/** Returns the text of Python's `repr`. Fails for objects whose text has an address of memory. */
export function reprOf(value: Value, run: Run): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return count(stringRepr(value), run);
  if (typeof value === "number" || typeof value === "bigint") return count(intText(value), run);
  if (isList(value)) return `[${joinReprs(value, run)}]`;
  if (value instanceof Float) return count(floatText(value.value), run);
  if (value instanceof Markup) return count(`Markup(${stringRepr(value.text)})`, run);
  if (value instanceof Tuple) return `(${joinReprs(value.items, run)}${value.items.length === 1 ? "," : ""})`;
  if (value instanceof Dict) return dictRepr(value.entries(), run);
  if (value instanceof View) return `${value.typeName}([${joinReprs(value.items(), run)}])`;
  if (value instanceof Range) {
    return `range(${value.start}, ${value.stop}${value.step === 1 ? "" : `, ${value.step}`})`;
  }
  if (value instanceof Undefined) return "Undefined";
  if (value instanceof Namespace) return `<Namespace ${dictRepr([...value.members], run)}>`;
  if (isPrintable(value)) return value.repr(run);
  throw new UnsupportedError(`a ${typeName(value)} must not be printed, as its text is never the same`);
}

function isPrintable(value: PyObject): value is Printable {
  return "repr" in value;
}

function count(text: string, run: Run): string {
  run.step();
  run.grow(text.length + 2);
  return text;
}

function joinReprs(items: readonly Value[], run: Run): string {
  run.step();
  return items.map((item) => reprOf(item, run)).join(", ");
}

function dictRepr(entries: readonly (readonly [Value, Value])[], run: Run): string {
  run.step();
  return `{${entries.map(([key, value]) => `${reprOf(key, run)}: ${reprOf(value, run)}`).join(", ")}}`;
}

const PLAIN = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/;
const ESCAPED = /[\\\n\r\t]|[^\x20-\x7e]/gu;
const NOT_PRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]/u;
const SHORT: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function stringRepr(text: string): string {
  if (PLAIN.test(text)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(
    ESCAPED,
    (char) => SHORT[char] ?? (isPrintableChar(char) ? char : escapeChar(char)),
  );
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}

/** True for a character that Python's `repr` writes unchanged. */
export function isPrintableChar(char: string): boolean {
  return char === " " || !NOT_PRINTABLE.test(char);
}

/** Writes a character as an escape of Python. */
export function escapeChar(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

const HTML: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

/** Returns a value's text with the characters of HTML escaped, except of a text that is marked as safe. */
export function escapeHtml(value: Value, run: Run): Markup {
  if (value instanceof Markup) return value;
  const text = strOf(value, run).replace(/[&<>"']/g, (char) => HTML[char] ?? char);
  run.grow(text.length);
  return new Markup(text);
}

/** Returns the text of a string, or fails as Python does for a value of another type. */
export function requireString(value: Value, what: string): string {
  const text = stringOf(value);
  if (text !== undefined) return text;
  if (value instanceof Undefined) value.fail();
  throw new PythonTypeError(`${what} must be str, not ${typeName(value)}`);
}

/** Characters of a text as Python counts them. */
export function charsOf(text: string): readonly string[] {
  return hasSurrogates(text) ? [...text] : text.split("");
}

/** True if a text has characters that take two units of UTF-16. */
export function hasSurrogates(text: string): boolean {
  return /[\ud800-\udfff]/.test(text);
}

/** Returns the length of a text in characters. */
export function lengthOf(text: string): number {
  return hasSurrogates(text) ? [...text].length : text.length;
}
