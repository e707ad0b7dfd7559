import {
  type CommandContext,
  type GnuCommand,
  linesOf,
  readInputs,
  unicodeText,
  UsageError,
} from "../command.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";

function fail(message: string): never {
  throw new UsageError(message, { hasHint: false });
}

function readPair(
  options: ParsedOptions,
  context: CommandContext,
  end: string,
): [string[], string[]] | undefined {
  const [first, second, third] = options.operands;
  if (first === undefined) throw new UsageError("missing operand");
  if (second === undefined) throw new UsageError(`missing operand after '${unicodeText(first)}'`);
  if (third !== undefined) throw new UsageError(`extra operand '${unicodeText(third)}'`);
  const lines = [first, second].map((name) => {
    const { inputs, failed } = readInputs([name], context);
    if (failed) return undefined;
    return linesOf(inputs[0]?.text ?? "", end).map((line) => line.endsWith(end) ? line.slice(0, -1) : line);
  });
  const [a, b] = lines;
  return a && b ? [a, b] : undefined;
}

/** Reports lines that are out of order. Returns whether there are any. */
class OrderCheck {
  failed = false;
  readonly #seen = new Set<number>();
  readonly #report: (file: number, line: string, at: number) => void;

  constructor(report: (file: number, line: string, at: number) => void) {
    this.#report = report;
  }

  check(file: number, keys: readonly string[], at: number): void {
    if (at === 0 || at >= keys.length || this.#seen.has(file)) return;
    if ((keys[at - 1] ?? "") <= (keys[at] ?? "")) return;
    this.#seen.add(file);
    this.failed = true;
    this.#report(file, keys[at] ?? "", at);
  }
}

/** `comm` of GNU coreutils 9.1 in a locale that compares bytes. */
export const comm: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "1:2:3:check-order:nocheck-order:output-delimiter=:total:z,zero-terminated",
  );
  const end = options.has("z") ? "\0" : "\n";
  const pair = readPair(options, context, end);
  if (!pair) return 1;
  const separator = options.value("output-delimiter") ?? "\t";
  const shows = ["1", "2", "3"].map((name) => !options.has(name));
  const indent = (column: number) =>
    separator.repeat(shows.slice(0, column).filter((isShown) => isShown).length);
  const counts: [number, number, number] = [0, 0, 0];
  let output = "";
  const isStrict = options.has("check-order");
  const order = new OrderCheck((file) => context.warn(`file ${file + 1} is not in sorted order`));
  const [a, b] = pair;
  let isUnpaired = false;
  let [i, j] = [0, 0];
  const step = (column: 0 | 1 | 2, line: string) => {
    counts[column]++;
    if (column < 2) isUnpaired = true;
    if (shows[column]) output += indent(column) + line + end;
  };
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) step(2, left);
    const takesLeft = left !== undefined && (right === undefined || left <= right);
    const takesRight = right !== undefined && (left === undefined || right <= left);
    if (takesLeft && !takesRight) step(0, left);
    if (takesRight && !takesLeft) step(1, right);
    if (takesLeft) i++;
    if (takesRight) j++;
    if (options.has("nocheck-order") || !isStrict && !isUnpaired) continue;
    if (takesLeft) order.check(0, a, i);
    if (takesRight) order.check(1, b, j);
    if (isStrict && order.failed) break;
  }
  if (options.has("total") && !(isStrict && order.failed)) {
    output += [...counts, "total"].join(separator) + end;
  }
  context.print(output);
  if (order.failed && !isStrict) context.warn("input is not in sorted order");
  return order.failed ? 1 : 0;
};

const JOIN_OPTIONS =
  "a=:e=:i,ignore-case:j=:o=:t=:v=:1=:2=:check-order:nocheck-order:header:z,zero-terminated";

/** `join` of GNU coreutils 9.1 in a locale that compares bytes. */
export const join: GnuCommand = (args, context) => {
  const options = parseOptions(args, JOIN_OPTIONS);
  const end = options.has("z") ? "\0" : "\n";
  const given = options.value("t");
  if (given !== undefined && given.length > 1 && given !== "\\0") {
    fail(`multi-character tab '${unicodeText(given)}'`);
  }
  const tab = given === "\\0" ? "\0" : given;
  const fieldOf = (name: string) => {
    const text = options.value(name) ?? options.value("j") ?? "1";
    return /^[1-9]\d*$/.test(text) ? Number(text) - 1 : fail(`invalid field number: '${unicodeText(text)}'`);
  };
  const [firstField, secondField] = [fieldOf("1"), fieldOf("2")];
  const pair = readPair(options, context, end);
  if (!pair) return 1;
  const split = (line: string) =>
    tab === undefined
      ? line.replace(/^[ \t]+/, "").split(/[ \t\n]+/).filter((_, at, all) =>
        at < all.length - 1 || all[at] !== ""
      )
      : tab === ""
      ? [line]
      : line.split(tab);
  const fold = (key: string) => options.has("i") ? key.toLowerCase() : key;
  const [a, b] = pair.map((lines) => lines.map(split));
  if (!a || !b) return 1;
  const keysOf = (rows: readonly string[][], field: number) => rows.map((row) => fold(row[field] ?? ""));
  const [keysA, keysB] = [keysOf(a, firstField), keysOf(b, secondField)];
  const separator = tab ?? " ";
  const empty = options.value("e") ?? "";
  const format = formatOf(options, { a: a[0], b: b[0], firstField, secondField });
  const lineOf = (left: string[] | undefined, right: string[] | undefined) => {
    const key = (left ? left[firstField] : right?.[secondField]) ?? "";
    if (format) {
      return format.map(({ file, field }) =>
        (file === 0 ? key : file === 1 ? left?.[field] : right?.[field]) || empty
      ).join(separator) + end;
    }
    const rest = (row: string[] | undefined, field: number) => (row ?? []).filter((_, at) => at !== field);
    return [key, ...rest(left, firstField), ...rest(right, secondField)].map((text) => text || empty).join(
      separator,
    ) + end;
  };
  const wanted = (name: string) =>
    options.values(name).map((text) =>
      /^[12]$/.test(text) ? text : fail(`invalid file number: '${unicodeText(text)}'`)
    );
  const alone = new Set([...wanted("a"), ...wanted("v")]);
  const showsPairs = !options.has("v");
  let output = "";
  let [i, j] = [0, 0];
  if (options.has("header")) {
    if (a[0] || b[0]) output += lineOf(a[0], b[0]);
    [i, j] = [Math.min(1, a.length), Math.min(1, b.length)];
  }
  const start = { a: i, b: j };
  let isUnpaired = false;
  while (i < a.length || j < b.length) {
    context.poll();
    const [left, right] = [keysA[i], keysB[j]];
    if (left !== undefined && left === right) {
      const [fromJ, key] = [j, left];
      let toJ = j;
      while (toJ < b.length && keysB[toJ] === key) toJ++;
      for (; i < a.length && keysA[i] === key; i++) {
        if (showsPairs) { for (let at = fromJ; at < toJ; at++) output += lineOf(a[i], b[at]); }
      }
      j = toJ;
    } else if (right === undefined || left !== undefined && left < right) {
      isUnpaired = true;
      if (alone.has("1")) output += lineOf(a[i], undefined);
      i++;
    } else {
      isUnpaired = true;
      if (alone.has("2")) output += lineOf(undefined, b[j]);
      j++;
    }
  }
  context.print(output);
  if (options.has("nocheck-order") || !isUnpaired && !options.has("check-order")) return 0;
  const order = new OrderCheck((file, _, at) => {
    const name = options.operands[file] ?? "-";
    context.warn(`${unicodeText(name)}:${at + 1}: is not sorted: ${unicodeText(pair[file]?.[at] ?? "")}`);
  });
  for (let at = start.a + 1; at < a.length; at++) order.check(0, keysA, at);
  for (let at = start.b + 1; at < b.length; at++) order.check(1, keysB, at);
  if (order.failed && !options.has("check-order")) context.warn("input is not in sorted order");
  return order.failed ? 1 : 0;
};

function formatOf(
  options: ParsedOptions,
  { a = [], b = [], firstField, secondField }: {
    a: string[] | undefined;
    b: string[] | undefined;
    firstField: number;
    secondField: number;
  },
): { file: number; field: number }[] | undefined {
  const text = options.values("o").join(",");
  if (text === "") return undefined;
  if (text === "auto") {
    const rest = (row: string[], file: number, own: number) =>
      row.map((_, field) => ({ file, field })).filter(({ field }) => field !== own);
    return [{ file: 0, field: 0 }, ...rest(a, 1, firstField), ...rest(b, 2, secondField)];
  }
  return text.split(/[, \t]/).map((word) => {
    const [, file, field] = /^(?:0|([12])\.([1-9]\d*))$/.exec(word) ??
      fail(`invalid field specifier: '${unicodeText(word)}'`);
    return { file: Number(file ?? 0), field: Number(field ?? 1) - 1 };
  });
}
