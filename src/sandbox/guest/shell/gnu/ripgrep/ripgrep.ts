import {
  bytesOf,
  byteText,
  type CommandContext,
  errorText,
  type GnuCommand,
  pathOf,
  statusOf,
  textOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { type Candidate, Candidates } from "./candidates.ts";
import { RipgrepExpression, TROUBLE } from "./expression.ts";
import { JsonOutput } from "./json_output.ts";
import { RipgrepPrinter } from "./printer.ts";
import { readText, type SearchText, type Selection, selectLines } from "./search.ts";
import { readSettings, type RipgrepSettings } from "./settings.ts";

/** Bytes in which a null byte shows that a file is no text, before any line is searched. */
const PROBE_BYTES = 65_536;
const STDIN = "<stdin>";
const USAGE = "USAGE:\n    rg [OPTIONS] PATTERN [PATH ...]\n    rg [OPTIONS] --files [PATH ...]\n";

/** `rg` of ripgrep 13, with the file types of later versions. Files are searched in the order of their names. */
export const rg: GnuCommand = (args, context) => {
  try {
    return runRipgrep(args, context);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const text = unicodeText(error.message);
    context.printError(
      error.hasHint ? `error: ${text}\n\n${USAGE}\nFor more information try --help\n` : `${text}\n`,
    );
    return TROUBLE;
  }
};

function runRipgrep(args: readonly string[], context: CommandContext): number {
  if (args.some((word) => word === "-V" || word === "--version")) {
    context.print("ripgrep 13.0.0\n");
    return 0;
  }
  if (args.some((word) => word === "-h" || word === "--help")) {
    context.print(`ripgrep 13.0.0\n\n${USAGE}`);
    return 0;
  }
  const settings = readSettings(args, context);
  const { options, types } = settings;
  if (options.has("type-list")) {
    context.print(types.lines().map((line) => `${line}\n`).join(""));
    return 0;
  }
  const run = new Ripgrep(settings, context);
  return options.has("files") ? run.listFiles() : run.search();
}

class Ripgrep {
  readonly #settings: RipgrepSettings;
  readonly #context: CommandContext;
  readonly #candidates: Candidates;
  #hasFailed = false;

  constructor(settings: RipgrepSettings, context: CommandContext) {
    this.#settings = settings;
    this.#context = context;
    this.#candidates = new Candidates(settings, context, (name, message) => this.#fail(name, message));
  }

  #fail(name: string, message: string): void {
    this.#hasFailed = true;
    if (!this.#settings.options.has("no-messages")) {
      this.#context.printError(`${unicodeText(name)}: ${unicodeText(message)}\n`);
    }
  }

  #exitCode(hasFound: boolean): number {
    const isQuietSuccess = hasFound && this.#settings.shown === "nothing";
    if (this.#hasFailed && !isQuietSuccess) return TROUBLE;
    return hasFound ? 0 : 1;
  }

  listFiles(): number {
    const end = this.#settings.options.has("0") ? "\0" : "\n";
    let hasFound = false;
    for (const { name } of this.#files()) {
      hasFound = true;
      if (this.#settings.options.has("q")) break;
      this.#context.print(name + end);
    }
    return this.#exitCode(hasFound);
  }

  /** The files to search in the order in which they are printed. */
  *#files(): Generator<Candidate> {
    const { options, paths } = this.#settings;
    const order = options.given.findLast(({ name }) => name === "sort" || name === "sortr");
    const found = paths
      ? paths.flatMap((name) => [...this.#candidates.of(name, name.endsWith("/") ? name : `${name}/`)])
      : this.#candidates.of(".", "");
    if (!order || (order.name === "sort" && ["path", "none"].includes(order.value))) return yield* found;
    const files = [...found];
    if (order.value === "modified") {
      const timeOf = ({ path }: Candidate) => this.#context.files.status(path).changedMs;
      files.sort((a, b) => timeOf(a) - timeOf(b));
    } else if (order.value !== "path" && order.value !== "none") {
      throw new UsageError(`sorting by '${order.value}' is not available in the sandbox`);
    }
    yield* order.name === "sortr" ? files.reverse() : files;
  }

  search(): number {
    const { paths, options } = this.#settings;
    const { stdin } = this.#context;
    const expression = createExpression(this.#settings);
    const searchesStdin = paths === undefined && stdin !== "";
    const output = this.#createOutput(searchesStdin);
    let hasFound = false;
    let count = 0;
    for (const candidate of searchesStdin ? [stdinCandidate] : this.#searched()) {
      count++;
      if (this.#searchFile(candidate, expression, output)) hasFound = true;
      if (hasFound && this.#settings.shown === "nothing") break;
    }
    output.printSummary?.();
    if (count === 0 && paths === undefined && !options.has("no-messages")) {
      this.#context.printError(NOTHING_SEARCHED);
      this.#hasFailed = true;
    }
    return this.#exitCode(hasFound);
  }

  *#searched(): Generator<Candidate> {
    const { paths } = this.#settings;
    if (!paths?.includes("-")) return yield* this.#files();
    for (const name of paths) {
      if (name === "-") yield stdinCandidate;
      else yield* this.#candidates.of(name, name.endsWith("/") ? name : `${name}/`);
    }
  }

  #createOutput(searchesStdin: boolean): Output {
    const { options, paths, shown } = this.#settings;
    const { print, files, cwd } = this.#context;
    if (shown === "json") return new JsonOutput(this.#settings, print);
    const isOneFile = searchesStdin || (paths?.length === 1 && !isFolder(paths[0] ?? "", { files, cwd }));
    const naming = options.given.findLast(({ name }) => name === "H" || name === "I")?.name;
    const showsNames = naming ? naming === "H" : options.has("vimgrep") || !isOneFile;
    const heading = options.given.findLast(({ name }) => ["heading", "no-heading", "p"].includes(name))?.name;
    return new RipgrepPrinter(this.#settings, {
      showsNames,
      hasHeadings: showsNames && heading !== undefined && heading !== "no-heading" && !options.has("vimgrep"),
      print,
    });
  }

  /** Searches a file and prints what it finds. Returns whether the file counts as found. */
  #searchFile(candidate: Candidate, expression: RipgrepExpression, output: Output): boolean {
    const bytes = this.#read(candidate);
    if (bytes === undefined) return false;
    const { shown } = this.#settings;
    const binaryAt = this.#binaryOffset(bytes, candidate);
    const isSkipped = !candidate.isNamed && !this.#searchesBinary && (binaryAt ?? Infinity) < PROBE_BYTES;
    if (isSkipped) return shown === "names-without";
    const source = readText(bytes);
    const selected = selectLines(source, expression, this.#settings, () => this.#context.poll());
    const printsLines = shown === "lines" || shown === "matches";
    if (binaryAt !== undefined && printsLines && selected.length > 0) {
      return this.#printBinary(candidate, binaryAt, source, selected, output);
    }
    this.#print(candidate.name, source, selected, output);
    return shown === "names-without" ? selected.length === 0 : selected.length > 0;
  }

  #print(name: string, source: SearchText, selected: readonly Selection[], output: Output): void {
    const { shown, options } = this.#settings;
    if (shown === "count" || shown === "count-matches") {
      const count = shown === "count"
        ? selected.reduce((sum, { first, last }) => sum + last - first + 1, 0)
        : selected.reduce((sum, { matches }) => sum + matches.length, 0);
      if (count > 0 || options.has("include-zero")) output.printName?.(name, count);
    } else if (shown === "names" || shown === "names-without") {
      if ((selected.length > 0) === (shown === "names")) output.printName?.(name);
    } else if (shown !== "nothing") output.printFile(name, source, selected);
  }

  /** Prints that a binary file matches, after the lines before its first null byte if these were searched first. */
  #printBinary(
    { name, isNamed }: Candidate,
    binaryAt: number,
    source: SearchText,
    selected: readonly Selection[],
    output: Output,
  ): boolean {
    const early = selected.filter(({ last }) =>
      (source.starts[last] ?? 0) < binaryAt - binaryAt % PROBE_BYTES
    );
    const prefix = this.#settings.paths?.length === 1 && isNamed ? "" : `${name}: `;
    const place = `(found "\\0" byte around offset ${binaryAt})`;
    if (early.length > 0) output.printFile(name, source, early);
    if (isNamed || this.#searchesBinary) {
      this.#context.print(`${prefix}binary file matches ${place}\n`);
      return true;
    }
    if (early.length === 0) return false;
    this.#context.print(`${prefix}WARNING: stopped searching binary file after match ${place}\n`);
    return true;
  }

  get #searchesBinary(): boolean {
    return this.#settings.options.has("binary") || this.#settings.unrestricted > 2;
  }

  /** Position of the first null byte. Of a file that an argument names, only the beginning is looked at. */
  #binaryOffset(bytes: string, { name, isNamed }: Candidate): number | undefined {
    if (name === STDIN || this.#settings.options.has("a")) return undefined;
    const at = bytes.indexOf("\0");
    return at < 0 || (isNamed && at >= PROBE_BYTES) ? undefined : at;
  }

  #read({ name, path }: Candidate): string | undefined {
    if (name === STDIN) return this.#decode(this.#context.stdin);
    try {
      return this.#decode(textOf(this.#context.files.read(path)));
    } catch (error) {
      this.#fail(name, errorText(error));
      return undefined;
    }
  }

  /** Converts text of another encoding to UTF-8. */
  #decode(bytes: string): string {
    const label = this.#settings.options.value("E") ?? "auto";
    if (label === "none") return bytes;
    const mark = label === "auto" ? MARKS.find(([start]) => bytes.startsWith(start))?.[1] : undefined;
    const encoding = label === "auto" ? mark : label;
    if (encoding === undefined) return bytes;
    try {
      return byteText(new TextDecoder(encoding).decode(bytesOf(bytes)));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new UsageError(`error parsing encoding '${label}': unknown encoding: ${label}`);
    }
  }
}

/** Encodings by the marks with which their files begin. */
const MARKS = [["\xff\xfe", "utf-16le"], ["\xfe\xff", "utf-16be"], ["\xef\xbb\xbf", "utf-8"]] as const;

const NOTHING_SEARCHED =
  "No files were searched, which means ripgrep probably applied a filter you didn't expect.\n" +
  "Running with --debug will show why files are being skipped.\n";

const stdinCandidate: Candidate = { name: STDIN, path: "", isNamed: true };

interface Output {
  printFile(name: string, source: SearchText, selected: readonly Selection[]): void;
  printName?(name: string, count?: number): void;
  printSummary?(): void;
}

function isFolder(name: string, { files, cwd }: Pick<CommandContext, "files" | "cwd">): boolean {
  return name !== "-" && statusOf(files, pathOf(cwd, name))?.kind === "directory";
}

function createExpression({ options, patterns }: RipgrepSettings): RipgrepExpression {
  const last = (...names: string[]) => options.given.findLast(({ name }) => names.includes(name))?.name;
  const texts = patterns.map(unicodeText);
  const isFixed = last("F", "no-fixed-strings") === "F";
  const isPerl = last("P", "no-pcre2") === "P";
  const isMultiline = last("U", "no-multiline") === "U";
  if (isFixed && !isMultiline && texts.some((text) => text.includes("\n"))) {
    throw new UsageError("the literal '\"\\n\"' is not allowed in a regex");
  }
  const casing = last("i", "s", "S");
  return new RipgrepExpression(texts, {
    syntax: isFixed ? "fixed" : isPerl ? "perl" : "rust",
    ignoreCase: casing === "i" || (casing === "S" && texts.every(isLowerCase)),
    whole: last("x", "w") === "x" ? "line" : options.has("w") ? "word" : undefined,
    isMultiline,
    dotMatchesLineEnd: isMultiline && last("multiline-dotall", "no-multiline-dotall") === "multiline-dotall",
  });
}

/** Whether a pattern has letters, and no capital ones, but for escapes. */
function isLowerCase(pattern: string): boolean {
  const text = pattern.replace(/\\[pP]\{[^}]*\}|\\./gu, "");
  return !/\p{Lu}/u.test(text);
}
