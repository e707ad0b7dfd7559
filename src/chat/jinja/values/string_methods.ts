// deno-lint-ignore-file no-control-regex
import { bindArguments, type Parameters, requireIndex } from "./arguments.ts";
import { capitalize, foldCase, hasCase, isTitle, swapCase, titleWords } from "./character_case.ts";
import { PythonTypeError, PythonValueError } from "../jinja_errors.ts";
import { pad } from "./number_format.ts";
import type { Run } from "../run.ts";
import { iterate, sliceBounds } from "./sequences.ts";
import { partition, replaceText, split, splitLines, splitRight, strip } from "./string_parts.ts";
import { charsOf, escapeHtml, hasSurrogates, isPrintableChar, lengthOf, requireString } from "./text.ts";
import { type Args, Markup, Tuple, type Value } from "./values.ts";

/** A method of `str`: the text, and the arguments in the order of the parameters. */
interface Method extends Parameters {
  call(text: string, args: readonly (Value | undefined)[], run: Run): Value;
}

/** Returns the place of a part between two bounds in characters, or -1. */
function find(text: string, [part, start, end]: readonly (Value | undefined)[], fromRight: boolean): number {
  const wanted = requireString(part as Value, "what is searched");
  const chars = hasSurrogates(text) ? charsOf(text) : text;
  const [low, high] = sliceBounds([start, end], chars.length);
  if (low > high || isBeyond(start, chars.length)) return -1;
  const searched = typeof chars === "string" ? chars.slice(low, high) : chars.slice(low, high).join("");
  const at = fromRight ? searched.lastIndexOf(wanted) : searched.indexOf(wanted);
  return at === -1 ? -1 : low + (typeof chars === "string" ? at : lengthOf(searched.slice(0, at)));
}

/** True if a start lies behind the end of a text, where Python finds not even an empty text. */
function isBeyond(start: Value | undefined, length: number): boolean {
  return typeof start === "number" && start > length;
}

function requireFound(at: number): number {
  if (at === -1) throw new PythonValueError("the text that is searched was not found");
  return at;
}

function count(text: string, [part, start, end]: readonly (Value | undefined)[]): number {
  const wanted = requireString(part as Value, "what is counted");
  const chars = charsOf(text);
  const [low, high] = sliceBounds([start, end], chars.length);
  if (low > high || isBeyond(start, chars.length)) return 0;
  const searched = chars.slice(low, high).join("");
  return wanted === "" ? high - low + 1 : searched.split(wanted).length - 1;
}

function hasAffix(
  text: string,
  [affix, start, end]: readonly (Value | undefined)[],
  side: "start" | "end",
): boolean {
  const affixes = affix instanceof Tuple ? affix.items : [affix as Value];
  const texts = affixes.map((item) => requireString(item, `the ${side} of a text`));
  const chars = start === undefined && end === undefined ? undefined : charsOf(text);
  let searched = text;
  if (chars !== undefined) {
    const [low, high] = sliceBounds([start, end], chars.length);
    if (low > high || isBeyond(start, chars.length)) return false;
    searched = chars.slice(low, high).join("");
  }
  return texts.some((item) => side === "start" ? searched.startsWith(item) : searched.endsWith(item));
}

function align(side: "<" | ">" | "^"): Method {
  return {
    names: ["width", "fillchar"],
    required: 1,
    positionalOnly: 2,
    call(text, [width, filler = " "], run) {
      const fill = requireString(filler, "the fill character");
      if (lengthOf(fill) !== 1) throw new PythonTypeError("the fill character must be one character");
      return side === "^"
        ? center(text, requireIndex(width as Value), fill, run)
        : pad(text, { width: requireIndex(width as Value), fill, align: side, run });
    },
  };
}

/** Centres a text. Of an odd number of blanks, the larger part stands before a text if the width is odd. */
export function center(text: string, width: number, fill: string, run: Run): string {
  const missing = width - lengthOf(text);
  if (missing <= 0) return text;
  run.grow(missing);
  const before = Math.floor(missing / 2) + (missing & width & 1);
  return fill.repeat(before) + text + fill.repeat(missing - before);
}

function expandTabs(text: string, size: number, run: Run): string {
  let column = 0;
  return charsOf(text).map((char) => {
    if (char === "\n" || char === "\r") column = 0;
    else if (char !== "\t") column++;
    if (char !== "\t") return char;
    const blanks = size > 0 ? size - column % size : 0;
    column += blanks;
    run.grow(blanks);
    return " ".repeat(blanks);
  }).join("");
}

function zeroFill(text: string, width: number, run: Run): string {
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  return sign + pad(text.slice(sign.length), { width: width - sign.length, fill: "0", align: ">", run });
}

/** Joins strings, and fails as Python does for other values. */
function join(text: string, [items]: readonly (Value | undefined)[], run: Run): string {
  const texts: string[] = [];
  for (const item of iterate(items as Value)) {
    const one = requireString(item, "an item to join");
    run.grow(one.length + text.length);
    texts.push(one);
  }
  return texts.join(text);
}

function method(
  names: readonly string[],
  required: number,
  call: Method["call"],
  positionalOnly = names.length,
): Method {
  return { names, required, positionalOnly, call };
}

function test(pattern: RegExp): Method {
  return method([], 0, (text) => text !== "" && charsOf(text).every((char) => pattern.test(char)));
}

const BOUNDS = ["sub", "start", "end"];
const DIGIT = /[\p{Nd}²³¹⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒]/u;

const METHODS: ReadonlyMap<string, Method> = new Map(Object.entries({
  capitalize: method([], 0, (text) => capitalize(text)),
  casefold: method([], 0, (text) => foldCase(text)),
  center: align("^"),
  count: method(BOUNDS, 1, count),
  endswith: method(BOUNDS, 1, (text, args) => hasAffix(text, args, "end")),
  expandtabs: method(
    ["tabsize"],
    0,
    (text, [size], run) => expandTabs(text, requireIndex(size ?? 8), run),
    0,
  ),
  find: method(BOUNDS, 1, (text, args) => find(text, args, false)),
  index: method(BOUNDS, 1, (text, args) => requireFound(find(text, args, false))),
  isalnum: test(/[\p{L}\p{N}]/u),
  isalpha: test(/\p{L}/u),
  isascii: method([], 0, (text) => /^[\0-\x7f]*$/.test(text)),
  isdecimal: test(/\p{Nd}/u),
  isdigit: test(DIGIT),
  isidentifier: method([], 0, (text) => /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(text)),
  islower: method([], 0, (text) => hasCase(text, "lower")),
  isnumeric: test(/[\p{N}〇一二三四五六七八九十百千万億兆零壹貳參肆伍陸柒捌玖拾]/u),
  isprintable: method([], 0, (text) => charsOf(text).every(isPrintableChar)),
  isspace: test(/[[\s\x1c-\x1f\x85]--[\ufeff]]+/v),
  istitle: method([], 0, (text) => isTitle(text)),
  isupper: method([], 0, (text) => hasCase(text, "upper")),
  join: method(["iterable"], 1, join),
  ljust: align("<"),
  lower: method([], 0, (text) => text.toLowerCase()),
  lstrip: method(["chars"], 0, (text, [chars]) => strip(text, chars, "left")),
  partition: method(["sep"], 1, (text, [separator]) => partition(text, separator as Value, false)),
  removeprefix: method(["prefix"], 1, (text, [prefix]) => {
    const cut = requireString(prefix as Value, "a prefix");
    return text.startsWith(cut) ? text.slice(cut.length) : text;
  }),
  removesuffix: method(["suffix"], 1, (text, [suffix]) => {
    const cut = requireString(suffix as Value, "a suffix");
    return cut !== "" && text.endsWith(cut) ? text.slice(0, -cut.length) : text;
  }),
  replace: method(
    ["old", "new", "count"],
    2,
    (text, [old, replacement, most = -1], run) =>
      replaceText(text, {
        old: requireString(old as Value, "what is replaced"),
        replacement: requireString(replacement as Value, "a replacement"),
        most: requireIndex(most),
        run,
      }),
  ),
  rfind: method(BOUNDS, 1, (text, args) => find(text, args, true)),
  rindex: method(BOUNDS, 1, (text, args) => requireFound(find(text, args, true))),
  rjust: align(">"),
  rpartition: method(["sep"], 1, (text, [separator]) => partition(text, separator as Value, true)),
  rsplit: method(
    ["sep", "maxsplit"],
    0,
    (text, [separator, most], run) => splitRight(text, separator, most, run),
    0,
  ),
  rstrip: method(["chars"], 0, (text, [chars]) => strip(text, chars, "right")),
  split: method(
    ["sep", "maxsplit"],
    0,
    (text, [separator, most], run) => split(text, separator, most, run),
    0,
  ),
  splitlines: method(
    ["keepends"],
    0,
    (text, [keep = false]) => splitLines(text, keep !== false && keep !== 0),
    0,
  ),
  startswith: method(BOUNDS, 1, (text, args) => hasAffix(text, args, "start")),
  strip: method(["chars"], 0, (text, [chars]) => strip(text, chars)),
  swapcase: method([], 0, (text) => swapCase(text)),
  title: method([], 0, (text) => titleWords(text)),
  upper: method([], 0, (text) => text.toUpperCase()),
  zfill: method(["width"], 1, (text, [width], run) => zeroFill(text, requireIndex(width as Value), run)),
}));

/** Methods of `str` that a template cannot call here. A template that calls such a method is refused. */
export const UNSUPPORTED_STRING_METHODS: readonly string[] = ["encode", "translate", "maketrans"];

/** True if `str` has a method of this name that is supported. */
export function isStringMethod(name: string): boolean {
  return METHODS.has(name);
}

/** Calls a method of `str` or of a safe text. */
export function callStringMethod(value: string | Markup, name: string, args: Args, run: Run): Value {
  const text = typeof value === "string" ? value : value.text;
  run.step();
  const method = METHODS.get(name) as Method;
  const bound = bindArguments(args, method);
  if (typeof value === "string") return method.call(text, bound, run);
  return markAll(method.call(text, escapeArguments(name, bound, run), run));
}

/** What is put into a safe text is escaped. */
function escapeArguments(
  name: string,
  args: readonly (Value | undefined)[],
  run: Run,
): readonly (Value | undefined)[] {
  if (name === "join") return [[...iterate(args[0] as Value)].map((item) => escapeHtml(item, run).text)];
  const at = name === "replace" ? 1 : name === "center" || name === "ljust" || name === "rjust" ? 1 : -1;
  return args.map((arg, index) => index === at && arg !== undefined ? escapeHtml(arg, run).text : arg);
}

/** The parts of a safe text are safe. */
function markAll(value: Value): Value {
  if (typeof value === "string") return new Markup(value);
  if (value instanceof Tuple) return new Tuple(value.items.map(markAll));
  return Array.isArray(value) ? value.map(markAll) : value;
}
