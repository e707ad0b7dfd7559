import { type Exact, exactOf, inverse, negate, times } from "./exact.ts";

/** Where expressions are compared: a value for each variable. */
export type Point = (variable: string) => Exact;

/** What the values of a point are: from one whole number to another, over a third. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly under: number;
  readonly signs: "above" | "below" | "mixed";
}

const SMALL = { from: 29, to: 300, under: 97 };

/**
 * Small numbers, where no term of a sum is lost beside another one, and few powers are too large; some below 0,
 * some below 1; then what only has a value for large or for whole numbers finds it.
 */
const RANGES: readonly Range[] = [
  ...repeated(5, { ...SMALL, signs: "above" }),
  ...repeated(1, { ...SMALL, signs: "below" }),
  ...repeated(6, { ...SMALL, signs: "mixed" }),
  ...repeated(4, { from: 5, to: 92, under: 97, signs: "mixed" }),
  ...repeated(2, { from: 300, to: 4_000, under: 97, signs: "above" }),
  ...repeated(3, { from: 10_000, to: 90_000, under: 97, signs: "above" }),
  ...repeated(8, { from: 1, to: 12, under: 1, signs: "above" }),
];

/** Points at which each variable has a value of its own, which has nothing to do with those at other points. */
export const POINTS: readonly Point[] = RANGES.map((range, at) => (variable) =>
  valueOf(range, hashed(`${at} ${variable}`))
);

function valueOf({ from, to, under, signs }: Range, bits: number): Exact {
  const over = from + (bits >>> 1) % (to - from + 1);
  const value = times(exactOf(String(over)), inverse(exactOf(String(under))));
  return signs === "below" || (signs === "mixed" && bits % 2 === 1) ? negate(value) : value;
}

/** 32 bits of which each depends on all of a text (FNV-1a, then the last steps of MurmurHash3). */
function hashed(text: string): number {
  let bits = 0x811c9dc5;
  for (const letter of text) bits = Math.imul(bits ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

function repeated(count: number, range: Range): Range[] {
  return Array.from({ length: count }, () => range);
}
