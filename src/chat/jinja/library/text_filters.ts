import { bindArguments, type Parameters, requireIndex } from "../values/arguments.ts";
import { capitalize } from "../values/character_case.ts";
import { fixedDigits } from "../values/decimals.ts";
import { PythonTypeError, PythonValueError } from "../jinja_errors.ts";
import { toJson } from "../values/json_text.ts";
import { floatText, numberOf, parseDouble, truncate } from "../values/numbers.ts";
import { add } from "../values/operators.ts";
import { formatPercent } from "../values/percent_format.ts";
import type { Run } from "../run.ts";
import { isTrue, itemsOf, iterate, requireSize } from "../values/sequences.ts";
import { callStringMethod, center } from "../values/string_methods.ts";
import { replaceText, splitLines, strip } from "../values/string_parts.ts";
import { charsOf, escapeHtml, lengthOf, strOf } from "../values/text.ts";
import {
  type Args,
  Dict,
  Markup,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "../values/values.ts";

/** A filter: a function of a value and the arguments of the call. */
export type Filter = (value: Value, args: Args, run: Run) => Value;

/** Makes a filter from the parameters after the value. */
export function filter(
  names: readonly string[],
  apply: (value: Value, args: readonly (Value | undefined)[], run: Run) => Value,
  required = 0,
): Filter {
  const parameters: Parameters = { names, required };
  return (value, args, run) => {
    run.step();
    return apply(value, bindArguments(args, parameters), run);
  };
}

/** Makes a filter from a function of a text, whose result is safe if the text is. */
function ofText(
  names: readonly string[],
  apply: (text: string, args: readonly (Value | undefined)[], run: Run) => string,
  required = 0,
): Filter {
  return filter(names, (value, args, run) => {
    const text = apply(strOf(value, run), args, run);
    return value instanceof Markup ? new Markup(text) : text;
  }, required);
}

function titleOf(text: string): string {
  return text.split(WORD_START).map((word) => {
    const [first, ...rest] = charsOf(word);
    return first === undefined ? "" : first.toUpperCase() + rest.join("").toLowerCase();
  }).join("");
}

// deno-lint-ignore no-control-regex
const WORD_START = /([[\s\x1c-\x1f\x85\-\(\{\[<]--[\ufeff]]+)/v;

function indent(
  value: Value,
  [width = 4, first = false, blank = false]: readonly (Value | undefined)[],
  run: Run,
): Value {
  const safe = value instanceof Markup;
  const prefix = stringOf(width) ?? " ".repeat(checkedWidth(requireIndex(width), run));
  const text = stringOf(add(value, safe ? new Markup("\n") : "\n", run));
  if (text === undefined) throw new PythonTypeError(`a ${typeName(value)} must not be indented`);
  const lines = splitLines(text);
  run.grow(text.length + lines.length * prefix.length);
  const indented = lines.map((line, at) => at > 0 && (isTrue(blank) || line !== "") ? prefix + line : line)
    .join("\n");
  const result = isTrue(first) ? prefix + indented : indented;
  return safe ? new Markup(result) : result;
}

function checkedWidth(width: number, run: Run): number {
  const size = Math.max(0, width);
  run.grow(size);
  return size;
}

function truncateText(
  value: Value,
  [length = 255, killwords = false, end = "...", leeway]: readonly (Value | undefined)[],
  run: Run,
): Value {
  const tail = requireText(end);
  const [most, slack] = [
    requireIndex(length),
    leeway === undefined || leeway === null ? 5 : requireIndex(leeway),
  ];
  if (most < lengthOf(tail) || slack < 0) {
    throw new PythonValueError("'length' must be at least the length of 'end'");
  }
  if (requireSize(value) <= most + slack) return value;
  const chars = charsOf(requireText(value));
  const start = chars.slice(0, most - lengthOf(tail)).join("");
  const cut = isTrue(killwords) || !start.includes(" ") ? start : start.slice(0, start.lastIndexOf(" "));
  return add(value instanceof Markup ? new Markup(cut) : cut, end, run);
}

function requireText(value: Value): string {
  const text = stringOf(value);
  if (text !== undefined) return text;
  if (value instanceof Undefined) value.fail();
  throw new PythonTypeError(`a ${typeName(value)} must be a string`);
}

const PREFIXES = ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];

function fileSize(value: Value, [binary = false]: readonly (Value | undefined)[]): string {
  const bytes = stringOf(value) === undefined
    ? numberOf(value)
    : parseDouble(strip(stringOf(value) as string, undefined));
  if (bytes === undefined) throw new PythonTypeError("a size must be a number");
  const base = isTrue(binary) ? 1024 : 1000;
  if (bytes === 1) return "1 Byte";
  if (bytes < base) return `${truncate(bytes)} Bytes`;
  let power = 0;
  while (power < PREFIXES.length - 1 && !(bytes < base ** (power + 2))) power++; // nan is less than no size
  const decimal = PREFIXES[power] as string;
  const prefix = isTrue(binary) ? `${decimal[0]?.toUpperCase()}iB` : decimal;
  const size = base * bytes / base ** (power + 2);
  return `${Number.isFinite(size) ? fixedDigits(size, 1) : floatText(size)} ${prefix}`;
}

/** Writes bytes beyond letters, digits and a few marks as `%XX`. */
function quoteUrl(value: Value, run: Run, forQuery = false): string {
  const text = strOf(value, run).toWellFormed();
  const quoted = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  run.grow(quoted.length);
  return forQuery ? quoted.replaceAll("%20", "+") : quoted.replaceAll("%2F", "/");
}

function encodeUrl(value: Value, _args: readonly (Value | undefined)[], run: Run): string {
  const items = stringOf(value) === undefined ? itemsOf(value) : undefined;
  if (items === undefined) return quoteUrl(value, run);
  const pairs = value instanceof Dict ? value.entries() : [...items].map((item) => [...iterate(item)]);
  return pairs.map((pair) => {
    const [key, item] = pair;
    if (key === undefined || item === undefined || pair.length !== 2) {
      throw new PythonValueError("a query needs pairs");
    }
    return `${quoteUrl(key, run, true)}=${quoteUrl(item, run, true)}`;
  }).join("&");
}

function stripTags(value: Value, run: Run): string {
  let text = strOf(value, run);
  text = removeBetween(removeBetween(text, "<!--", "-->"), "<", ">");
  const plain = callStringMethod(
    text,
    "split",
    { positional: [], keywords: new Map() },
    run,
  ) as readonly string[];
  return plain.join(" ").replace(/&(amp|lt|gt|quot|#34|#39|#x27);/g, (entity) => ENTITIES[entity] ?? entity);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#34;": '"',
  "&#39;": "'",
  "&#x27;": "'",
};

function removeBetween(text: string, open: string, close: string): string {
  let result = "";
  for (let at = 0;;) {
    const start = text.indexOf(open, at);
    const end = start === -1 ? -1 : text.indexOf(close, start);
    if (end === -1) return result + text.slice(at);
    result += text.slice(at, start);
    at = end + close.length;
  }
}

function xmlAttributes(value: Value, [autospace = true]: readonly (Value | undefined)[], run: Run): string {
  if (value instanceof Undefined) value.fail();
  if (!(value instanceof Dict)) {
    throw new PythonTypeError(`attributes must be a mapping, not ${typeName(value)}`);
  }
  const items: string[] = [];
  for (const [key, item] of value.entries()) {
    if (item === null || item instanceof Undefined) continue;
    if (/[ \t-\r/>=]/.test(requireText(key))) {
      throw new PythonValueError("the name of an attribute has a blank or mark");
    }
    items.push(`${escapeHtml(key, run).text}="${escapeHtml(item, run).text}"`);
  }
  return (isTrue(autospace) && items.length > 0 ? " " : "") + items.join(" ");
}

/** Filters whose result is a text. */
export const TEXT_FILTERS: Readonly<Record<string, Filter>> = {
  capitalize: ofText([], (text) => capitalize(text)),
  center: ofText(["width"], (text, [width = 80], run) => center(text, requireIndex(width), " ", run)),
  e: filter([], (value, _args, run) => escapeHtml(value, run)),
  escape: filter([], (value, _args, run) => escapeHtml(value, run)),
  filesizeformat: filter(["binary"], fileSize),
  forceescape: filter([], (value, _args, run) => escapeHtml(strOf(value, run), run)),
  format: (value, { positional, keywords }, run) => {
    if (positional.length > 0 && keywords.size > 0) {
      throw new PythonTypeError("a format must have arguments all with or all without names");
    }
    const values = keywords.size > 0 ? Dict.of(keywords, (key) => key) : new Tuple(positional);
    return formatPercent(value instanceof Markup ? value : strOf(value, run), values, run);
  },
  indent: filter(["width", "first", "blank"], indent),
  lower: ofText([], (text) => text.toLowerCase()),
  replace: filter(
    ["old", "new", "count"],
    (value, [old, replacement, most], run) =>
      replaceText(strOf(value, run), {
        old: strOf(old as Value, run),
        replacement: strOf(replacement as Value, run),
        most: most === undefined || most === null ? -1 : requireIndex(most),
        run,
      }),
    2,
  ),
  safe: filter([], (value, _args, run) => value instanceof Markup ? value : new Markup(strOf(value, run))),
  string: filter([], (value, _args, run) => value instanceof Markup ? value : strOf(value, run)),
  striptags: filter([], (value, _args, run) => stripTags(value, run)),
  title: filter([], (value, _args, run) => titleOf(strOf(value, run))),
  tojson: filter(
    ["ensure_ascii", "indent", "separators", "sort_keys"],
    (value, [ensureAscii = false, indent = null, separators = null, sortKeys = false], run) =>
      toJson(value, { ensureAscii, indent, separators, sortKeys }, run),
  ),
  trim: ofText(["chars"], (text, [chars]) => strip(text, chars)),
  truncate: filter(["length", "killwords", "end", "leeway"], truncateText),
  upper: ofText([], (text) => text.toUpperCase()),
  urlencode: filter([], encodeUrl),
  wordcount: filter([], (value, _args, run) => strOf(value, run).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0),
  xmlattr: filter(["autospace"], xmlAttributes),
};
