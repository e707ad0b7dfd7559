import { pythonStr } from "../../../tools/python_repr.ts";

/** How a value is to be written. */
export interface ValueFormat {
  /** The field as the template has it, for messages. */
  readonly field: string;
  /** What stands behind its colon. */
  readonly spec: string;
  /** What stands behind its `!`. */
  readonly conversion?: string | undefined;
}

/** A format as Python's mini-language has it. */
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
/** A text that is as wide as a template has it must still fit into memory. */
const MAX_WIDTH = 100_000;

/** A value as Python's `format` writes it. */
export function formatValue(value: unknown, { field, spec: text, conversion }: ValueFormat): string {
  const given = conversion === undefined ? value : converted(value, conversion);
  if (text === "") return pythonStr(given);
  const spec = parsedSpec(text, field);
  if (typeof given === "number") return padded(numberText(given, spec, field), spec, ">");
  const isNumeric = spec.type !== "" && spec.type !== "s";
  if (isNumeric || spec.align === "=" || spec.sign !== "" || spec.group !== "") {
    throw new SyntaxError(
      `Cannot fill template as '{${field}}' must be a number for its format: it is a text`,
    );
  }
  return padded([...pythonStr(given)].slice(0, spec.precision).join(""), spec, "<");
}

function converted(value: unknown, conversion: string): string {
  if (conversion === "s") return pythonStr(value);
  const repr = pythonStr([value]).slice(1, -1);
  return conversion === "r" ? repr : repr.replaceAll(/[^\0-\x7f]/gu, escaped);
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code <= 0xffff
    ? `\\u${code.toString(16).padStart(4, "0")}`
    : `\\U${code.toString(16).padStart(8, "0")}`;
}

function parsedSpec(text: string, field: string): Spec {
  const found = SPEC.exec(text);
  const width = Number(found?.[6] ?? 0);
  const precision = found?.[8] === undefined ? undefined : Number(found[8]);
  if (found === null || width > MAX_WIDTH || (precision ?? 0) > 100) {
    throw new SyntaxError(`Cannot fill template as '{${field}}' must have a format that Python knows`);
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
  return sign + grouped(magnitude(Math.abs(value), spec, field), spec);
}

function magnitude(value: number, { type, precision, alternate }: Spec, field: string): string {
  const radix = { b: 2, o: 8, x: 16, X: 16, d: 10, n: 10, c: 10 }[type];
  if (radix !== undefined) {
    if (!Number.isInteger(value)) {
      throw new SyntaxError(
        `Cannot fill template as '{${field}}' must be a whole number for its format: it is none`,
      );
    }
    if (type === "c") return String.fromCodePoint(value);
    const digits = value.toString(radix);
    const marked = alternate && radix !== 10 ? `0${type.toLowerCase()}${digits}` : digits;
    return type === "X" ? marked.toUpperCase() : marked;
  }
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : "inf";
  if (type === "%") return `${(value * 100).toFixed(precision ?? 6)}%`;
  if (type.toLowerCase() === "f") return value.toFixed(precision ?? 6);
  if (type.toLowerCase() === "e") return cased(exponent(value.toExponential(precision ?? 6)), type);
  if (type === "" && precision === undefined) return pythonStr(value);
  return cased(general(value, Math.max(1, precision ?? 6)), type);
}

/** The shorter of fixed and scientific, without zeros at the end. */
function general(value: number, digits: number): string {
  const scientific = value.toExponential(digits - 1);
  const power = Number(scientific.slice(scientific.indexOf("e") + 1));
  if (power >= -4 && power < digits) return trimmed(value.toFixed(digits - 1 - power));
  const [mantissa = "", tail = ""] = scientific.split("e");
  return exponent(`${trimmed(mantissa)}e${tail}`);
}

function trimmed(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

function exponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

function cased(text: string, type: string): string {
  return /[EG]/.test(type) ? text.toUpperCase() : text;
}

function grouped(digits: string, { group }: Spec): string {
  if (group === "") return digits;
  const [, whole = "", rest = ""] = /^(\d*)([\s\S]*)$/.exec(digits) ?? [];
  return whole.replaceAll(/\B(?=(\d{3})+$)/g, group) + rest;
}

function padded(text: string, { fill, align, width }: Spec, usual: "<" | ">"): string {
  const missing = width - [...text].length;
  if (missing <= 0) return text;
  switch (align ?? usual) {
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
