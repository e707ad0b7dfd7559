import { type GnuCommand, unicodeText, UsageError } from "./command.ts";
import { formatPrintf } from "./printf.ts";

const MAX_LINES = 50_000_000;

/** A number as decimal digits, so that sums are exact. */
interface Decimal {
  readonly digits: bigint;
  /** Digits behind the point. */
  readonly places: number;
  /** Characters of the number as given, which `-w` counts. */
  readonly width: number;
}

function fail(message: string, hasHint = true): never {
  throw new UsageError(message, { hasHint });
}

function readDecimal(text: string): Decimal {
  const [, sign = "", whole = "", fraction = "", exponent] =
    /^[ \t]*([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? [];
  if (whole + fraction === "" || Math.abs(Number(exponent ?? 0)) > 300) {
    const kind = /^nan/i.test(text) ? "invalid 'not-a-number' argument" : "invalid floating point argument";
    fail(`${kind}: '${unicodeText(text)}'`);
  }
  const shift = Number(exponent ?? 0);
  const places = Math.max(0, fraction.length - shift);
  const size = BigInt(whole + fraction) * 10n ** BigInt(places - fraction.length + shift);
  const wholeWidth = exponent === undefined ? whole.length || 1 : String(size / 10n ** BigInt(places)).length;
  return {
    digits: sign === "-" ? -size : size,
    places,
    width: (sign === "-" ? 1 : 0) + wholeWidth + (places > 0 ? places + 1 : 0),
  };
}

function scaled({ digits, places }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - places);
}

function textOf(value: bigint, places: number, width: number): string {
  const sign = value < 0n ? "-" : "";
  const size = (value < 0n ? -value : value).toString().padStart(places + 1, "0");
  const digits = places === 0 ? size : `${size.slice(0, -places)}.${size.slice(-places)}`;
  return sign + digits.padStart(width - sign.length, "0");
}

/** `seq` of GNU coreutils 9.1. */
export const seq: GnuCommand = (args, context) => {
  const { words, format, separator, isEqualWidth } = readArguments(args);
  if (words.length === 0) fail("missing operand");
  if (words.length > 3) fail(`extra operand '${unicodeText(words[3] ?? "")}'`);
  if (format !== undefined && isEqualWidth) {
    fail("format string may not be specified when printing equal width strings");
  }
  const directives = (format ?? "%g").replaceAll("%%", "").match(/%/g)?.length ?? 0;
  if (format !== undefined && directives === 0) fail(`format '${unicodeText(format)}' has no % directive`);
  if (directives > 1) fail(`format '${unicodeText(format ?? "")}' has too many % directives`);
  if (format !== undefined && !/%[-+ #0']*\d*(?:\.\d*)?[efgaEFGA]/.test(format.replaceAll("%%", ""))) {
    fail(
      `format '${unicodeText(format)}' has unknown %${
        /%[-+ #0']*\d*(?:\.\d*)?(.?)/.exec(format)?.[1]
      } directive`,
    );
  }
  const numbers = words.map(readDecimal);
  const one: Decimal = { digits: 1n, places: 0, width: 1 };
  const [first = one, step = one, last = one] = numbers.length === 1
    ? [one, one, ...numbers]
    : numbers.length === 2
    ? [numbers[0], one, numbers[1]]
    : numbers;
  if (step.digits === 0n) fail(`invalid Zero increment value: '${unicodeText(words[1] ?? "")}'`);
  const places = Math.max(first.places, step.places);
  const scale = Math.max(places, last.places);
  const [start, increment, end] = [scaled(first, scale), scaled(step, scale), scaled(last, scale)];
  const count = increment > 0n ? (end - start) / increment : (start - end) / -increment;
  if (increment > 0n ? start > end : start < end) return 0;
  if (count >= BigInt(MAX_LINES)) {
    fail(`more than ${MAX_LINES} numbers are not available in the sandbox`, false);
  }
  const drop = 10n ** BigInt(scale - places);
  const width = isEqualWidth ? equalWidth(first, last, places) : 0;
  const lines: string[] = [];
  for (let at = 0n; at <= count; at++) {
    if ((at & 4095n) === 0n) context.poll();
    const value = start + increment * at;
    const text = textOf(value / drop, places, width);
    lines.push(format === undefined ? text : formatPrintf(format, [text], context).text);
  }
  context.print(`${lines.join(separator)}\n`);
  return 0;
};

function equalWidth(first: Decimal, last: Decimal, places: number): number {
  const extended = ({ width, places: own }: Decimal) =>
    width - (own > 0 ? own + 1 : 0) + (places > 0 ? places + 1 : 0);
  return Math.max(extended(first), extended(last));
}

function readArguments(
  args: readonly string[],
): { words: string[]; format: string | undefined; separator: string; isEqualWidth: boolean } {
  let format: string | undefined;
  let separator = "\n";
  let isEqualWidth = false;
  const rest = [...args];
  while (rest.length > 0) {
    const word = rest[0] ?? "";
    if (!word.startsWith("-") || word === "-" || /^-[.\d]/.test(word)) break;
    rest.shift();
    if (word === "--") break;
    const [, name = "", value] = /^--(format|separator)(?:=([^]*))?$/.exec(word) ??
      /^-([fs])([^]+)?$/.exec(word) ?? [];
    if (name !== "") {
      const text = value ?? rest.shift();
      if (text === undefined) fail(`option requires an argument -- '${name.charAt(0)}'`);
      if (name.startsWith("f")) format = text;
      else separator = text;
    } else if (word === "-w" || word === "--equal-width") isEqualWidth = true;
    else if (word.startsWith("--")) fail(`unrecognized option '${unicodeText(word)}'`);
    else if (/^-w[sf]/.test(word)) {
      isEqualWidth = true;
      rest.unshift(`-${word.slice(2)}`);
    } else fail(`invalid option -- '${word.charAt(1)}'`);
  }
  return { words: rest, format, separator, isEqualWidth };
}
