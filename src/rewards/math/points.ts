import { type Exact, exactOf, invert, multiply, negate } from "./exact.ts";

/** Values of variables at which expressions are compared. */
export type Point = (variable: string) => Exact;

/** Range of the values of a point: integers from `from` to `to`, divided by `under`. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly under: number;
  readonly signs: "above" | "below" | "mixed";
}

const SMALL = { from: 29, to: 300, under: 97 };

/**
 * Mostly small numbers, where no term of a sum gets lost beside another one and few powers overflow. Some
 * are negative, some below 1. Expressions that only have a value for large numbers or for integers get such
 * points, too.
 */
const RANGES: readonly Range[] = [
  ...repeat(5, { ...SMALL, signs: "above" }),
  ...repeat(1, { ...SMALL, signs: "below" }),
  ...repeat(6, { ...SMALL, signs: "mixed" }),
  ...repeat(4, { from: 5, to: 92, under: 97, signs: "mixed" }),
  ...repeat(2, { from: 300, to: 4_000, under: 97, signs: "above" }),
  ...repeat(3, { from: 10_000, to: 90_000, under: 97, signs: "above" }),
  ...repeat(8, { from: 1, to: 12, under: 1, signs: "above" }),
];

/** Points at which each variable has its own value, independent of other points. */
export const POINTS: readonly Point[] = RANGES.map((range, at) => (variable) =>
  valueOf(range, hash(`${at} ${variable}`))
);

function valueOf({ from, to, under, signs }: Range, bits: number): Exact {
  const over = from + (bits >>> 1) % (to - from + 1);
  const value = multiply(exactOf(String(over)), invert(exactOf(String(under))));
  return signs === "below" || (signs === "mixed" && bits % 2 === 1) ? negate(value) : value;
}

/** Hashes a text to 32 bits (FNV-1a, then the last steps of MurmurHash3). */
function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (const letter of text) bits = Math.imul(bits ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

function repeat(count: number, range: Range): Range[] {
  return Array.from({ length: count }, () => range);
}
