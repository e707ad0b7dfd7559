import { type AwkArray, compareTexts, encodeText, toNumber, toText, type Value } from "./values.ts";
import { compareForSort } from "./format.ts";

/** Orders of the elements of an array by the names of `PROCINFO["sorted_in"]`. */
const ORDERS: Readonly<Record<string, (array: AwkArray) => (left: string, right: string) => number>> = {
  ind_str: () => compareTexts,
  ind_num: () => compareNumbers,
  val_str: (array) => (left, right) => compareTexts(textOf(array.get(left)), textOf(array.get(right))),
  val_num: (array) => (left, right) =>
    toNumber(array.get(left)) - toNumber(array.get(right)) || compareNumbers(left, right),
  val_type: (array) => (left, right) => compareForSort(array.get(left), array.get(right)),
};

function textOf(value: Value): string {
  return toText(value, String);
}

function compareNumbers(left: string, right: string): number {
  return toNumber(left) - toNumber(right) || compareTexts(left, right);
}

/** Returns the keys of an array in the order of a loop: sorted by a name such as `@ind_num_asc`, or as gawk has them. */
export function orderOf(array: AwkArray, name: string): string[] {
  const [, kind = "", direction] = /^@(\w+?)_(asc|desc)$/.exec(name) ?? [];
  const order = ORDERS[kind]?.(array);
  if (!order) return unsorted(array.keys());
  const keys = array.keys().sort(order);
  return direction === "desc" ? keys.reverse() : keys;
}

const INTEGER = /^(?:-[1-9]\d*|0|[1-9]\d*)$/;
const MAX_INTEGER = 2 ** 31 - 1;

/**
 * The order that gawk 5.2 has without a name, as far as programs can see: texts by a hash table, then integers up to 0,
 * then those above 0 by their size. gawk mixes the integers of large arrays with gaps.
 */
function unsorted(keys: readonly string[]): string[] {
  const [texts, low, high]: [string[], string[], number[]] = [[], [], []];
  for (const key of keys) {
    if (!INTEGER.test(key) || Number(key) > MAX_INTEGER || Number(key) < -MAX_INTEGER) texts.push(key);
    else if (Number(key) > 0) high.push(Number(key));
    else low.push(key);
  }
  const rising = high.every((key, index) => index === 0 || key > (high[index - 1] ?? 0));
  return [...hashed(texts), ...low, ...(rising ? high : high.sort((a, b) => a - b)).map(String)];
}

/** Sizes of the hash table. It grows when it has more than three texts for each of its places. */
const SIZES = [13, 127, 1021, 8191, 32_749, 131_071, 262_139, 524_287, 1_048_573, 2_097_143];
const MAX_CHAIN = 2;

function hashed(texts: readonly string[]): string[] {
  const hashes = texts.map(hashOf);
  let step = 0;
  let places: number[][] = [];
  let size = SIZES[0] ?? 1;
  texts.forEach((_, index) => {
    if (Math.floor(index / size) > MAX_CHAIN && step < SIZES.length - 1) {
      size = SIZES[++step] ?? size;
      const old = places;
      places = [];
      for (const chain of old) for (const item of (chain ?? []).toReversed()) place(item);
    }
    place(index);
  });
  function place(item: number): void {
    (places[(hashes[item] ?? 0) % size] ??= []).push(item); // the last item of a place is the first item of the chain
  }
  return places.flatMap((chain) => chain.toReversed().map((item) => texts[item] ?? ""));
}

/** The hash of sdbm, of the bytes of a text. */
function hashOf(text: string): number {
  const bytes = encodeText(text);
  let hash = 0;
  for (let at = 0; at < bytes.length; at++) {
    hash = (bytes.charCodeAt(at) + (hash << 6) + (hash << 16) - hash) >>> 0;
  }
  return hash;
}
