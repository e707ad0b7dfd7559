import { normalDecimal } from "../numbers/decimal.ts";

const NUMBER =
  /(?<![\w.])[-+\u2212]?\$?[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?/gi;
const STATEMENT = /####|\banswer is\b/gi;
/** Tolerance for rounding errors, relative to the number, and the absolute maximum. */
const ROUNDING = 1e-12;
const MAX_ROUNDING = 1e-6;

/** Returns the numbers of a text in plain notation: without `$`, `,`, `+` and superfluous zeros. */
export function findNumbers(text: string): string[] {
  return Array.from(text.matchAll(NUMBER), ([number]) => {
    const plain = number.replace(/[$,+]/g, "").replaceAll("\u2212", "-").toLowerCase();
    const short = plain.replace(/\.0+$/, "").replace(/^(-?)0+(?=\d)/, "$1");
    return short === "-0" ? "0" : short;
  });
}

/** Returns the first number after the text's last `####` or `answer is`. */
export function findStatedNumber(text: string): string | undefined {
  const statement = [...text.matchAll(STATEMENT)].at(-1);
  return statement && findNumbers(text.slice(statement.index + statement[0].length))[0];
}

/** Returns true if two numbers in plain notation are equal, up to rounding errors. */
export function isEqualNumber(actual: string, expected: string): boolean {
  const [first, second] = [normalDecimal(actual), normalDecimal(expected)];
  if (first !== undefined && first === second) return true;
  const isWhole = /^-?\d+$/;
  if (isWhole.test(actual) && isWhole.test(expected)) return false;
  const [value, truth] = [Number(actual), Number(expected)];
  if (!Number.isFinite(value) || !Number.isFinite(truth)) return false;
  return Math.abs(value - truth) <= Math.min(ROUNDING * Math.abs(truth), MAX_ROUNDING);
}
