import { order } from "./compare.ts";
import { PythonTypeError } from "../jinja_errors.ts";
import { floatText, intOf, intText } from "./numbers.ts";
import type { Run } from "../run.ts";
import { isTrue, iterate } from "./sequences.ts";
import { Dict, Float, isList, stringOf, Tuple, typeName, type Value } from "./values.ts";

/** Options of Python's `json.dumps`, as transformers' filter `tojson` takes them. */
export interface JsonOptions {
  readonly ensureAscii: Value;
  readonly indent: Value;
  readonly separators: Value;
  readonly sortKeys: Value;
}

/** Returns the text that Python's `json.dumps` gives. */
export function toJson(value: Value, options: JsonOptions, run: Run): string {
  const { indent, separators } = options;
  const [item, key] = separators === null
    ? [indent === null ? ", " : ",", ": "]
    : [...iterate(separators)].map((text) => requireText(text, "a separator"));
  if (item === undefined || key === undefined) throw new PythonTypeError("'separators' must be two strings");
  const writer = new JsonWriter({ item, key, indent: indentOf(indent) }, options, run);
  writer.write(value, "\n");
  return writer.text;
}

function indentOf(indent: Value): string | undefined {
  if (indent === null) return undefined;
  const width = intOf(indent);
  return width === undefined
    ? requireText(indent, "'indent'")
    : " ".repeat(Math.min(Math.max(0, Number(width)), 1000));
}

function requireText(value: Value, what: string): string {
  const text = stringOf(value);
  if (text === undefined) throw new PythonTypeError(`${what} must be str, not ${typeName(value)}`);
  return text;
}

class JsonWriter {
  text = "";
  readonly #ascii: boolean;
  readonly #sorted: boolean;

  constructor(
    readonly marks: { readonly item: string; readonly key: string; readonly indent: string | undefined },
    options: JsonOptions,
    readonly run: Run,
  ) {
    this.#ascii = isTrue(options.ensureAscii);
    this.#sorted = isTrue(options.sortKeys);
  }

  /** Writes a value. `line` is the line end with the indent of the collection around. */
  write(value: Value, line: string): void {
    const string = stringOf(value);
    if (string !== undefined) this.#append(this.#quote(string));
    else if (value === null) this.#append("null");
    else if (typeof value === "boolean") this.#append(value ? "true" : "false");
    else if (typeof value === "number" || typeof value === "bigint") this.#append(intText(value));
    else if (value instanceof Float) this.#append(doubleText(value.value));
    else if (isList(value) || value instanceof Tuple) {
      this.#writeList(isList(value) ? value : value.items, line);
    } else if (value instanceof Dict) this.#writeDict(value, line);
    else throw new PythonTypeError(`a ${typeName(value)} must not be written as JSON`);
  }

  #writeList(items: readonly Value[], line: string): void {
    if (items.length === 0) return this.#append("[]");
    const inner = this.#innerLine(line);
    this.#append(`[${inner}`);
    for (const [at, item] of items.entries()) {
      if (at > 0) this.#append(this.marks.item + inner);
      this.write(item, line + (this.marks.indent ?? ""));
    }
    this.#append(`${this.#outerLine(line)}]`);
  }

  #writeDict(dict: Dict, line: string): void {
    if (dict.size === 0) return this.#append("{}");
    const inner = this.#innerLine(line);
    this.#append(`{${inner}`);
    let isFirst = true;
    const entries = dict.entries();
    if (this.#sorted) entries.sort(([a], [b]) => order(a, b, "<", this.run) ?? 0);
    for (const [key, value] of entries) {
      if (!isFirst) this.#append(this.marks.item + inner);
      isFirst = false;
      this.#append(this.#quote(keyText(key)) + this.marks.key);
      this.write(value, line + (this.marks.indent ?? ""));
    }
    this.#append(`${this.#outerLine(line)}}`);
  }

  #innerLine(line: string): string {
    return this.marks.indent === undefined ? "" : line + this.marks.indent;
  }

  #outerLine(line: string): string {
    return this.marks.indent === undefined ? "" : line;
  }

  #append(text: string): void {
    this.run.step();
    this.run.grow(text.length);
    this.text += text;
  }

  #quote(text: string): string {
    const quoted = NEEDS_ESCAPE.test(text) ? text.replace(ESCAPED, escapeJson) : text;
    return `"${this.#ascii ? quoted.replace(/[^\0-\x7e]/g, escapeUnit) : quoted}"`;
  }
}

// deno-lint-ignore no-control-regex
const NEEDS_ESCAPE = /["\\\0-\x1f]/;
// deno-lint-ignore no-control-regex
const ESCAPED = /["\\\0-\x1f]/g;
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\f": "\\f",
  "\b": "\\b",
};

function escapeJson(char: string): string {
  return SHORT[char] ?? escapeUnit(char);
}

function escapeUnit(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function doubleText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? floatText(value) : value > 0 ? "Infinity" : "-Infinity";
}

function keyText(key: Value): string {
  const text = stringOf(key);
  if (text !== undefined) return text;
  if (key === null) return "null";
  if (typeof key === "boolean") return key ? "true" : "false";
  if (key instanceof Float) return doubleText(key.value);
  const int = intOf(key);
  if (int !== undefined) return intText(int);
  throw new PythonTypeError(`a key of JSON must be a string, number, boolean or None, not ${typeName(key)}`);
}
