import {
  bytesOf,
  type CommandContext,
  errorText,
  type GnuCommand,
  linesOf,
  pathOf,
  readInputs,
  unicodeText,
  UsageError,
} from "../command.ts";
import { compareVersions } from "../files/ls.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";

const OPTIONS =
  "b,ignore-leading-blanks:d,dictionary-order:f,ignore-case:g,general-numeric-sort:i,ignore-nonprinting:" +
  "M,month-sort:h,human-numeric-sort:n,numeric-sort:R,random-sort:random-source=:r,reverse:sort=:V,version-sort:" +
  "batch-size=:c,check?:C:compress-program=:debug:files0-from=:k,key=:m,merge:o,output=:s,stable:S,buffer-size=:" +
  "t,field-separator=:T,temporary-directory=:parallel=:u,unique:z,zero-terminated";
const FAILED = 2;
const ORDERS = "bdfgiMhnRrV";

/** A part of a line by which lines are compared, and how. */
interface SortKey {
  readonly from: Position;
  readonly to: Position | undefined;
  /** Letters of options. */
  readonly order: string;
}

interface Position {
  readonly field: number;
  readonly character: number;
  readonly skipsBlanks: boolean;
}

/** `sort` of GNU coreutils 9.1 in a locale that compares bytes. */
export const sort: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS, {
    exitCode: FAILED,
    rewrite: (word) => /^\+\d/.test(word) ? [] : undefined,
  });
  const globalOrder = orderOf(options);
  const separator = separatorOf(options);
  const keys = options.values("k").map((text) => readKey(text, globalOrder));
  const end = options.has("z") ? "\0" : "\n";
  const names = options.has("files0-from")
    ? filesFrom(options.value("files0-from") ?? "", context)
    : options.operands;
  const { inputs, failed } = readAll(names, context);
  if (failed) return FAILED;
  const lines = inputs.flatMap(({ text }) =>
    linesOf(text, end).map((line) => line.endsWith(end) ? line.slice(0, -1) : line)
  );
  const compareKeys = comparatorOf(keys.length > 0 ? keys : [wholeLine(globalOrder)], separator);
  const isStable = options.has("s") || options.has("u");
  const sign = keys.length === 0 || globalOrder.includes("r") ? (globalOrder.includes("r") ? -1 : 1) : 1;
  const compare = (a: string, b: string) => compareKeys(a, b) || (isStable ? 0 : sign * compareBytes(a, b));
  if (options.has("c") || options.has("C")) {
    return check(lines, { compare, options, name: names[0] ?? "-", context });
  }
  const sorted = options.has("R") ? shuffle(lines) : lines.sort(withPoll(compare, context));
  const kept = options.has("u")
    ? sorted.filter((line, at) => at === 0 || compareKeys(sorted[at - 1] ?? "", line) !== 0)
    : sorted;
  const text = kept.length > 0 ? kept.join(end) + end : "";
  const output = options.value("o");
  if (output === undefined) context.print(text);
  else {
    try {
      context.files.write(pathOf(context.cwd, output), bytesOf(text));
    } catch (error) {
      throw new UsageError(`open failed: ${unicodeText(output)}: ${errorText(error)}`, {
        exitCode: FAILED,
        hasHint: false,
      });
    }
  }
  return 0;
};

function withPoll(
  compare: (a: string, b: string) => number,
  { poll }: CommandContext,
): (a: string, b: string) => number {
  let rounds = 0;
  return (a, b) => {
    if ((++rounds & 1023) === 0) poll();
    return compare(a, b);
  };
}

function readAll(names: readonly string[], context: CommandContext): ReturnType<typeof readInputs> {
  return readInputs(names, context, (text) => context.warn(`cannot read: ${text}`));
}

function filesFrom(name: string, context: CommandContext): string[] {
  const { inputs } = readInputs([name], context);
  return (inputs[0]?.text ?? "").split("\0").filter((path) => path !== "");
}

function orderOf(options: ParsedOptions): string {
  const words: Readonly<Record<string, string>> = {
    "general-numeric": "g",
    "human-numeric": "h",
    month: "M",
    numeric: "n",
    random: "R",
    version: "V",
  };
  const letters = options.given.map(({ name, value }) => name === "sort" ? words[value] ?? "" : name);
  return letters.filter((letter) => letter.length === 1 && ORDERS.includes(letter)).join("");
}

function separatorOf(options: ParsedOptions): string | undefined {
  const text = options.value("t");
  if (text === undefined) return undefined;
  if (text === "\\0") return "\0";
  if (text === "") throw new UsageError("empty tab", { exitCode: FAILED, hasHint: false });
  if (text.length > 1) {
    throw new UsageError(`multi-character tab '${unicodeText(text)}'`, { exitCode: FAILED, hasHint: false });
  }
  return text;
}

function wholeLine(order: string): SortKey {
  return { from: { field: 1, character: 1, skipsBlanks: order.includes("b") }, to: undefined, order };
}

function readKey(text: string, globalOrder: string): SortKey {
  const [, field, character, first = "", toField, toCharacter, last = ""] =
    /^(\d+)(?:\.(\d+))?([a-zA-Z]*)(?:,(\d+)(?:\.(\d+))?([a-zA-Z]*))?$/.exec(text) ?? [];
  const unknown = /[^bdfgiMhnRrV]/.exec(first + last);
  if (field === undefined || unknown) {
    throw new UsageError(`invalid number at field start: invalid count at start of '${unicodeText(text)}'`, {
      exitCode: FAILED,
      hasHint: false,
    });
  }
  if (field === "0") {
    throw new UsageError(`field number is zero: invalid field specification '${unicodeText(text)}'`, {
      exitCode: FAILED,
      hasHint: false,
    });
  }
  const own = first + last;
  const order = own === "" ? globalOrder : own;
  return {
    from: {
      field: Number(field),
      character: Number(character ?? 1),
      skipsBlanks: (own === "" ? order : first).includes("b"),
    },
    to: toField === undefined ? undefined : {
      field: Number(toField),
      character: Number(toCharacter ?? 0),
      skipsBlanks: (own === "" ? order : last).includes("b"),
    },
    order,
  };
}

/** Returns where the fields of a line begin and end. Without a separator, a field has the blanks before it. */
function fieldRange(
  line: string,
  separator: string | undefined,
  number: number,
): { start: number; end: number } {
  let start = 0;
  for (let field = 1;; field++) {
    let end = start;
    if (separator === undefined) {
      while (end < line.length && isBlank(line.charCodeAt(end))) end++;
      while (end < line.length && !isBlank(line.charCodeAt(end))) end++;
    } else {
      end = line.indexOf(separator, start);
      if (end < 0) end = line.length;
    }
    if (field === number) return { start, end };
    if (end >= line.length) return { start: line.length, end: line.length };
    start = separator === undefined ? end : end + 1;
  }
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 10;
}

function skipBlanks(line: string, at: number): number {
  while (at < line.length && isBlank(line.charCodeAt(at))) at++;
  return at;
}

function keyOf(line: string, { from, to }: SortKey, separator: string | undefined): string {
  let { start } = fieldRange(line, separator, from.field);
  if (from.skipsBlanks) start = skipBlanks(line, start);
  start = Math.min(line.length, start + from.character - 1);
  if (!to) return line.slice(start);
  const range = fieldRange(line, separator, to.field);
  if (to.character === 0) return line.slice(start, range.end);
  const first = to.skipsBlanks ? skipBlanks(line, range.start) : range.start;
  return line.slice(start, Math.min(line.length, first + to.character));
}

function comparatorOf(
  keys: readonly SortKey[],
  separator: string | undefined,
): (a: string, b: string) => number {
  const parts = keys.map((key) => ({
    key,
    compare: keyComparator(key.order),
    sign: key.order.includes("r") ? -1 : 1,
  }));
  const isWhole = (key: SortKey) =>
    key.from.field === 1 && key.from.character === 1 && !key.to && !key.from.skipsBlanks;
  return (a, b) => {
    for (const { key, compare, sign } of parts) {
      const order = isWhole(key)
        ? compare(a, b)
        : compare(keyOf(a, key, separator), keyOf(b, key, separator));
      if (order !== 0) return sign * order;
    }
    return 0;
  };
}

function compareBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function keyComparator(order: string): (a: string, b: string) => number {
  if (order.includes("n")) return compareNumeric;
  if (order.includes("g")) return (a, b) => compareGeneral(generalValue(a), generalValue(b));
  if (order.includes("h")) return compareHuman;
  if (order.includes("M")) return (a, b) => monthOf(a) - monthOf(b);
  if (order.includes("V")) return compareVersions;
  const clean = (text: string) => {
    let kept = text;
    if (order.includes("d")) kept = kept.replace(/[^ \ta-zA-Z0-9]/g, "");
    if (order.includes("i")) kept = kept.replace(/[^ -~]/g, "");
    return order.includes("f") ? kept.replace(/[a-z]+/g, (letters) => letters.toUpperCase()) : kept;
  };
  return /[dif]/.test(order) ? (a, b) => compareBytes(clean(a), clean(b)) : compareBytes;
}

const NUMBER = /^[ \t]*(-?)0*(\d*)(?:\.(\d*))?/;

/** Compares decimal numbers at the beginning of texts, digit by digit, so that no digit is lost. */
function compareNumeric(a: string, b: string): number {
  const [, signA = "", wholeA = "", fractionA = ""] = NUMBER.exec(a) ?? [];
  const [, signB = "", wholeB = "", fractionB = ""] = NUMBER.exec(b) ?? [];
  const [zeroA, zeroB] = [isZero(wholeA, fractionA), isZero(wholeB, fractionB)];
  const [minusA, minusB] = [signA === "-" && !zeroA, signB === "-" && !zeroB];
  if (minusA !== minusB) return minusA ? -1 : 1;
  const order = wholeA.length - wholeB.length || compareBytes(wholeA, wholeB) ||
    compareBytes(fractionA.replace(/0+$/, ""), fractionB.replace(/0+$/, ""));
  return minusA ? -order : order;
}

function isZero(whole: string, fraction: string): boolean {
  return whole === "" && /^0*$/.test(fraction);
}

/** Value of a floating-point number at the beginning of a text; `undefined` if there is none. */
function generalValue(text: string): number | undefined {
  const [number] =
    /^[ \t]*[-+]?(?:inf(?:inity)?|nan|0x[\da-f]+(?:\.[\da-f]*)?|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/i.exec(
      text,
    ) ?? [];
  if (number === undefined) return undefined;
  const word = number.trim().toLowerCase().replace(/^\+/, "");
  if (word.endsWith("nan")) return NaN;
  if (/inf/.test(word)) return word.startsWith("-") ? -Infinity : Infinity;
  return Number(word);
}

/** Texts without a number come first, then NaN, then numbers. */
function compareGeneral(a: number | undefined, b: number | undefined): number {
  const rank = (value: number | undefined) => value === undefined ? 0 : Number.isNaN(value) ? 1 : 2;
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (a === undefined || b === undefined || Number.isNaN(a)) return 0;
  return a < b ? -1 : a > b ? 1 : 0;
}

const SUFFIXES = "KMGTPEZY";

function compareHuman(a: string, b: string): number {
  const rank = (text: string) => {
    const [, sign = "", digits = "", suffix = ""] = /^[ \t]*(-?)([\d.]*)([kKMGTPEZY]?)/.exec(text) ?? [];
    const power = suffix === "" ? 0 : 1 + SUFFIXES.indexOf(suffix.toUpperCase());
    const isNothing = /^[0.]*$/.test(digits);
    return isNothing ? 0 : (sign === "-" ? -1 : 1) * (power + 1);
  };
  return rank(a) - rank(b) || compareNumeric(a, b);
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

function monthOf(text: string): number {
  return 1 + MONTHS.indexOf(text.trimStart().slice(0, 3).toUpperCase());
}

function shuffle(lines: readonly string[]): string[] {
  const order = new Map([...new Set(lines)].map((line) => [line, Math.random()]));
  return lines.toSorted((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
}

function check(
  lines: readonly string[],
  { compare, options, name, context }: {
    compare: (a: string, b: string) => number;
    options: ParsedOptions;
    name: string;
    context: CommandContext;
  },
): number {
  const limit = options.has("u") ? 0 : 1;
  const at = lines.findIndex((line, index) => index > 0 && compare(lines[index - 1] ?? "", line) >= limit);
  if (at < 0) return 0;
  const isQuiet = options.has("C") || /^(?:quiet|silent)$/.test(options.value("c") ?? "");
  if (!isQuiet) context.warn(`${unicodeText(name)}:${at + 1}: disorder: ${unicodeText(lines[at] ?? "")}`);
  return 1;
}

const UNIQ_OPTIONS =
  "c,count:d,repeated:D:all-repeated?:f,skip-fields=:group?:i,ignore-case:s,skip-chars=:u,unique:" +
  "w,check-chars=:z,zero-terminated";

/** `uniq` of GNU coreutils 9.1. */
export const uniq: GnuCommand = (args, context) => {
  const options = parseOptions(args, UNIQ_OPTIONS);
  const [input = "-", output, extra] = options.operands;
  if (extra !== undefined) throw new UsageError(`extra operand '${unicodeText(extra)}'`);
  const end = options.has("z") ? "\0" : "\n";
  const { inputs, failed } = readInputs([input], context);
  if (failed) return 1;
  const count = (name: string) => {
    const text = options.value(name);
    if (text === undefined) return undefined;
    if (!/^\d+$/.test(text)) {
      throw new UsageError(
        `${unicodeText(text)}: invalid number of ${
          name === "f" ? "fields to skip" : name === "s" ? "bytes to skip" : "bytes to compare"
        }`,
        { hasHint: false },
      );
    }
    return Number(text);
  };
  const [fields = 0, skipped = 0, width] = [count("f"), count("s"), count("w")];
  const keyFor = (line: string) => {
    let at = 0;
    for (let field = 0; field < fields; field++) {
      at = skipBlanks(line, at);
      while (at < line.length && !isBlank(line.charCodeAt(at))) at++;
    }
    const key = line.slice(at + skipped, width === undefined ? undefined : at + skipped + width);
    return options.has("i") ? key.toLowerCase() : key;
  };
  const groups: string[][] = [];
  let last: string | undefined;
  for (const part of linesOf(inputs[0]?.text ?? "", end)) {
    const line = part.endsWith(end) ? part.slice(0, -1) : part;
    const key = keyFor(line);
    if (key === last) groups.at(-1)?.push(line);
    else groups.push([line]);
    last = key;
  }
  const text = formatGroups(groups, options, end);
  if (output === undefined || output === "-") context.print(text);
  else context.files.write(pathOf(context.cwd, output), bytesOf(text));
  return 0;
};

function formatGroups(groups: readonly (readonly string[])[], options: ParsedOptions, end: string): string {
  const showsAll = options.has("D") || options.has("all-repeated");
  if (options.has("group")) {
    const method = options.value("group") || "separate";
    const text = groups.map((group) => group.map((line) => line + end).join("")).join(end);
    return (method === "prepend" || method === "both" ? end : "") + text +
      (method === "append" || method === "both" ? end : "");
  }
  if (showsAll) {
    const method = options.value("all-repeated") || "none";
    const repeated = groups.filter(({ length }) => length > 1).map((group) =>
      group.map((line) => line + end).join("")
    );
    if (method === "prepend") return repeated.map((text) => end + text).join("");
    return repeated.join(method === "separate" ? end : "");
  }
  return groups
    .filter(({ length }) => !(options.has("d") && length === 1) && !(options.has("u") && length > 1))
    .map((group) => (options.has("c") ? `${String(group.length).padStart(7)} ` : "") + (group[0] ?? "") + end)
    .join("");
}
