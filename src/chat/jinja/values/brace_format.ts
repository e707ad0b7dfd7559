import { PythonTypeError, PythonValueError, UnsupportedError } from "../jinja_errors.ts";
import { formatDouble, formatShortest, pad } from "./number_format.ts";
import { intOf, intText, numberOf } from "./numbers.ts";
import type { Run } from "../run.ts";
import { charsOf, escapeHtml, reprOf, strOf } from "./text.ts";
import { type Args, Dict, Float, Markup, stringOf, typeName, Undefined, type Value } from "./values.ts";

/** Lookup by which the fields of a format read their values, such as `{0.name[key]}`. */
export interface FieldLookup {
  attribute(object: Value, name: string): Value;
  item(object: Value, index: Value): Value;
}

interface Options {
  readonly run: Run;
  readonly lookup: FieldLookup;
  /** Escapes what is put into the text. */
  readonly isSafe: boolean;
}

/** Most levels of formats inside formats. */
const MAX_NESTING = 2;

/** Calls the method `format` or `format_map` of a string. */
export function callFormat(
  value: string | Markup,
  name: "format" | "format_map",
  { args, run, lookup }: { args: Args; run: Run; lookup: FieldLookup },
): Value {
  const isSafe = value instanceof Markup;
  const formatter = new BraceFormatter(name === "format" ? args : mappingArguments(args), {
    run,
    lookup,
    isSafe,
  });
  const text = formatter.format(isSafe ? value.text : value, MAX_NESTING);
  run.grow(text.length);
  return isSafe ? new Markup(text) : text;
}

function mappingArguments({ positional, keywords }: Args): Args {
  const [mapping] = positional;
  if (positional.length !== 1 || keywords.size > 0 || !(mapping instanceof Dict)) {
    throw new PythonTypeError("format_map() must have one argument, a mapping");
  }
  return {
    positional: [],
    keywords: new Map(mapping.entries().map(([key, item]) => [stringOf(key) ?? "", item])),
  };
}

const FIELD = /^([^.[!:]*)((?:\.[^.[!:]+|\[[^\]]+\])*)(?:!([^:]*))?(?::([^]*))?$/;

class BraceFormatter {
  #next = 0;
  #numbering: "automatic" | "manual" | undefined;

  constructor(readonly args: Args, readonly options: Options) {}

  format(format: string, nesting: number): string {
    if (nesting < 0) throw new PythonValueError("a format is nested too deep");
    let text = "";
    for (let at = 0; at < format.length; at++) {
      const char = format[at] as string;
      if (char !== "{" && char !== "}") {
        text += char;
      } else if (format[at + 1] === char) {
        text += char;
        at++;
      } else {
        if (char === "}") throw new PythonValueError("a format has a '}' without a '{'");
        const end = findEnd(format, at);
        text += this.#field(format.slice(at + 1, end), nesting);
        at = end;
      }
    }
    return text;
  }

  #field(field: string, nesting: number): string {
    const [, first = "", path = "", conversion, specifier = ""] = FIELD.exec(field) ?? [];
    if (!FIELD.test(field)) {
      throw new PythonValueError(`a format has a field that cannot be read: '${field}'`);
    }
    const { run, isSafe, lookup } = this.options;
    let value = this.#argument(first);
    for (const { 1: attribute, 2: index } of path.matchAll(/\.([^.[]+)|\[([^\]]+)\]/g)) {
      if (attribute !== undefined) value = lookup.attribute(value, attribute);
      else value = lookup.item(value, /^\d+$/.test(index ?? "") ? Number(index) : index ?? "");
    }
    if (conversion === "r") value = reprOf(value, run);
    else if (conversion === "s") value = strOf(value, run);
    else if (conversion !== undefined) {
      throw new PythonValueError(`a format has an unknown conversion: '!${conversion}'`);
    }
    const formatted = formatValue(value, this.format(specifier, nesting - 1), run);
    return isSafe ? escapeHtml(formatted, run).text : formatted;
  }

  #argument(name: string): Value {
    if (name === "" || /^\d+$/.test(name)) {
      const numbering = name === "" ? "automatic" : "manual";
      if ((this.#numbering ??= numbering) !== numbering) {
        throw new PythonValueError("the fields of a format must be numbered all or none");
      }
      const value = this.args.positional[name === "" ? this.#next++ : Number(name)];
      if (value === undefined) throw new PythonValueError("a format has more fields than arguments");
      return value;
    }
    const value = this.args.keywords.get(name);
    if (value === undefined) throw new PythonValueError(`a format names '${name}', which is missing`);
    return value;
  }
}

/** Returns the position of the `}` that ends a field. */
function findEnd(format: string, start: number): number {
  let depth = 0;
  for (let at = start; at < format.length; at++) {
    if (format[at] === "{") depth++;
    else if (format[at] === "}" && --depth === 0) return at;
  }
  throw new PythonValueError("a format has a '{' without a '}'");
}

const SPECIFIER = /^(?:([^])?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/u;

/** Formats a value as Python's `format(value, specifier)`. */
export function formatValue(value: Value, specifier: string, run: Run): string {
  if (specifier === "") return strOf(value, run);
  const match = SPECIFIER.exec(specifier);
  if (match === null) throw new PythonValueError(`a format is not valid: '${specifier}'`);
  const [, filler, alignment, sign = "-", z, alternate, zero, width = "0", grouping, precision, kind] = match;
  if (z !== undefined) throw new UnsupportedError("the format 'z' is not supported");
  const align = alignment ?? (zero === undefined ? undefined : "=");
  const fill = filler ?? (zero === undefined ? " " : "0");
  const layout = { fill, align, width: Number(width), run };
  const text = stringOf(value);
  if (text !== undefined) {
    if (align === "=" && alignment !== undefined) throw new PythonValueError("'=' must not align a string");
    if (
      (kind ?? "s") !== "s" || match[3] !== undefined || grouping !== undefined || alternate !== undefined
    ) {
      throw new PythonValueError(`the format '${specifier}' is not for strings`);
    }
    const cut = precision === undefined ? text : charsOf(text).slice(0, Number(precision)).join("");
    return lay("", cut, { ...layout, align: align === "=" || align === undefined ? "<" : align });
  }
  const number = typeof value === "boolean" && kind === undefined ? undefined : numberOf(value);
  if (number === undefined) {
    if (value instanceof Undefined || typeof value !== "boolean") {
      throw new PythonTypeError(`the format '${specifier}' is not for ${typeName(value)}`);
    }
    return formatValue(value ? 1 : 0, specifier, run);
  }
  const isNegative = number < 0 || Object.is(number, -0);
  const places = precision === undefined ? undefined : Number(precision);
  const options = { kind, places, alternate: alternate !== undefined };
  const body = value instanceof Float || "eEfFgG%".includes(kind ?? "?")
    ? doubleBody(number, options)
    : integerBody(intOf(value) as number | bigint, options);
  const prefix = value instanceof Float ? "" : integerPrefix(kind, alternate !== undefined);
  const grouped = grouping === undefined ? body : group(body, grouping, kind);
  const head = (isNegative ? "-" : sign === "-" ? "" : sign) + prefix;
  if (grouping !== undefined && fill === "0" && align === "=") {
    throw new UnsupportedError("a format must not fill groups of digits with zeros");
  }
  return lay(head, grouped, { ...layout, align: align ?? ">" });
}

interface NumberOptions {
  readonly kind: string | undefined;
  readonly places: number | undefined;
  readonly alternate: boolean;
}

function doubleBody(value: number, { kind, places, alternate }: NumberOptions): string {
  const size = Math.abs(value);
  if (kind === undefined) return formatShortest(size, places);
  if (kind === "%") return `${formatDouble(size * 100, { kind: "f", precision: places ?? 6, alternate })}%`;
  if (!"eEfFgG".includes(kind)) throw new PythonValueError(`the format '${kind}' is not for floats`);
  return formatDouble(size, { kind, precision: places ?? 6, alternate });
}

function integerBody(value: number | bigint, { kind = "d", places }: NumberOptions): string {
  if (places !== undefined) throw new PythonValueError("a precision is not for integers");
  const bases: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16, d: 10, n: 10 };
  const base = bases[kind];
  if (kind === "c") throw new UnsupportedError("the format 'c' is not supported");
  if (base === undefined) throw new PythonValueError(`the format '${kind}' is not for integers`);
  const digits = (base === 10 ? intText(value) : value.toString(base)).replace("-", "");
  return kind === "X" ? digits.toUpperCase() : digits;
}

function integerPrefix(kind: string | undefined, alternate: boolean): string {
  return alternate && "boxX".includes(kind ?? "?") ? `0${kind}` : "";
}

function group(body: string, separator: string, kind: string | undefined): string {
  const [, whole = "", rest = ""] = /^([\da-fA-F]+)([^]*)$/.exec(body) ?? [undefined, "", body];
  const isTernary = kind === undefined || "deEfFgGn%".includes(kind);
  if (separator === "," && !isTernary) throw new PythonValueError(`',' must not be used with '${kind}'`);
  return whole.replace(isTernary ? /\B(?=(?:\d{3})+$)/g : /\B(?=(?:[\da-fA-F]{4})+$)/g, separator) + rest;
}

function lay(
  head: string,
  body: string,
  { fill, align, width, run }: { fill: string; align: string; width: number; run: Run },
): string {
  if (align === "=") {
    return head + pad(body, { width: width - head.length, fill, align: ">", run });
  }
  const text = head + body;
  return pad(text, { width, fill, align: align as "<" | ">" | "^", run });
}
