import { normalDecimal } from "../../numbers/decimal.ts";

/** Ways to compare the output of a program with the expected output. */
export const COMPARISONS = ["lines", "livecodebench", "apps"] as const;

/**
 * How the output of a program is compared with the expected output.
 *
 * - `lines`: equal lines. White space at the ends of lines, and at both ends of the text, does not count.
 * - `livecodebench`: as `grade_stdio` of LiveCodeBench. Lines are compared without white space at both ends. Two lines of
 *   numbers are equal if their numbers are, exactly: `1.50 2` equals `1.5 2.0`.
 * - `apps`: near numbers are equal, as in the `testing_util` of APPS and TACO, and blank lines do not count. If each line
 *   is a single number, numbers are near within a relative 1e-5 and an absolute 1e-8; if all words are numbers, also if
 *   they are equal when rounded to three places. APPS then also ignores the order of lines and words, which pays wrong
 *   programs: here the order counts.
 */
export type OutputComparison = (typeof COMPARISONS)[number];

/** Returns whether the output of a program is the expected output. */
export function isSameOutput(output: string, expected: string, comparison: OutputComparison): boolean {
  if (comparison === "apps") return isSameInApps(filledLinesOf(output), filledLinesOf(expected));
  const trimLine = (line: string) => comparison === "lines" ? line.trimEnd() : line.trim();
  const isSame = comparison === "lines" ? () => false : hasSameDecimals;
  return hasEqualItems(
    linesOf(output).map(trimLine),
    linesOf(expected).map(trimLine),
    (line, wanted) => line === wanted || isSame(line, wanted),
  );
}

function linesOf(text: string): string[] {
  return text.trim().split(/\r\n|[\n\r]/);
}

function filledLinesOf(text: string): string[] {
  return linesOf(text).map((line) => line.trim()).filter((line) => line !== "");
}

function wordsOf(line: string): string[] {
  return line.split(/\s+/);
}

function hasEqualItems<Item>(
  items: readonly Item[],
  wanted: readonly Item[],
  isEqual: (item: Item, wanted: Item) => boolean,
): boolean {
  return items.length === wanted.length &&
    wanted.every((wantedItem, index) => isEqual(items[index] ?? wantedItem, wantedItem));
}

function hasSameDecimals(line: string, wanted: string): boolean {
  return hasEqualItems(wordsOf(line), wordsOf(wanted), (word, wantedWord) => {
    const decimal = decimalOf(word);
    return decimal !== undefined && decimal === decimalOf(wantedWord);
  });
}

const NUMBER = /^([-+]?)(?:(\d(?:_?\d)*)?(?:\.((?:\d(?:_?\d)*)?))?(?:e[-+]?\d(?:_?\d)*)?|(inf(?:inity)?))$/i;
/** Maximum number of digits of a number that is compared by value. Longer numbers must be written alike. */
const MAX_DIGITS = 10_000;

/** Returns a text that only equal numbers share, as `decimal.Decimal` compares them. Not a number equals nothing. */
function decimalOf(word: string): string | undefined {
  const [, sign, whole = "", fraction = "", infinity] = NUMBER.exec(word) ?? [];
  if (sign === undefined || word.length > MAX_DIGITS) return undefined;
  if (infinity !== undefined) return sign === "-" ? "-inf" : "inf";
  return whole + fraction === "" ? undefined : normalDecimal(word.replaceAll("_", "").replace("+", ""));
}

const RELATIVE = 1e-5;
const ABSOLUTE = 1e-8;

function isSameInApps(lines: readonly string[], wanted: readonly string[]): boolean {
  const isSame = (isSameWord: (word: string, wantedWord: string) => boolean) =>
    hasEqualItems(
      lines,
      wanted,
      (line, wantedLine) => hasEqualItems(wordsOf(line), wordsOf(wantedLine), isSameWord),
    );
  return isSame((word, wantedWord) => word === wantedWord) ||
    hasEqualItems(lines, wanted, (line, wantedLine) => isNear(numberOf(line), numberOf(wantedLine))) ||
    isSame((word, wantedWord) => isSameRounded(numberOf(word), numberOf(wantedWord)));
}

/** Compares as `numpy.allclose` does. */
function isNear(found: number, wanted: number): boolean {
  if (found === wanted) return true;
  return Number.isFinite(wanted) && Math.abs(found - wanted) <= ABSOLUTE + RELATIVE * Math.abs(wanted);
}

function isSameRounded(found: number, wanted: number): boolean {
  return roundToThousandths(found) === roundToThousandths(wanted);
}

/** Bound from which on each number is whole, so that nothing is rounded. */
const WHOLE = 2 ** 52;

/** Rounds to three places as Python's `round(value, 3)` does: by the exact binary value, and a tie to the even digit. */
function roundToThousandths(value: number): number {
  if (!(Math.abs(value) < WHOLE)) return value;
  const exact = Math.abs(value).toFixed(100); // further digits decide no tie
  const [whole = "", fraction = ""] = exact.split(".");
  const kept = BigInt(whole + fraction.slice(0, 3));
  const rest = fraction.slice(3);
  const isTie = /^50*$/.test(rest);
  const isUp = isTie ? kept % 2n === 1n : rest >= "5";
  return Math.sign(value) * Number(`${isUp ? kept + 1n : kept}e-3`);
}

/** Returns the value of a number in Python's form; NaN for any other word. */
function numberOf(word: string): number {
  if (decimalOf(word) === undefined) return NaN;
  return Number(word.replaceAll("_", "").replace(/^([-+]?)inf(inity)?$/i, "$1Infinity"));
}
