import { bindArguments } from "../values/arguments.ts";
import { hasCase } from "../values/character_case.ts";
import { isEqual, isOrdered, requireKey } from "../values/compare.ts";
import { intOf, isInt } from "../values/numbers.ts";
import { applyBinary } from "../values/operators.ts";
import type { Run } from "../run.ts";
import { isIn, itemsOf, sizeOf } from "../values/sequences.ts";
import { strOf } from "../values/text.ts";
import {
  type Args,
  Callable,
  Dict,
  Float,
  Lazy,
  Markup,
  Namespace,
  stringOf,
  Undefined,
  type Value,
  View,
} from "../values/values.ts";

/** A test of `is`. */
export type Test = (value: Value, args: Args, run: Run) => boolean;

function plain(test: (value: Value, run: Run) => boolean): Test {
  return (value, args, run) => {
    bindArguments(args, { names: [] });
    return test(value, run);
  };
}

function compared(test: (value: Value, other: Value, run: Run) => boolean, name = "other"): Test {
  return (value, args, run) => {
    const [other] = bindArguments(args, { names: [name], required: 1 });
    return test(value, other as Value, run);
  };
}

function remainder(value: Value, divisor: Value, wanted: number, run: Run): boolean {
  return isEqual(applyBinary("%", value, divisor, run), wanted, run);
}

const equal = compared((value, other, run) => isEqual(value, other, run));
const different = compared((value, other, run) => !isEqual(value, other, run));
const greater = compared((value, other, run) => isOrdered(value, ">", other, run));
const greaterOrEqual = compared((value, other, run) => isOrdered(value, ">=", other, run));
const less = compared((value, other, run) => isOrdered(value, "<", other, run));
const lessOrEqual = compared((value, other, run) => isOrdered(value, "<=", other, run));

/** Returns the tests of Jinja2. The tests `filter` and `test` look up the given names. */
export function makeTests(filters: ReadonlySet<string>): ReadonlyMap<string, Test> {
  const tests: Map<string, Test> = new Map(Object.entries({
    odd: plain((value, run) => remainder(value, 2, 1, run)),
    even: plain((value, run) => remainder(value, 2, 0, run)),
    divisibleby: compared((value, num, run) => remainder(value, num, 0, run), "num"),
    defined: plain((value) => !(value instanceof Undefined)),
    undefined: plain((value) => value instanceof Undefined),
    none: plain((value) => value === null),
    boolean: plain((value) => typeof value === "boolean"),
    false: plain((value) => value === false),
    true: plain((value) => value === true),
    integer: plain(isInt),
    float: plain((value) => value instanceof Float),
    number: plain((value) => value instanceof Float || intOf(value) !== undefined),
    string: plain((value) => stringOf(value) !== undefined),
    mapping: plain((value) => value instanceof Dict),
    lower: plain((value, run) => hasCase(strOf(value, run), "lower")),
    upper: plain((value, run) => hasCase(strOf(value, run), "upper")),
    sequence: plain(isSequence),
    iterable: plain((value) => itemsOf(value) !== undefined),
    callable: plain((value) => value instanceof Callable || value instanceof Undefined),
    sameas: compared(isSameObject),
    escaped: plain((value) => value instanceof Markup),
    in: compared((value, seq, run) => isIn(value, seq, run), "seq"),
    "==": equal,
    eq: equal,
    equalto: equal,
    "!=": different,
    ne: different,
    ">": greater,
    gt: greater,
    greaterthan: greater,
    ">=": greaterOrEqual,
    ge: greaterOrEqual,
    "<": less,
    lt: less,
    lessthan: less,
    "<=": lessOrEqual,
    le: lessOrEqual,
  }));
  tests.set("filter", plain((name) => filters.has(nameOf(name))));
  tests.set("test", plain((name) => tests.has(nameOf(name))));
  return tests;
}

function nameOf(value: Value): string {
  requireKey(value); // Python looks the name up in a dict
  return stringOf(value) ?? "";
}

/** Jinja2 takes what has a length and items by position or key. Undefined values have both. */
function isSequence(value: Value): boolean {
  if (value instanceof View || value instanceof Lazy || value instanceof Namespace) return false;
  return sizeOf(value) !== undefined && !(typeof value === "object" && value !== null && "iterate" in value);
}

function isSameObject(a: Value, b: Value): boolean {
  return a === b;
}
