import { getAttribute, hasAttribute } from "../values/attributes.ts";
import { requireIndex } from "../values/arguments.ts";
import { roundDouble } from "../values/decimals.ts";
import { PythonTypeError, PythonValueError } from "../jinja_errors.ts";
import {
  divideInts,
  intOf,
  negateInt,
  numberOf,
  parseDouble,
  parseInteger,
  powerOfInts,
  toDouble,
  truncate,
} from "../values/numbers.ts";
import { isTrue } from "../values/sequences.ts";
import { type FilterRegistry, makeCallingFilters } from "./calling_filters.ts";
import { SEQUENCE_FILTERS } from "./sequence_filters.ts";
import { strip } from "../values/string_parts.ts";
import { makeTests } from "./tests.ts";
import { type Filter, filter, TEXT_FILTERS } from "./text_filters.ts";
import { Float, stringOf, typeName, Undefined, type Value } from "../values/values.ts";

/** Filters of Jinja2 that are not here, and why. A template that names such a filter is refused. */
export const UNSUPPORTED_FILTERS: ReadonlyMap<string, string> = new Map([
  ["pprint", "its line breaks are not reproduced"],
  ["random", "a prompt must be the same each time"],
  ["urlize", "it is for web pages"],
  ["wordwrap", "its line breaks are not reproduced"],
]);

function absolute(value: Value): Value {
  if (value instanceof Float) return new Float(Math.abs(value.value));
  const int = intOf(value);
  if (int !== undefined) return int < 0 ? negateInt(int) : int;
  if (value instanceof Undefined) value.fail();
  throw new PythonTypeError(`a ${typeName(value)} has no absolute value`);
}

function toInt(value: Value, [otherwise = 0, base = 10]: readonly (Value | undefined)[]): Value {
  const text = stringOf(value);
  if (text !== undefined) {
    const stripped = strip(text, undefined);
    const radix = requireIndex(base);
    if (radix !== 0 && (radix < 2 || radix > 36)) return truncateText(stripped) ?? otherwise;
    return parseInteger(stripped, radix) ?? truncateText(stripped) ?? otherwise;
  }
  if (value instanceof Undefined) value.fail();
  const int = intOf(value);
  if (int !== undefined) return int;
  if (!(value instanceof Float)) return otherwise;
  // Python's int() of an infinite float raises an error that the filter does not catch.
  if (value.value === Infinity || value.value === -Infinity) return truncate(value.value);
  return Number.isNaN(value.value) ? otherwise : truncate(value.value);
}

function truncateText(text: string): Value | undefined {
  const double = parseDouble(text);
  return double === undefined || !Number.isFinite(double) ? undefined : truncate(double);
}

function toFloat(value: Value, [otherwise = new Float(0)]: readonly (Value | undefined)[]): Value {
  if (value instanceof Undefined) value.fail();
  const text = stringOf(value);
  const double = text === undefined
    ? intOf(value) === undefined ? numberOf(value) : toDouble(intOf(value) ?? 0)
    : parseDouble(strip(text, undefined));
  return double === undefined ? otherwise : new Float(double);
}

function round(value: Value, [precision = 0, method = "common"]: readonly (Value | undefined)[]): Value {
  if (method !== "common" && method !== "ceil" && method !== "floor") {
    throw new PythonValueError("'method' must be 'common', 'ceil' or 'floor'");
  }
  if (value instanceof Undefined) value.fail();
  const number = numberOf(value);
  if (number === undefined) throw new PythonTypeError(`a ${typeName(value)} must not be rounded`);
  if (method === "common") return roundHalfEven(value, precision);
  const places = requireIndex(precision);
  const factor = 10 ** places;
  const scaled = number * factor;
  return new Float(Number(truncate(method === "ceil" ? Math.ceil(scaled) : Math.floor(scaled))) / factor);
}

function roundHalfEven(value: Value, precision: Value): Value {
  if (value instanceof Float) {
    if (precision === null) return truncate(roundDouble(value.value, 0));
    const places = requireIndex(precision);
    return Number.isFinite(value.value) ? new Float(roundDouble(value.value, places)) : value;
  }
  const int = intOf(value) ?? 0;
  const places = precision === null ? 0 : requireIndex(precision);
  if (places >= 0) return int;
  const unit = powerOfInts(10, -places);
  const { quotient, rest } = divideInts(int, unit);
  const twice = BigInt(rest) * 2n;
  const isUp = twice > BigInt(unit) || (twice === BigInt(unit) && BigInt(quotient) % 2n !== 0n);
  const result = (BigInt(quotient) + (isUp ? 1n : 0n)) * BigInt(unit);
  return Number.isSafeInteger(Number(result)) ? Number(result) : result;
}

function otherwise(value: Value, [fallback = "", boolean = false]: readonly (Value | undefined)[]): Value {
  return value instanceof Undefined || (isTrue(boolean) && !isTrue(value)) ? fallback : value;
}

function attribute(value: Value, [name]: readonly (Value | undefined)[]): Value {
  const text = stringOf(name as Value);
  if (text === undefined) throw new PythonTypeError("the name of an attribute must be a string");
  if (!hasAttribute(value, text)) return new Undefined(`a ${typeName(value)} has no attribute '${text}'`);
  return getAttribute(value, text);
}

const VALUE_FILTERS: Readonly<Record<string, Filter>> = {
  abs: filter([], absolute),
  attr: filter(["name"], attribute, 1),
  d: filter(["default_value", "boolean"], otherwise),
  default: filter(["default_value", "boolean"], otherwise),
  float: filter(["default"], toFloat),
  int: filter(["default", "base"], toInt),
  round: filter(["precision", "method"], round),
};

function makeRegistry(): FilterRegistry {
  const filters = new Map<string, Filter>(
    Object.entries({ ...VALUE_FILTERS, ...TEXT_FILTERS, ...SEQUENCE_FILTERS }),
  );
  const names = new Set([
    ...filters.keys(),
    "map",
    "select",
    "reject",
    "selectattr",
    "rejectattr",
    ...UNSUPPORTED_FILTERS.keys(),
  ]);
  const registry = { filters, tests: makeTests(names) };
  for (const [name, calling] of Object.entries(makeCallingFilters(registry))) filters.set(name, calling);
  return registry;
}

/** All filters and tests. */
export const REGISTRY: FilterRegistry = makeRegistry();
