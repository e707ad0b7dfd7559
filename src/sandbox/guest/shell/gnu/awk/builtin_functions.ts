import { formatDate } from "../date.ts";
import { findMatch } from "../regular_expression.ts";
import { type Code, join, type ValueCode } from "./code.ts";
import {
  compileArray,
  compileCell,
  compileExpression,
  compilePattern,
  compileReference,
  type Reference,
  type Scope,
} from "./compile.ts";
import { compareForSort, formatValues } from "./format.ts";
import { orderOf } from "./order.ts";
import { NO_FIELD, splitByContent, splitText } from "./records.ts";
import type { Runtime } from "./runtime.ts";
import { substitute } from "./substitute.ts";
import { type ArrayName, AwkFailure, type Expression } from "./syntax.ts";
import { makeTime } from "./time.ts";
import { type AwkArray, type Cell, compareTexts, toNumber, UserText, type Value } from "./values.ts";

/** A builtin function of values. */
type Plain = (values: readonly Value[], runtime: Runtime) => Value | Promise<Value>;

const number = (calculate: (...values: number[]) => number): Plain => (values) =>
  calculate(...values.map(toNumber));

/** Bits of two numbers, which awk takes as integers of 64 bits. */
const bits = (name: string, calculate: (left: bigint, right: bigint) => bigint): Plain => (values) => {
  const integers = values.map((value) => {
    const integer = Math.trunc(toNumber(value));
    if (integer < 0) throw new AwkFailure(`${name}: argument with negative value ${integer} is not allowed`);
    return BigInt(integer);
  });
  return Number(integers.slice(1).reduce(calculate, integers[0] ?? 0n));
};

/** Bits of a double: the result of `compl` and of a shift has at most so many. */
const MAX_BITS = 53;

const PLAIN: Readonly<Record<string, Plain>> = {
  and: bits("and", (left, right) => left & right),
  or: bits("or", (left, right) => left | right),
  xor: bits("xor", (left, right) => left ^ right),
  lshift: bits("lshift", (left, right) => BigInt.asUintN(64, left << right)),
  rshift: bits("rshift", (left, right) => left >> right),
  compl: bits("compl", (left) => left),
  atan2: number(Math.atan2),
  cos: number(Math.cos),
  sin: number(Math.sin),
  exp: number(Math.exp),
  int: number(Math.trunc),
  log: (values, runtime) => {
    const value = toNumber(values[0]);
    if (value < 0) runtime.warn(`warning: log: received negative argument ${runtime.convert(value)}`);
    return Math.log(value);
  },
  sqrt: (values, runtime) => {
    const value = toNumber(values[0]);
    if (value < 0) runtime.warn(`warning: sqrt: called with negative argument ${runtime.convert(value)}`);
    return Math.sqrt(value);
  },
  rand: (_, { random }) => random.next(),
  srand([seed], runtime) {
    const before = runtime.lastSeed;
    runtime.lastSeed = seed === undefined ? Math.floor(Date.now() / 1000) : Math.trunc(toNumber(seed));
    runtime.random.seed(runtime.lastSeed | 0);
    return before;
  },
  index: ([text, part], runtime) => {
    const all = runtime.text(text);
    return characterIndex(all, all.indexOf(runtime.text(part))) + 1;
  },
  substr: ([text, start, length], runtime) => substr(runtime.text(text), start, length),
  tolower: ([text], runtime) => runtime.text(text).toLowerCase(),
  toupper: ([text], runtime) => runtime.text(text).toUpperCase(),
  sprintf: ([format, ...values], runtime) => formatValues(runtime.text(format), values, runtime.convert),
  strtonum: ([value], runtime) => strtonum(value, runtime),
  system: ([command], runtime) => runtime.streams.system(runtime.text(command)),
  close: ([name, end], runtime) => {
    return runtime.streams.close(runtime.text(name), end === undefined ? undefined : runtime.text(end));
  },
  fflush(_, runtime) {
    runtime.streams.flush();
    return 0;
  },
  systime: () => Math.floor(Date.now() / 1000),
  mktime: ([text, utc], runtime) => makeTime(runtime.text(text), utc === undefined ? runtime.zone : UTC),
  strftime([format, time, utc], runtime) {
    const timeMs = time === undefined ? Date.now() : Math.floor(toNumber(time)) * 1000;
    const text = format === undefined ? "%a %b %e %H:%M:%S %Z %Y" : runtime.text(format);
    return formatDate(text, timeMs, utc !== undefined && toNumber(utc) !== 0 ? UTC : runtime.zone);
  },
};

const UTC = () => ({ minutes: 0, name: "UTC" });
const WAITS: ReadonlySet<string> = new Set(["close", "system"]);

/** True for a builtin function that may run a command. */
export function waits(name: string): boolean {
  return WAITS.has(name);
}

/** Compiles the call of a builtin function. */
export function compileBuiltin(name: string, args: readonly Expression[], scope: Scope): ValueCode {
  const { runtime } = scope;
  if (name === "compl") {
    const [operand] = args.map((arg) => compileExpression(arg, scope)) as [ValueCode];
    return join<[Value], Value>([operand], ([value]) => 2 ** MAX_BITS - 1 - Math.trunc(toNumber(value)));
  }
  const special = SPECIAL[name];
  if (special) return special(args, scope);
  const call = PLAIN[name] as Plain;
  const values = args.map((arg) => compileExpression(arg, scope));
  return join<Value[], Value>(values, (given) => call(given, runtime), { isAsync: waits(name) });
}

/** Builtin functions with arguments that are no values: arrays, patterns, places. */
const SPECIAL: Readonly<Record<string, (args: readonly Expression[], scope: Scope) => ValueCode>> = {
  length([arg], scope) {
    const { runtime } = scope;
    if (arg === undefined) return { isAsync: false, run: () => characterCount(runtime.record.whole.text) };
    const measure = (value: Value) => characterCount(runtime.text(value));
    if (arg.kind !== "name" && arg.kind !== "element") {
      return join<[Value], Value>([compileExpression(arg, scope)], ([value]) => measure(value));
    }
    return join<[Cell], Value>([compileCell(arg, scope)], ([cell]) => {
      return cell.isArray ? cell.array.size : measure(cell.value);
    });
  },
  isarray: ([arg], scope) => typeCode(arg, scope, (type) => type === "array" ? 1 : 0),
  typeof: ([arg], scope) => typeCode(arg, scope, (type) => type),
  split([text, array, separator, separators], scope) {
    const { runtime } = scope;
    const by: Code<string | RegExp> = separator === undefined
      ? { isAsync: false, run: () => runtime.setting("FS") }
      : separator.kind === "regex"
      ? compilePattern(separator, scope)
      : join<[Value], string>([compileExpression(separator, scope)], ([value]) => runtime.text(value));
    return splitCode([text, array, separators], by, scope, (all, given) => {
      const source = typeof given === "string" ? given : separator?.kind === "regex" ? separator.source : "";
      const isLiteral = typeof given === "string";
      return splitText(all, isLiteral || source.length !== 1 ? source : `(${source})`, {
        compile: runtime.compile,
      });
    });
  },
  patsplit([text, array, pattern, separators], scope) {
    const { runtime } = scope;
    const by: Code<string | RegExp> = pattern === undefined
      ? { isAsync: false, run: () => runtime.compile(runtime.setting("FPAT")) }
      : compilePattern(pattern, scope);
    return splitCode(
      [text, array, separators],
      by,
      scope,
      (all, given) => splitByContent(all, given as RegExp),
    );
  },
  match([text, pattern, array], scope) {
    const { runtime } = scope;
    const found: Code<AwkArray | undefined> = array === undefined ? NONE : arrayCode(array, scope);
    return join<[Value, RegExp, AwkArray | undefined], Value>(
      [compileExpression(text as Expression, scope), compilePattern(pattern as Expression, scope), found],
      ([value, expression, groups]) => matchText(runtime.text(value), expression, { groups, runtime }),
    );
  },
  sub: (args, scope) => compileSubstitution(args, scope, false),
  gsub: (args, scope) => compileSubstitution(args, scope, true),
  gensub([pattern, replacement, how, target], scope) {
    const { runtime } = scope;
    const text = target === undefined ? wholeRecord(runtime) : compileExpression(target, scope);
    return join<[RegExp, Value, Value, Value], Value>(
      [
        compilePattern(pattern as Expression, scope),
        compileExpression(replacement as Expression, scope),
        compileExpression(how as Expression, scope),
        text,
      ],
      ([expression, with_, which, value]) => {
        const isGlobal = /^[gG]/.test(runtime.text(which));
        return substitute(runtime.text(value), expression, runtime.text(with_), {
          which: isGlobal ? "all" : Math.max(1, Math.trunc(toNumber(which))),
          hasGroups: true,
        }).text;
      },
    );
  },
  asort: (args, scope) => compileSort(args, scope, false),
  asorti: (args, scope) => compileSort(args, scope, true),
};

const NONE = { isAsync: false, run: () => undefined } as const;

function wholeRecord(runtime: Runtime): ValueCode {
  return { isAsync: false, run: () => runtime.record.whole };
}

function arrayCode(arg: Expression, scope: Scope): Code<AwkArray> {
  if (arg.kind === "name" || arg.kind === "element") return compileArray(arg as ArrayName, scope);
  throw new AwkFailure("an argument must be an array");
}

function typeCode(arg: Expression | undefined, scope: Scope, use: (type: string) => Value): ValueCode {
  if (arg?.kind === "name" || arg?.kind === "element") {
    return join<[Cell], Value>([compileCell(arg, scope)], ([cell]) => use(typeOf(cell)));
  }
  return join<[Value], Value>(
    [compileExpression(arg as Expression, scope)],
    ([value]) => use(typeOfValue(value)),
  );
}

function typeOf(cell: Cell): string {
  if (cell.isArray) return "array";
  return cell.value === undefined ? "untyped" : typeOfValue(cell.value);
}

function typeOfValue(value: Value): string {
  if (value === undefined || value === NO_FIELD) return "unassigned";
  if (typeof value === "number") return "number";
  return typeof value === "string" || value.number === undefined ? "string" : "strnum";
}

function splitCode(
  [text, array, separators]: readonly (Expression | undefined)[],
  by: Code<string | RegExp>,
  scope: Scope,
  split: (text: string, by: string | RegExp) => { parts: string[]; separators: string[] },
): ValueCode {
  const { runtime } = scope;
  const between: Code<AwkArray | undefined> = separators === undefined ? NONE : arrayCode(separators, scope);
  return join<[Value, AwkArray, string | RegExp, AwkArray | undefined], Value>(
    [compileExpression(text as Expression, scope), arrayCode(array as Expression, scope), by, between],
    ([value, parts, given, gaps]) => {
      const found = split(runtime.text(value), given);
      parts.fill(found.parts.map((part) => new UserText(part)));
      if (!gaps) return found.parts.length;
      const isOuter = found.separators.length > found.parts.length;
      gaps.clear();
      found.separators.forEach((gap, index) => {
        const isEdge = index === 0 || index === found.separators.length - 1;
        if (!isOuter || !isEdge || gap !== "") gaps.set(String(isOuter ? index : index + 1), gap);
      });
      return found.parts.length;
    },
  );
}

function matchText(
  text: string,
  expression: RegExp,
  { groups, runtime }: { groups: AwkArray | undefined; runtime: Runtime },
): number {
  const match = findMatch(expression, text, 0);
  const start = match ? characterIndex(text, match.index) + 1 : 0;
  runtime.global("RSTART").value = start;
  runtime.global("RLENGTH").value = match ? characterCount(match[0]) : -1;
  if (!groups) return start;
  groups.clear();
  match?.forEach((part: string | undefined, index) => {
    if (part === undefined) return;
    groups.set(String(index), new UserText(part));
    const at = index === 0 ? match.index : groupIndex(expression, match, index);
    groups.set(`${index}${runtime.setting("SUBSEP")}start`, characterIndex(text, at) + 1);
    groups.set(`${index}${runtime.setting("SUBSEP")}length`, characterCount(part));
  });
  return start;
}

/** Returns the offset of a group. JavaScript tells it only of expressions with the flag `d`. */
function groupIndex({ source, flags }: RegExp, match: RegExpExecArray, group: number): number {
  const indexed = new RegExp(source, `${flags.replace("g", "")}yd`);
  indexed.lastIndex = match.index;
  const [start] = indexed.exec(match.input)?.indices?.[group] ?? [match.index];
  return start;
}

function compileSubstitution(
  [pattern, replacement, target]: readonly Expression[],
  scope: Scope,
  isGlobal: boolean,
): ValueCode {
  const { runtime } = scope;
  const place = target === undefined
    ? { kind: "field", index: { kind: "number", value: 0 } } as const
    : target;
  const reference: Code<Reference> =
    place.kind === "name" || place.kind === "field" || place.kind === "element"
      ? compileReference(place, scope)
      : join<[Value], Reference>([compileExpression(place, scope)], ([value]) => ({ value }));
  return join<[RegExp, Value, Reference], Value>(
    [
      compilePattern(pattern as Expression, scope),
      compileExpression(replacement as Expression, scope),
      reference,
    ],
    ([expression, with_, found]) => {
      const { text, count } = substitute(runtime.text(found.value), expression, runtime.text(with_), {
        which: isGlobal ? "all" : 1,
        hasGroups: false,
      });
      if (count > 0) found.value = text;
      return count;
    },
  );
}

function compileSort(
  [source, target, how]: readonly Expression[],
  scope: Scope,
  isOfKeys: boolean,
): ValueCode {
  const { runtime } = scope;
  const to: Code<AwkArray | undefined> = target === undefined ? NONE : arrayCode(target, scope);
  const order = how === undefined ? NONE : compileExpression(how, scope);
  return join<[AwkArray, AwkArray | undefined, Value], Value>(
    [arrayCode(source as Expression, scope), to, order],
    ([from, given, method]) => {
      const name = runtime.text(method);
      const sorted = sortedValues(from, { isOfKeys, name });
      (given ?? from).fill(sorted);
      return sorted.length;
    },
  );
}

function sortedValues(array: AwkArray, { isOfKeys, name }: { isOfKeys: boolean; name: string }): Value[] {
  if (name !== "") {
    const keys = orderOf(array, name);
    return isOfKeys ? keys : keys.map((key) => array.get(key));
  }
  if (isOfKeys) return array.keys().sort(compareTexts);
  return array.keys().map((key) => array.get(key)).sort(compareForSort);
}

function strtonum(value: Value, runtime: Runtime): number {
  if (typeof value === "number") return value;
  const text = runtime.text(value).trim();
  const [, sign = "", hex, octal] = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0([0-7]+)(?![\d.eE]))/.exec(text) ?? [];
  if (hex === undefined && octal === undefined) return toNumber(text);
  const size = hex === undefined ? parseInt(octal ?? "", 8) : parseInt(hex, 16);
  return sign === "-" ? -size : size;
}

const SURROGATE = /[\ud800-\udbff]/;

/** Number of characters of a text. */
function characterCount(text: string): number {
  return SURROGATE.test(text) ? [...text].length : text.length;
}

/** Number of characters before an offset; -1 for a negative offset. */
function characterIndex(text: string, offset: number): number {
  return offset < 0 ? offset : characterCount(text.slice(0, offset));
}

/** Returns characters from `start`, counted from 1. A start before the text is its first character. */
function substr(text: string, start: Value, length: Value): string {
  const first = Math.max(1, Math.trunc(toNumber(start)));
  const count = length === undefined ? Infinity : Math.trunc(toNumber(length));
  if (Number.isNaN(first) || !(count > 0)) return "";
  const end = count === Infinity ? undefined : first - 1 + count;
  return SURROGATE.test(text) ? [...text].slice(first - 1, end).join("") : text.slice(first - 1, end);
}
