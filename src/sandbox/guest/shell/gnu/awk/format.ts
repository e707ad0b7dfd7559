import { UsageError } from "../command.ts";
import { formatFloat, formatInteger } from "../printf.ts";
import { compareTexts, specialText, toNumber, toText, type UserText, type Value } from "./values.ts";

const DIRECTIVE = /%(?:(\d+)\$)?([-+ #0']*)(\*|\d+)?(?:\.(\*|-?\d*))?(?:[hlLjzt]*)([^])/gu;
const MAX_WIDTH = 1_000_000;

/**
 * Formats as awk's `printf` does.
 *
 * @throws {UsageError} if there are too few values.
 */
export function formatValues(
  format: string,
  values: readonly Value[],
  convert: (value: number) => string,
): string {
  let at = 0;
  const next = (position?: string): Value => {
    const index = position === undefined ? at++ : Number(position) - 1;
    if (index < values.length) return values[index];
    throw new UsageError(`fatal: not enough arguments to satisfy format string\n\t\`${format}'`, {
      exitCode: 2,
      hasHint: false,
    });
  };
  return format.replace(
    DIRECTIVE,
    (all, position: string | undefined, flagText: string, widthText = "0", precisionText, letter: string) => {
      if (letter === "%") return "%";
      if (!"diouxXeEfFgGaAcs".includes(letter)) return all;
      let flags = flagText.replaceAll("'", "");
      let width = widthText === "*" ? Math.trunc(toNumber(next())) : Number(widthText);
      if (width < 0) {
        flags += "-";
        width = -width;
      }
      const given = precisionText === undefined
        ? undefined
        : precisionText === "*"
        ? Math.trunc(toNumber(next()))
        : Number(precisionText || 0);
      const precision = given !== undefined && given < 0 ? undefined : given;
      if (Math.max(width, precision ?? 0) > MAX_WIDTH) {
        throw new UsageError(`fatal: a width over ${MAX_WIDTH} is not available in the sandbox`, {
          exitCode: 2,
          hasHint: false,
        });
      }
      const value = next(position);
      const pad = (text: string) => flags.includes("-") ? padEnd(text, width) : padStart(text, width);
      if (letter === "s") return pad(cut(toText(value, convert), precision));
      if (letter === "c") return pad(character(value));
      const number = toNumber(value);
      if (!Number.isFinite(number)) return pad(specialText(number));
      const directive = { flags, width, precision };
      if ("eEfFgGaA".includes(letter)) return formatFloat(number, letter, directive);
      return formatInteger(BigInt(Math.trunc(number)), letter, directive);
    },
  );
}

function character(value: Value): string {
  const isNumber = typeof value === "number" || typeof value === "object" && value.number !== undefined;
  if (!isNumber) return [...toText(value, String)][0] ?? "\0";
  const code = Math.trunc(toNumber(value));
  return code >= 0 && code <= 0x10ffff ? String.fromCodePoint(code) : String.fromCharCode(code & 255);
}

function cut(text: string, length: number | undefined): string {
  return length === undefined || text.length <= length ? text : [...text].slice(0, length).join("");
}

function missing(text: string, width: number): string {
  const length = text.length < width || /[\ud800-\udbff]/.test(text) ? [...text].length : text.length;
  return " ".repeat(Math.max(0, width - length));
}

function padStart(text: string, width: number): string {
  return missing(text, width) + text;
}

function padEnd(text: string, width: number): string {
  return text + missing(text, width);
}

/** Returns the function that converts a number by `CONVFMT` or `OFMT`. */
export function numberFormatter(format: string): (value: number) => string {
  return format === "%.6g"
    ? (value) => formatFloat(value, "g", SIX_DIGITS)
    : (value) => formatValues(format, [value], (number) => formatFloat(number, "g", SIX_DIGITS));
}

const SIX_DIGITS = { flags: "", width: 0, precision: 6 } as const;

/** Order of values of different types that `asort()` uses: numbers before texts. */
export function compareForSort(left: Value, right: Value): number {
  const [a, b] = [rank(left), rank(right)];
  if (a !== b) return a - b;
  return a === 0
    ? toNumber(left) - toNumber(right)
    : compareTexts(toText(left, String), toText(right, String));
}

function rank(value: Value | UserText): number {
  if (typeof value === "number" || value === undefined) return 0;
  return typeof value === "object" && value.number !== undefined ? 0 : 1;
}
