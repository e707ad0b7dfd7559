import {
  bytesOf,
  type CommandContext,
  errorText,
  type GnuCommand,
  pathOf,
  textOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { formatPrintf } from "../printf.ts";
import { compileExpression } from "../regular_expression.ts";
import { fail, quoted } from "./operands.ts";

/** Where a piece ends: before a line of a number, or at a line that matches. */
interface Pattern {
  readonly text: string;
  readonly line?: number;
  readonly expression?: RegExp;
  readonly offset: number;
  /** Whether the lines before it are left out. */
  readonly isSkipped: boolean;
  /** How often the pattern is used once more. */
  readonly repeats: number;
}

const OPTIONS =
  "b,suffix-format=:f,prefix=:k,keep-files:n,digits=:s,quiet,silent:q:z,elide-empty-files:suppress-matched";
const SUFFIX = /^(?:[^%]|%%)*%[+\- #0']*\d*(?:\.\d*)?([^+\- #0'\d.])(?:[^%]|%%)*$/;

/** `csplit` of GNU coreutils 9.1. */
export const csplit: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS);
  const [name, ...words] = options.operands;
  if (name === undefined) throw new UsageError("missing operand");
  if (words.length === 0) throw new UsageError(`missing operand after ‘${unicodeText(name)}’`);
  const pieces = new Pieces(options, context);
  let text: string;
  try {
    text = name === "-" ? context.stdin : textOf(context.files.read(pathOf(context.cwd, name)));
  } catch (error) {
    return fail(`cannot open ${quoted(name)} for reading: ${errorText(error)}`);
  }
  const patterns = readPatterns(words, context.warn);
  const cutter = new Cutter(text, pieces, {
    suppressesMatch: options.has("suppress-matched"),
    poll: context.poll,
  });
  try {
    cutter.run(patterns);
    return 0;
  } catch (error) {
    if (error instanceof UsageError && !options.has("k")) pieces.remove();
    throw error;
  }
};

/** Reads the arguments that say where to split. */
function readPatterns(words: readonly string[], warn: CommandContext["warn"]): Pattern[] {
  const patterns: Pattern[] = [];
  let lastLine = 0;
  for (let at = 0; at < words.length; at++) {
    const text = words[at] ?? "";
    const pattern = /^[/%]/.test(text)
      ? readExpression(text)
      : { ...readLine(text), isSkipped: false, offset: 0 };
    if (pattern.line !== undefined) {
      if (pattern.line < lastLine) {
        fail(`line number ‘${text}’ is smaller than preceding line number, ${lastLine}`);
      }
      if (pattern.line === lastLine) {
        warn(`warning: line number ‘${text}’ is the same as preceding line number`);
      }
      lastLine = pattern.line;
    }
    const next = words[at + 1];
    const repeats = next?.startsWith("{") ? readRepeats(next) : 0;
    if (next?.startsWith("{")) at++;
    patterns.push({ ...pattern, text: unicodeText(text), repeats });
  }
  return patterns;
}

function readLine(text: string): { readonly line: number } {
  if (!/^\d+$/.test(text)) fail(`‘${unicodeText(text)}’: invalid pattern`);
  if (Number(text) === 0) fail(`${text}: line number must be greater than zero`);
  return { line: Number(text) };
}

function readExpression(text: string): Omit<Pattern, "text" | "repeats"> & { readonly line?: undefined } {
  const sign = text.charAt(0);
  const end = text.lastIndexOf(sign);
  if (end === 0) fail(`${unicodeText(text)}: closing delimiter '${sign}' missing`);
  const offset = text.slice(end + 1);
  if (!/^(?:[-+]?\d+)?$/.test(offset)) fail(`${unicodeText(text)}: integer expected after delimiter`);
  const expression = compileExpression(unicodeText(text.slice(1, end)), "basic");
  return { expression, offset: Number(offset), isSkipped: sign === "%" };
}

function readRepeats(word: string): number {
  const [, count] = /^\{(\d+|\*)\}$/.exec(word) ??
    fail(
      word.endsWith("}")
        ? `${unicodeText(word)}: integer required between '{' and '}'`
        : `${unicodeText(word)}: '}' is required in repeat count`,
    );
  return count === "*" ? Infinity : Number(count);
}

/** The files that are written. */
class Pieces {
  readonly #options: ParsedOptions;
  readonly #context: CommandContext;
  readonly #digits: number;
  readonly #format: string | undefined;
  #count = 0;

  constructor(options: ParsedOptions, context: CommandContext) {
    this.#options = options;
    this.#context = context;
    const digits = options.value("n") ?? "2";
    if (!/^\d+$/.test(digits)) fail(`invalid number: ‘${unicodeText(digits)}’`);
    this.#digits = Number(digits);
    this.#format = options.value("b");
    if (this.#format === undefined) return;
    if (!/(?:^|[^%])(?:%%)*%(?!%)/.test(this.#format)) fail("missing % conversion specification in suffix");
    const [, letter] = SUFFIX.exec(this.#format) ?? fail("too many % conversion specifications in suffix");
    if (letter && !/[diouxX]/.test(letter)) fail(`invalid conversion specifier in suffix: ${letter}`);
  }

  /** Writes lines to the next file, and prints its size. */
  add(lines: readonly string[]): void {
    const text = lines.join("");
    if (text === "" && this.#options.has("z")) return;
    const { files, cwd, print } = this.#context;
    const name = this.#name(this.#count++);
    try {
      files.write(pathOf(cwd, name), bytesOf(text));
    } catch (error) {
      fail(`${unicodeText(name)}: ${errorText(error)}`);
    }
    if (!this.#options.has("s") && !this.#options.has("q")) print(`${text.length}\n`);
  }

  /** Removes all files. */
  remove(): void {
    const { files, cwd } = this.#context;
    while (this.#count > 0) files.removeFile(pathOf(cwd, this.#name(--this.#count)));
  }

  #name(number: number): string {
    const prefix = this.#options.value("f") ?? "xx";
    const suffix = this.#format === undefined
      ? String(number).padStart(this.#digits, "0")
      : formatPrintf(this.#format, [String(number)], this.#context).text;
    return prefix + suffix;
  }
}

/** Cuts a text into pieces. */
class Cutter {
  readonly #lines: readonly string[];
  readonly #pieces: Pieces;
  readonly #suppressesMatch: boolean;
  readonly #poll: () => void;
  /** Index of the first line that is in no piece. */
  #start = 0;
  /** Index behind which the next expression is searched. */
  #current = -1;

  constructor(
    text: string,
    pieces: Pieces,
    { suppressesMatch, poll }: { readonly suppressesMatch: boolean; readonly poll: () => void },
  ) {
    this.#lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
    this.#pieces = pieces;
    this.#suppressesMatch = suppressesMatch;
    this.#poll = poll;
  }

  run(patterns: readonly Pattern[]): void {
    for (const pattern of patterns) {
      for (let round = 0; round <= pattern.repeats; round++) {
        this.#poll();
        if (pattern.line !== undefined) this.#cutAtLine(pattern, round);
        else if (!this.#cutAtMatch(pattern, round)) return;
      }
    }
    this.#pieces.add(this.#lines.slice(this.#start));
  }

  #cutAtLine({ line = 0, text }: Pattern, round: number): void {
    const end = line * (round + 1) - 1;
    const outOfRange = () =>
      fail(`‘${text}’: line number out of range${round > 0 ? ` on repetition ${round}` : ""}`);
    if (this.#suppressesMatch && this.#start >= this.#lines.length) outOfRange();
    this.#take(end);
    if (end > this.#lines.length) outOfRange();
    if (this.#suppressesMatch) this.#start++;
    else if (this.#start >= this.#lines.length) outOfRange();
  }

  /** Cuts where the expression matches next. Returns false if the text ended, as `{*}` allows. */
  #cutAtMatch({ expression, offset, isSkipped, text, repeats }: Pattern, round: number): boolean {
    const match = this.#nextMatch(expression);
    if (match === undefined) {
      if (!isSkipped) this.#take(this.#lines.length);
      if (repeats === Infinity) return false;
      return fail(`‘${text}’: match not found${round > 0 ? ` on repetition ${round}` : ""}`);
    }
    const end = match + offset;
    const isInRange = end >= this.#start && end <= this.#lines.length;
    if (isSkipped && isInRange) this.#start = end;
    else if (!isSkipped) this.#take(Math.max(end, this.#start));
    if (!isInRange) fail(`‘${text}’: line number out of range`);
    this.#current = Math.max(match, end);
    if (this.#suppressesMatch) this.#start++;
    return true;
  }

  #nextMatch(expression: RegExp | undefined): number | undefined {
    if (!expression) return undefined;
    for (let index = Math.max(this.#current + 1, this.#start); index < this.#lines.length; index++) {
      this.#poll();
      const line = this.#lines[index] ?? "";
      if (unicodeText(line.replace(/\n$/, "")).search(expression) >= 0) return index;
    }
    return undefined;
  }

  /** Makes the lines before an index a piece. */
  #take(end: number): void {
    this.#pieces.add(this.#lines.slice(this.#start, end));
    this.#start = Math.max(this.#start, Math.min(end, this.#lines.length));
  }
}
