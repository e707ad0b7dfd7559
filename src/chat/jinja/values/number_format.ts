import { fixedDigits, scientificDigits } from "./decimals.ts";
import { PythonValueError } from "../jinja_errors.ts";
import { floatText } from "./numbers.ts";
import type { Run } from "../run.ts";

/** Most digits after the point. */
const MAX_PRECISION = 10_000;

/** Format of a float. */
export interface FloatFormat {
  /** `e`, `f` or `g`, also in capitals. */
  readonly kind: string;
  readonly precision: number;
  /** Keeps the point and the zeros at the end. */
  readonly alternate: boolean;
}

/** Writes a float without sign, as Python's `%e`, `%f` and `%g` do. */
export function formatDouble(value: number, { kind, precision, alternate }: FloatFormat): string {
  if (precision > MAX_PRECISION) throw new PythonValueError(`the precision must be at most ${MAX_PRECISION}`);
  const lower = kind.toLowerCase();
  const isUpper = kind !== lower;
  let text: string;
  if (!Number.isFinite(value)) text = Number.isNaN(value) ? "nan" : "inf";
  else if (lower === "f") text = withPoint(fixedDigits(value, precision), alternate);
  else if (lower === "e") text = exponential(value, precision, alternate);
  else text = general(value, { precision: Math.max(1, precision), alternate });
  return isUpper ? text.toUpperCase() : text;
}

function withPoint(text: string, alternate: boolean): string {
  return alternate && !text.includes(".") ? `${text}.` : text;
}

function exponential(value: number, places: number, alternate: boolean): string {
  const { digits, exponent } = scientificDigits(value, places);
  return `${withPoint(mantissa(digits), alternate)}${exponentSuffix(exponent)}`;
}

function mantissa(digits: string): string {
  return digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`;
}

function exponentSuffix(exponent: number): string {
  return `e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function general(value: number, { precision, alternate }: { precision: number; alternate: boolean }): string {
  const { digits, exponent } = scientificDigits(value, precision - 1);
  if (exponent < -4 || exponent >= precision) {
    return `${withPoint(alternate ? mantissa(digits) : trimZeros(mantissa(digits)), alternate)}${
      exponentSuffix(exponent)
    }`;
  }
  const text = fixedDigits(value, precision - 1 - exponent);
  return withPoint(alternate ? text : trimZeros(text), alternate);
}

function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Writes a float without sign as `format` does without a type: as `repr`, or with that many digits. */
export function formatShortest(value: number, precision: number | undefined): string {
  const size = Math.abs(value);
  if (precision === undefined || !Number.isFinite(value)) return floatText(size);
  const { exponent } = scientificDigits(size, Math.max(1, precision) - 1);
  const text = formatDouble(size, { kind: "g", precision: Math.max(1, precision), alternate: false });
  return /[.e]/.test(text)
    ? text
    : exponent < Math.max(1, precision) - 1 || precision > 1
    ? `${text}.0`
    : text;
}

/** Fills a text to a width. */
export function pad(
  text: string,
  { width, fill, align, run }: { width: number; fill: string; align: "<" | ">" | "^"; run: Run },
): string {
  const missing = width - [...text].length;
  if (missing <= 0) return text;
  run.grow(missing);
  if (align === "<") return text + fill.repeat(missing);
  if (align === ">") return fill.repeat(missing) + text;
  const before = Math.floor(missing / 2);
  return fill.repeat(before) + text + fill.repeat(missing - before);
}
