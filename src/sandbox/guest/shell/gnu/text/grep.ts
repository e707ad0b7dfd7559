import {
  byteText,
  type CommandContext,
  errorText,
  type GnuCommand,
  linesOf,
  pathOf,
  statusOf,
  textOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { globExpression } from "../glob.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { compileExpression, compilePerlExpression, findMatch, KEPT_GROUP } from "../regular_expression.ts";

/** Options of `grep`. */
export const GREP_OPTIONS =
  "E,extended-regexp:F,fixed-strings:G,basic-regexp:P,perl-regexp:e,regexp=:f,file=:i,ignore-case:y:" +
  "no-ignore-case:v,invert-match:w,word-regexp:x,line-regexp:c,count:color?:colour?:L,files-without-match:" +
  "l,files-with-matches:m,max-count=:o,only-matching:q,quiet:silent:s,no-messages:b,byte-offset:" +
  "H,with-filename:h,no-filename:label=:n,line-number:Z,null:A,after-context=:" +
  "B,before-context=:C,context=:group-separator=:no-group-separator:a,text:binary-files=:D,devices=:" +
  "d,directories=:exclude=:exclude-from=:exclude-dir=:I:include=:r,recursive:R,dereference-recursive:" +
  "line-buffered:U,binary:z,null-data:V,version:help:0:1:2:3:4:5:6:7:8:9";

/** Exit code of an error. */
const TROUBLE = 2;

/** Start and end of a match in the decoded line. */
interface Match {
  readonly start: number;
  readonly end: number;
}

interface Settings {
  readonly find: (line: string, from: number) => Match | undefined;
  readonly isInverted: boolean;
  readonly shows: "lines" | "matches" | "count" | "names" | "nothing";
  /** Whether `names` name the files without a match. */
  readonly namesMisses: boolean;
  readonly maxCount: number;
  readonly showsNames: boolean;
  readonly showsNumbers: boolean;
  readonly showsOffsets: boolean;
  readonly nameEnd: string;
  readonly before: number;
  readonly after: number;
  readonly separator: string | undefined;
  readonly lineEnd: string;
  readonly binary: "binary" | "text" | "without-match";
  readonly isColored: boolean;
  readonly label: string;
}

/** `grep` of GNU grep 3.8. */
export const grep: GnuCommand = (args, context) => searchInputs(args, context, "basic");
/** `egrep`: `grep -E`. */
export const egrep: GnuCommand = (args, context) => searchInputs(args, context, "extended");
/** `fgrep`: `grep -F`. */
export const fgrep: GnuCommand = (args, context) => searchInputs(args, context, "fixed");

type Syntax = "basic" | "extended" | "fixed" | "perl";

const SYNTAXES: Readonly<Record<string, Syntax>> = { E: "extended", F: "fixed", G: "basic", P: "perl" };

function searchInputs(args: readonly string[], context: CommandContext, initial: Syntax): number {
  const options = parseOptions(args, GREP_OPTIONS, { exitCode: TROUBLE });
  if (options.has("V")) {
    context.print("grep (GNU grep) 3.8\n");
    return 0;
  }
  if (options.has("help")) {
    context.print("Usage: grep [OPTION]... PATTERNS [FILE]...\n");
    return 0;
  }
  const operands = [...options.operands];
  const patterns = readPatterns(options, operands, context);
  const syntax = options.given.reduce((kind, { name }) => SYNTAXES[name] ?? kind, initial);
  const isRecursive = options.has("r") || options.has("R") || options.value("d") === "recurse";
  const names = operands.length > 0 ? operands : [isRecursive ? "" : "-"];
  const settings = readSettings(
    options,
    createFinder(patterns, syntax, { options, warn: context.warn }),
    names,
    isRecursive && !isOneFile(names, context),
  );
  if (settings.maxCount === 0) return 1;
  const search = new Search(settings, options, context, isRecursive);
  for (const name of names) search.open(name, true);
  return search.exitCode;
}

function readPatterns(options: ParsedOptions, operands: string[], context: CommandContext): string[] {
  const lists = options.given.flatMap(({ name, value }) =>
    name === "e" ? [value] : name === "f" ? [readPatternFile(value, context)] : []
  );
  if (lists.length === 0) {
    const pattern = operands.shift();
    if (pattern === undefined) {
      throw new UsageError("a pattern is missing\nUsage: grep [OPTION]... PATTERNS [FILE]...", {
        exitCode: TROUBLE,
      });
    }
    lists.push(pattern);
  }
  return lists.flatMap((list) => list === NO_PATTERNS ? [] : list.split("\n"));
}

/** True if the only operand is no folder. */
function isOneFile([name, ...others]: readonly string[], { files, cwd }: CommandContext): boolean {
  if (name === undefined || name === "" || others.length > 0) return false;
  const status = statusOf(files, pathOf(cwd, name));
  return status !== undefined && status.kind !== "directory";
}

/** An empty file of patterns, in which none matches. */
const NO_PATTERNS = "\0none";

function readPatternFile(name: string, context: CommandContext): string {
  try {
    const text = name === "-" ? context.stdin : textOf(context.files.read(pathOf(context.cwd, name)));
    return text === "" ? NO_PATTERNS : text.replace(/\n$/, "");
  } catch (error) {
    throw new UsageError(`${unicodeText(name)}: ${errorText(error)}`, {
      exitCode: TROUBLE,
      hasHint: false,
    });
  }
}

function countOf(options: ParsedOptions, name: string): number | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  const isNumber = name === "m" ? /^-?\d+$/.test(text) : /^\d+$/.test(text);
  if (!isNumber) {
    throw new UsageError(name === "m" ? "invalid max count" : `${text}: invalid context length argument`, {
      exitCode: TROUBLE,
      hasHint: false,
    });
  }
  return Number(text) < 0 ? Infinity : Number(text);
}

function readSettings(
  options: ParsedOptions,
  find: Settings["find"],
  names: readonly string[],
  namesFiles: boolean,
): Settings {
  const digits = options.given.filter(({ name }) => /^\d$/.test(name)).map(({ name }) => name).join("");
  const around = countOf(options, "C") ?? (digits === "" ? 0 : Number(digits));
  const binary = options.given.reduce(
    (kind, { name, value }) =>
      name === "a" ? "text" : name === "I" ? "without-match" : name === "binary-files" ? value : kind,
    "binary",
  );
  if (binary !== "binary" && binary !== "text" && binary !== "without-match") {
    throw new UsageError("invalid argument for '--binary-files'", { exitCode: TROUBLE });
  }
  const naming = options.given.findLast(({ name }) => name === "H" || name === "h")?.name;
  const listing = options.given.findLast(({ name }) => name === "l" || name === "L")?.name;
  const color = options.value("color") ?? options.value("colour");
  const isQuiet = options.has("q") || options.has("silent");
  return {
    find,
    isInverted: options.has("v"),
    shows: isQuiet
      ? "nothing"
      : listing
      ? "names"
      : options.has("c")
      ? "count"
      : options.has("o")
      ? "matches"
      : "lines",
    namesMisses: listing === "L",
    maxCount: countOf(options, "m") ?? Infinity,
    showsNames: naming ? naming === "H" : names.length > 1 || namesFiles,
    showsNumbers: options.has("n"),
    showsOffsets: options.has("b"),
    nameEnd: options.has("Z") ? "\0" : "",
    before: countOf(options, "B") ?? around,
    after: countOf(options, "A") ?? around,
    separator: options.has("no-group-separator") ? undefined : options.value("group-separator") ?? "--",
    lineEnd: options.has("z") ? "\0" : "\n",
    binary,
    isColored: color === "always" || color === "yes" || color === "force",
    label: options.value("label") ?? "(standard input)",
  };
}

/** Warns of signs such as `*` at the start of an expression, where nothing can be repeated. */
function warnOfRepetitions(pattern: string, warn: CommandContext["warn"]): void {
  const starts = pattern.matchAll(/\\.|\[\^?\]?(?:\[:\w+:\]|[^\]])*\]|(?:^|[(|])([*+?])/gs);
  for (const [, sign] of starts) {
    if (sign !== undefined) warn(`warning: ${sign} at start of expression`);
  }
}

/** Returns a function that finds the leftmost match, and the longest of those, at or behind a position. */
function createFinder(
  patterns: readonly string[],
  syntax: Syntax,
  { options, warn }: { readonly options: ParsedOptions; readonly warn: CommandContext["warn"] },
): Settings["find"] {
  const whole = options.has("x") ? "line" : options.has("w") ? "word" : undefined;
  const icase = options.given.findLast(({ name }) => "iy".includes(name) || name === "no-ignore-case");
  const ignoreCase = icase !== undefined && icase.name !== "no-ignore-case";
  const settings = { ignoreCase, whole, isMultiline: false } as const;
  if (syntax === "perl" && patterns.length > 1) {
    throw new UsageError("the -P option only supports a single pattern", {
      exitCode: TROUBLE,
      hasHint: false,
    });
  }
  const expressions = patterns.map((pattern) => {
    const text = unicodeText(pattern);
    if (syntax === "extended") warnOfRepetitions(text, warn);
    try {
      return syntax === "perl" ? compilePerlExpression(text, settings) : compileExpression(
        syntax === "fixed" ? text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") : text,
        syntax === "fixed" ? "extended" : syntax,
        settings,
      );
    } catch (error) {
      if (error instanceof UsageError) {
        throw new UsageError(error.message, { exitCode: TROUBLE, hasHint: false });
      }
      if (!(error instanceof SyntaxError)) throw error;
      throw new UsageError(`invalid expression: ${text}`, { exitCode: TROUBLE, hasHint: false });
    }
  });
  return (line, from) => {
    let best: Match | undefined;
    for (const expression of expressions) {
      const found = syntax === "perl" ? execFrom(expression, line, from) : findMatch(expression, line, from);
      if (!found) continue;
      const end = found.index + found[0].length;
      const match = { start: end - (found.groups?.[KEPT_GROUP] ?? found[0]).length, end };
      if (!best || match.start < best.start || (match.start === best.start && match.end > best.end)) {
        best = match;
      }
    }
    return best;
  };
}

function execFrom(expression: RegExp, line: string, from: number): RegExpExecArray | null {
  expression.lastIndex = from;
  return expression.exec(line);
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

class Search {
  exitCode = 1;
  readonly #settings: Settings;
  readonly #options: ParsedOptions;
  readonly #context: CommandContext;
  readonly #isRecursive: boolean;
  readonly #skipped: ((name: string, isFolder: boolean, isOperand: boolean) => boolean)[] = [];
  #hasPrinted = false;
  #hasFailed = false;
  #isDone = false;

  constructor(settings: Settings, options: ParsedOptions, context: CommandContext, isRecursive: boolean) {
    this.#settings = settings;
    this.#options = options;
    this.#context = context;
    this.#isRecursive = isRecursive;
    this.#readFilters();
  }

  /** Reads `--include`, `--exclude` and `--exclude-dir`. */
  #readFilters(): void {
    const options = this.#options;
    const patternsOf = (name: string) =>
      options.values(name).map((text) => globExpression(unicodeText(text)));
    const rules = options.given.filter(({ name }) => name === "include" || name === "exclude");
    const excludedFolders = options.values("exclude-dir").map((text) =>
      globExpression(unicodeText(text).replace(/(?<=.)\/+$/, ""))
    );
    const [includes, excludes] = [patternsOf("include"), patternsOf("exclude")];
    const isAny = (patterns: readonly RegExp[], name: string) => {
      const text = unicodeText(name);
      const parts = text.split("/");
      return patterns.some((pattern) => parts.some((_, at) => pattern.test(parts.slice(at).join("/"))));
    };
    if (options.has("exclude-from")) {
      throw new UsageError("the option --exclude-from is not available in the sandbox", {
        exitCode: TROUBLE,
        hasHint: false,
      });
    }
    this.#skipped.push((name, isFolder, isOperand) => {
      if (isFolder) {
        const text = unicodeText(name).replace(/(?<=.)\/+$/, "");
        return excludedFolders.some((pattern) =>
          pattern.test(text) || (!isOperand && pattern.test(text.slice(text.lastIndexOf("/") + 1)))
        );
      }
      if (rules.length === 0) return false;
      const last = rules.at(-1)?.name;
      const [included, excluded] = [isAny(includes, name), isAny(excludes, name)];
      if (excluded && (!included || last === "exclude")) return true;
      return includes.length > 0 && !included && (excludes.length === 0 || rules[0]?.name === "include");
    });
  }

  /** Searches a file, or a folder with all files in it. */
  open(name: string, isOperand: boolean): void {
    if (this.#isDone) return;
    const { files, cwd } = this.#context;
    const settings = this.#settings;
    if (name === "-" && isOperand) {
      this.#search(settings.label, this.#context.stdin);
      return;
    }
    const path = pathOf(cwd, name === "" ? "." : name);
    const follows = isOperand || this.#options.has("R");
    const status = statusOf(files, path, { follow: follows });
    if (!status) return this.#fail(name, "No such file or directory");
    if (status.kind === "link" && this.#isRecursive) return;
    const isFolder = status.kind === "directory";
    if (name !== "" && this.#skipped.some((skips) => skips(name, isFolder, isOperand))) return;
    if (isFolder && this.#isRecursive) {
      const prefix = name === "" || name.endsWith("/") ? name : `${name}/`;
      for (const inner of files.names(path)) this.open(prefix + inner, false);
      return;
    }
    if (isFolder) {
      if (this.#options.value("d") === "skip") return;
      this.#fail(name, "Is a directory");
      // A folder is an empty file beside the message.
      if (settings.shows === "count") this.#printName(name, ":", "0\n");
      if (settings.shows === "names" && settings.namesMisses) this.#printListed(name);
      return;
    }
    if (!isOperand && status.kind === "device") return;
    try {
      this.#search(name, textOf(files.read(path)));
    } catch (error) {
      this.#fail(name, errorText(error));
    }
  }

  #fail(name: string, message: string): void {
    this.#warn(`${name}: ${message}`);
    this.#hasFailed = true;
    if (!this.#isDone) this.exitCode = TROUBLE;
  }

  #warn(text: string): void {
    if (!this.#options.has("s")) this.#context.warn(unicodeText(text));
  }

  /** Records that a line was selected. */
  #succeed(): void {
    const { shows } = this.#settings;
    if (shows === "nothing") this.#isDone = true;
    if (!this.#hasFailed || shows === "nothing") this.exitCode = 0;
  }

  #search(name: string, text: string): void {
    const settings = this.#settings;
    const isBinary = settings.binary !== "text" && isBinaryText(text, settings.lineEnd);
    if (isBinary && settings.binary === "without-match") {
      if (settings.shows === "count") this.#printName(name, ":", "0\n");
      if (settings.shows === "names" && settings.namesMisses) {
        this.#printListed(name);
      }
      return;
    }
    const lines = linesOf(isBinary ? text.replaceAll("\0", settings.lineEnd) : text, settings.lineEnd);
    const printsLines = settings.shows === "lines" || settings.shows === "matches";
    let offset = 0;
    let selected = 0;
    let lastPrinted = -1;
    let pending = 0;
    const offsets: number[] = [];
    for (let at = 0; at < lines.length; at++) {
      this.#context.poll();
      const line = lines[at] ?? "";
      offsets.push(offset);
      offset += line.length;
      const bare = line.endsWith(settings.lineEnd) ? line.slice(0, -1) : line;
      const decoded = decodeLine(bare);
      const isSelected = (settings.find(decoded.text, 0) !== undefined) !== settings.isInverted;
      if (isSelected && selected < settings.maxCount) {
        selected++;
        if (isBinary && printsLines) {
          this.#succeed();
          this.#context.warn(`${unicodeText(name)}: binary file matches`);
          return;
        }
        if (settings.shows === "nothing" || settings.shows === "names") break;
        if (!printsLines) continue;
        const start = Math.max(lastPrinted + 1, at - settings.before);
        this.#separate(lastPrinted, start);
        if (settings.shows === "lines") {
          for (let before = start; before < at; before++) {
            this.#printLine(name, "-", before, offsets[before] ?? 0, lines[before] ?? "", false);
          }
          this.#printLine(name, ":", at, offsets[at] ?? 0, line, !settings.isInverted);
        } else if (!settings.isInverted) this.#printMatches(name, at, offsets[at] ?? 0, decoded);
        lastPrinted = at;
        pending = settings.after;
      } else if (pending > 0 && printsLines) {
        if (isSelected) break; // the context behind the last selected line ends at the next match
        if (settings.shows === "lines") {
          this.#printLine(name, "-", at, offsets[at] ?? 0, line, false);
        }
        lastPrinted = at;
        pending--;
      } else if (selected >= settings.maxCount) break;
    }
    if (settings.shows === "count") this.#printName(name, ":", `${selected}\n`);
    if (settings.shows === "names") {
      if (selected > 0 !== settings.namesMisses) this.#printListed(name);
    }
    if (selected > 0) this.#succeed();
  }

  /** Prints the separator between groups of lines. */
  #separate(lastPrinted: number, start: number): void {
    const { before, after, separator, isColored } = this.#settings;
    if (
      this.#hasPrinted && (before > 0 || after > 0) && separator !== undefined &&
      (lastPrinted < 0 || start > lastPrinted + 1)
    ) {
      this.#context.print(isColored ? `\x1b[36m\x1b[K${separator}\x1b[m\x1b[K\n` : `${separator}\n`);
    }
    this.#hasPrinted = true;
  }

  #printListed(name: string): void {
    const shown = this.#settings.isColored ? colored("35", name) : name;
    this.#context.print(`${shown}${this.#settings.nameEnd || "\n"}`);
  }

  #printName(name: string, sign: string, rest: string): void {
    const { showsNames, nameEnd, isColored } = this.#settings;
    const shown = isColored ? colored("35", name) : name;
    this.#context.print(showsNames ? shown + (nameEnd || this.#sign(sign)) + rest : rest);
  }

  #sign(sign: string): string {
    return this.#settings.isColored ? colored("36", sign) : sign;
  }

  /** Returns what precedes a line: its file, number and position. */
  #head(name: string, sign: string, index: number, offset: number): string {
    const { showsNames, showsNumbers, showsOffsets, nameEnd, isColored } = this.#settings;
    const paint = (color: string, text: string) => isColored ? colored(color, text) : text;
    let head = "";
    if (showsNames) head += paint("35", name) + (nameEnd || this.#sign(sign));
    if (showsNumbers) head += paint("32", String(index + 1)) + this.#sign(sign);
    if (showsOffsets) head += paint("32", String(offset)) + this.#sign(sign);
    return head;
  }

  #printLine(
    name: string,
    sign: string,
    index: number,
    offset: number,
    line: string,
    isMatch: boolean,
  ): void {
    const { lineEnd, isColored, find } = this.#settings;
    const bare = line.endsWith(lineEnd) ? line.slice(0, -1) : line;
    let shown = bare;
    if (isColored && isMatch) {
      const { text, encode } = decodeLine(bare);
      shown = "";
      let copied = 0;
      for (const { start, end } of matchesOf(text, find)) {
        shown += encode(text.slice(copied, start)) + colored("01;31", encode(text.slice(start, end)));
        copied = end;
      }
      shown += encode(text.slice(copied));
    }
    this.#context.print(this.#head(name, sign, index, offset) + shown + lineEnd);
  }

  #printMatches(name: string, index: number, offset: number, { text, encode }: DecodedLine): void {
    const { find, lineEnd, isColored } = this.#settings;
    for (const { start, end } of matchesOf(text, find)) {
      const found = encode(text.slice(start, end));
      const at = offset + encode(text.slice(0, start)).length;
      this.#context.print(
        this.#head(name, ":", index, at) + (isColored ? colored("01;31", found) : found) + lineEnd,
      );
    }
  }
}

function colored(color: string, text: string): string {
  return `\x1b[${color}m\x1b[K${text}\x1b[m\x1b[K`;
}

/** Returns the matches of a line that are not empty. */
function* matchesOf(text: string, find: Settings["find"]): Generator<Match> {
  for (let at = 0; at <= text.length;) {
    const match = find(text, at);
    if (!match) return;
    if (match.end > match.start) yield match;
    at = match.end > match.start ? match.end : match.end + 1;
  }
}

interface DecodedLine {
  readonly text: string;
  readonly isValid: boolean;
  /** Returns the bytes of a part of the text. */
  readonly encode: (text: string) => string;
}

function decodeLine(line: string): DecodedLine {
  // deno-lint-ignore no-control-regex
  if (!/[^\x00-\x7f]/.test(line)) return { text: line, isValid: true, encode: (text) => text };
  const bytes = Uint8Array.from(line, (sign) => sign.charCodeAt(0));
  try {
    return { text: strict.decode(bytes), isValid: true, encode: byteText };
  } catch {
    return { text: line, isValid: false, encode: (text) => text };
  }
}

/** Whether a text has bytes that no text has: null bytes, or such that are no UTF-8. */
function isBinaryText(text: string, lineEnd: string): boolean {
  if (lineEnd === "\n" && text.includes("\0")) return true;
  return !decodeLine(text).isValid;
}
