import { pythonStr } from "../../../tools/python_repr.ts";

/** Values that a template can use, by name. */
export type TemplateValues = Readonly<Record<string, unknown>>;

/** Text and a position in the text. */
interface Position {
  readonly text: string;
  readonly at: number;
}

/**
 * Fills a template as Python's `str.format` does: `{name}`, `{name.key}`, `{name[0]}`, `{name!r}`, `{name:>8.2f}`,
 * and `{{` and `}}` for braces. Values are formatted as in Python: `True`, `None`, `['a']`.
 *
 * @throws {SyntaxError} if a name is unknown, or a brace or a format is invalid.
 */
export function formatTemplate(template: string, values: TemplateValues): string {
  let filled = "";
  for (let at = 0; at < template.length;) {
    const brace = template.slice(at).search(/[{}]/);
    if (brace === -1) return filled + template.slice(at);
    filled += template.slice(at, at + brace);
    at += brace;
    const char = template[at] ?? "";
    if (template[at + 1] === char) {
      filled += char;
      at += 2;
      continue;
    }
    if (char === "}") throw fault(template, at, "a '}' must be written '}}'");
    const field = fieldAt({ text: template, at: at + 1 });
    filled += fieldText(field.text, values);
    at = field.at;
  }
  return filled;
}

function fieldAt({ text, at }: Position): Position {
  const end = text.slice(at).search(/[{}]/);
  if (end === -1) throw fault(text, at - 1, "a '{' must be written '{{', or closed");
  if (text[at + end] === "{") throw fault(text, at + end, "a field must hold no other");
  return { text: text.slice(at, at + end), at: at + end + 1 };
}

function fieldText(field: string, values: TemplateValues): string {
  const parts = /^([^!:]*)(?:!([^:]*))?(?::([\s\S]*))?$/.exec(field);
  const [, name = "", conversion, spec = ""] = parts ?? [];
  if (conversion !== undefined && !/^[rsa]$/.test(conversion)) {
    throw new SyntaxError(`Cannot fill template as the conversion in '{${field}}' must be one of !r, !s, !a`);
  }
  return formatValue(valueOf(name, values), { field, spec, conversion });
}

function valueOf(name: string, values: TemplateValues): unknown {
  const [, first = "", rest = ""] = /^([^.[]*)([\s\S]*)$/.exec(name) ?? [];
  let value = member(values, first, name);
  let at = 0;
  for (const step of rest.matchAll(/\.([^.[]+)|\[([^\]]+)\]/gy)) {
    value = member(value, step[1] ?? step[2] ?? "", name);
    at += step[0].length;
  }
  if (at === rest.length) return value;
  throw new SyntaxError(
    `Cannot fill template as '{${name}}' must be a name, with '.key' or '[key]' behind it`,
  );
}

function member(owner: unknown, key: string, name: string): unknown {
  if (typeof owner === "object" && owner !== null && Object.hasOwn(owner, key)) {
    return (owner as Record<string, unknown>)[key];
  }
  const keys = typeof owner === "object" && owner !== null ? Object.keys(owner).toSorted() : [];
  throw new SyntaxError(
    `Cannot fill template as '{${name}}' must name a known value: there is no '${key}', only ${
      keys.join(", ") || "nothing"
    }`,
  );
}

function fault(template: string, at: number, reason: string): SyntaxError {
  const line = template.slice(0, at).split("\n").length;
  return new SyntaxError(`Cannot fill template as ${reason}: see line ${line} of it`);
}

/** Options of {@linkcode formatValue}. */
export interface ValueFormat {
  /** Field as written in the template, for messages. */
  readonly field: string;
  /** Format spec: the text after the field's colon. */
  readonly spec: string;
  /** Conversion: the character after the field's `!`. */
  readonly conversion?: string | undefined;
}

/** Parsed format spec of Python's mini-language. */
interface Spec {
  readonly fill: string;
  readonly align?: string | undefined;
  readonly sign: string;
  readonly alternate: boolean;
  readonly width: number;
  readonly group: string;
  readonly precision?: number | undefined;
  readonly type: string;
}

const SPEC = /^(?:([\s\S])?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([bcdeEfFgGnosxX%])?$/u;
/** Maximum width, so that a padText text fits into memory. */
const MAX_WIDTH = 100_000;

/** Formats a value as Python's `format` does. */
function formatValue(value: unknown, { field, spec: text, conversion }: ValueFormat): string {
  const converted = conversion === undefined ? value : convertValue(value, conversion);
  if (text === "") return pythonStr(converted);
  const spec = parseSpec(text, field);
  if (typeof converted === "number") return padText(numberText(converted, spec, field), spec, ">");
  const isNumeric = spec.type !== "" && spec.type !== "s";
  if (isNumeric || spec.align === "=" || spec.sign !== "" || spec.group !== "") {
    throw new SyntaxError(
      `Cannot fill template as '{${field}}' must be a number for its format: found a text`,
    );
  }
  return padText([...pythonStr(converted)].slice(0, spec.precision).join(""), spec, "<");
}

function convertValue(value: unknown, conversion: string): string {
  if (conversion === "s") return pythonStr(value);
  const repr = pythonStr([value]).slice(1, -1);
  return conversion === "r" ? repr : repr.replaceAll(/[^\0-\x7f]/gu, escapeCharacter);
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code <= 0xffff
    ? `\\u${code.toString(16).padStart(4, "0")}`
    : `\\U${code.toString(16).padStart(8, "0")}`;
}

function parseSpec(text: string, field: string): Spec {
  const found = SPEC.exec(text);
  const width = Number(found?.[6] ?? 0);
  const precision = found?.[8] === undefined ? undefined : Number(found[8]);
  if (found === null || width > MAX_WIDTH || (precision ?? 0) > 100) {
    throw new SyntaxError(`Cannot fill template as '{${field}}' must have a valid Python format`);
  }
  const [, fill, align, sign = "", alternate, zero, , group = "", , type = ""] = found;
  return {
    fill: fill ?? (zero ? "0" : " "),
    align: align ?? (zero ? "=" : undefined),
    sign,
    width,
    group,
    precision,
    alternate: alternate !== undefined,
    type,
  };
}

function numberText(value: number, spec: Spec, field: string): string {
  const sign = value < 0 || Object.is(value, -0) ? "-" : spec.sign === "-" ? "" : spec.sign;
  return sign + groupDigits(magnitude(Math.abs(value), spec, field), spec);
}

function magnitude(value: number, { type, precision, alternate }: Spec, field: string): string {
  const radix = { b: 2, o: 8, x: 16, X: 16, d: 10, n: 10, c: 10 }[type];
  if (radix !== undefined) {
    if (!Number.isInteger(value)) {
      throw new SyntaxError(
        `Cannot fill template as '{${field}}' must be a whole number for its format: found ${value}`,
      );
    }
    if (type === "c") return String.fromCodePoint(value);
    const digits = value.toString(radix);
    const prefixed = alternate && radix !== 10 ? `0${type.toLowerCase()}${digits}` : digits;
    return type === "X" ? prefixed.toUpperCase() : prefixed;
  }
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : "inf";
  if (type === "%") return `${(value * 100).toFixed(precision ?? 6)}%`;
  if (type.toLowerCase() === "f") return value.toFixed(precision ?? 6);
  if (type.toLowerCase() === "e") return applyCase(padExponent(value.toExponential(precision ?? 6)), type);
  if (type === "" && precision === undefined) return pythonStr(value);
  return applyCase(general(value, Math.max(1, precision ?? 6)), type);
}

/** Returns the shorter of fixed and scientific notation, without trailing zeros. */
function general(value: number, digits: number): string {
  const scientific = value.toExponential(digits - 1);
  const power = Number(scientific.slice(scientific.indexOf("e") + 1));
  if (power >= -4 && power < digits) return trimZeros(value.toFixed(digits - 1 - power));
  const [mantissa = "", tail = ""] = scientific.split("e");
  return padExponent(`${trimZeros(mantissa)}e${tail}`);
}

function trimZeros(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

function padExponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

function applyCase(text: string, type: string): string {
  return /[EG]/.test(type) ? text.toUpperCase() : text;
}

function groupDigits(digits: string, { group }: Spec): string {
  if (group === "") return digits;
  const [, integer = "", rest = ""] = /^(\d*)([\s\S]*)$/.exec(digits) ?? [];
  return integer.replaceAll(/\B(?=(\d{3})+$)/g, group) + rest;
}

function padText(text: string, { fill, align, width }: Spec, defaultAlign: "<" | ">"): string {
  const missing = width - [...text].length;
  if (missing <= 0) return text;
  switch (align ?? defaultAlign) {
    case "<":
      return text + fill.repeat(missing);
    case "^":
      return fill.repeat(Math.floor(missing / 2)) + text + fill.repeat(Math.ceil(missing / 2));
    case "=":
      return /^[-+ ]/.test(text)
        ? text[0] + fill.repeat(missing) + text.slice(1)
        : fill.repeat(missing) + text;
    default:
      return fill.repeat(missing) + text;
  }
}
