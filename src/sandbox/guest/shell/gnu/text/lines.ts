import { type GnuCommand, linesOf, readInputs, unicodeText, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";
import { compileExpression, findMatch } from "../regular_expression.ts";

function fail(message: string): never {
  throw new UsageError(message, { hasHint: false });
}

const NL_OPTIONS =
  "b,body-numbering=:d,section-delimiter=:f,footer-numbering=:h,header-numbering=:i,line-increment=:" +
  "l,join-blank-lines=:n,number-format=:p,no-renumber:s,number-separator=:v,starting-line-number=:w,number-width=";

/** Returns whether a line gets a number, for a style such as `a` or `pBRE`. */
function numbersLine(style: string): (line: string) => boolean {
  if (style === "a") return () => true;
  if (style === "t") return (line) => line !== "";
  if (style === "n") return () => false;
  if (!style.startsWith("p")) return fail(`invalid numbering style: '${unicodeText(style)}'`);
  const expression = compileExpression(unicodeText(style.slice(1)), "basic");
  return (line) => findMatch(expression, unicodeText(line), 0) !== null;
}

/** `nl` of GNU coreutils 9.1. */
export const nl: GnuCommand = (args, context) => {
  const options = parseOptions(args, NL_OPTIONS);
  const integer = (name: string, initial: number, what: string) => {
    const text = options.value(name);
    if (text === undefined) return initial;
    if (!/^[-+]?\d+$/.test(text) || name !== "v" && name !== "i" && Number(text) < 1) {
      fail(`invalid ${what}: '${unicodeText(text)}'`);
    }
    return Number(text);
  };
  const first = integer("v", 1, "starting line number");
  const increment = integer("i", 1, "line number increment");
  const width = integer("w", 6, "line number field width");
  const joined = integer("l", 1, "line number of blank lines");
  const format = options.value("n") ?? "rn";
  if (!/^(?:ln|rn|rz)$/.test(format)) fail(`invalid line numbering format: '${unicodeText(format)}'`);
  const separator = options.value("s") ?? "\t";
  const given = options.value("d") ?? "\\:";
  const mark = given.length === 1 ? `${given}:` : given;
  const styles = {
    header: numbersLine(options.value("h") ?? "n"),
    body: numbersLine(options.value("b") ?? "t"),
    footer: numbersLine(options.value("f") ?? "n"),
  };
  const joinsBlanks = options.value("b") === "a";
  const { inputs, failed } = readInputs(options.operands, context);
  let section: keyof typeof styles = "body";
  let number = first;
  let blanks = 0;
  let output = "";
  const sections = mark === ""
    ? new Map<string, keyof typeof styles>()
    : new Map<string, keyof typeof styles>([
      [mark.repeat(3), "header"],
      [mark.repeat(2), "body"],
      [mark, "footer"],
    ]);
  for (const part of inputs.flatMap(({ text }) => linesOf(text))) {
    const line = part.endsWith("\n") ? part.slice(0, -1) : part;
    const next = sections.get(line);
    if (next !== undefined) {
      section = next;
      if (!options.has("p")) number = first;
      blanks = 0;
      output += "\n";
      continue;
    }
    blanks = line === "" ? blanks + 1 : 0;
    const isJoined = line === "" && joinsBlanks && blanks % joined !== 0;
    if (!isJoined && styles[section](line)) {
      output += numberText(number, { width, format }) + separator + line + "\n";
      number += increment;
    } else output += `${" ".repeat(width + separator.length)}${line}\n`;
  }
  context.print(output);
  return failed ? 1 : 0;
};

function numberText(number: number, { width, format }: { width: number; format: string }): string {
  if (format === "ln") return String(number).padEnd(width);
  if (format === "rn") return String(number).padStart(width);
  const sign = number < 0 ? "-" : "";
  return sign + String(Math.abs(number)).padStart(width - sign.length, "0");
}

/** `tac` of GNU coreutils 9.1. */
export const tac: GnuCommand = (args, context) => {
  const options = parseOptions(args, "b,before:r,regex:s,separator=");
  const separator = options.value("s") ?? "\n";
  if (separator === "" && options.has("r")) fail("separator cannot be empty");
  const { inputs, failed } = readInputs(
    options.operands,
    context,
    (text) => context.warn(`failed to open '${text.replace(/: ([^:]*)$/, "' for reading: $1")}`),
  );
  for (const { text } of inputs) {
    const pieces = piecesOf(text, {
      separator: separator || "\0",
      isRegex: options.has("r"),
      isBefore: options.has("b"),
    });
    context.print(pieces.reverse().join(""));
  }
  return failed ? 1 : 0;
};

function piecesOf(
  text: string,
  { separator, isRegex, isBefore }: { separator: string; isRegex: boolean; isBefore: boolean },
): string[] {
  const cuts: number[] = [];
  if (isRegex) {
    // The command looks for separators from the end, so that a match of several bytes is a separator each.
    const expression = compileExpression(separator, "emacs");
    let limit = text.length;
    for (let at = text.length - 1; at >= 0; at--) {
      const match = findMatch(expression, text.slice(0, limit), at);
      if (match?.index !== at || match[0] === "") continue;
      cuts.unshift(isBefore ? at : at + match[0].length);
      limit = at;
    }
  } else {
    for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + separator.length)) {
      cuts.push(isBefore ? at : at + separator.length);
    }
  }
  const bounds = [...new Set([0, ...cuts, text.length])];
  return bounds.slice(1).map((end, at) => text.slice(bounds[at], end));
}
