/** A value of Python as it crosses: `null`, a boolean, a text, or a list whose first element says what it is. */
export type PlainData = null | boolean | string | readonly PlainData[];

/** Deeper than anything that the encoding gives a result. */
const MAX_DEPTH = 40;
const HEX_INTEGER = /^-?0x[0-9a-f]+$/;
const HEX_INTEGERS = /^-?0x[0-9a-f]+(?: -?0x[0-9a-f]+)*$/;
const HEX_FLOAT = /^(?:nan|-?inf|-?0x[01]\.[0-9a-f]+p[-+]\d{1,4})$/;
const HEX_BYTES = /^(?:[0-9a-f]{2})*$/;
const DECIMAL = /^-?(?:s?nan\d*|infinity|\d+(?:\.\d+)?(?:e[-+]?\d{1,20})?)$/i;
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d\d:\d\d:\d\d(?:\.\d{6})?(?:[-+][\d:.]{5,15})?$/;
const DATETIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?(?:[-+][\d:.]{5,15})?$/;

/**
 * Whether a value is plain data and nothing else, whoever made it: known words, well-formed numbers, no depth that
 * would break who reads it.
 */
export function isPlainData(value: unknown): value is PlainData {
  const waiting: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const inner = partsOf(next.value);
    if (inner === undefined || next.depth > MAX_DEPTH) return false;
    for (const part of inner) waiting.push({ value: part, depth: next.depth + 1 });
  }
  return true;
}

/** The values inside of a value; `undefined` when it is no plain data. */
function partsOf(value: unknown): readonly unknown[] | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "string") return [];
  if (!Array.isArray(value)) return undefined;
  const [kind, ...rest]: unknown[] = value;
  switch (kind) {
    case "int":
      return allMatch(rest, 1, HEX_INTEGER);
    case "ints":
      return allMatch(rest, 1, HEX_INTEGERS);
    case "float":
      return allMatch(rest, 1, HEX_FLOAT);
    case "complex":
      return allMatch(rest, 2, HEX_FLOAT);
    case "range":
    case "timedelta":
      return allMatch(rest, 3, HEX_INTEGER);
    case "Fraction":
      return allMatch(rest, 2, HEX_INTEGER);
    case "Decimal":
      return allMatch(rest, 1, DECIMAL);
    case "date":
      return allMatch(rest, 1, DATE);
    case "time":
      return allMatch(rest, 1, TIME);
    case "datetime":
      return allMatch(rest, 1, DATETIME);
    case "bytes":
    case "bytearray":
      return allMatch(rest, 1, HEX_BYTES);
    case "dict":
    case "dict_items":
      return rest.every((item) => Array.isArray(item) && item.length === 2) ? rest.flat(1) : undefined;
    case "list":
    case "tuple":
    case "set":
    case "frozenset":
    case "deque":
    case "dict_keys":
    case "dict_values":
      return rest;
    default:
      return undefined;
  }
}

function allMatch(texts: readonly unknown[], count: number, form: RegExp): readonly unknown[] | undefined {
  const fit = texts.length === count && texts.every((text) => typeof text === "string" && form.test(text));
  return fit ? [] : undefined;
}
