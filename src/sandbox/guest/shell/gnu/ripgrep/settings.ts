import { type CommandContext, errorText, pathOf, textOf, UsageError } from "../command.ts";
import { type ParsedOptions, parseOptions, readSize } from "../options.ts";
import { refusal, TROUBLE } from "./expression.ts";
import { FileTypes } from "./file_types.ts";

const OPTIONS =
  "e,regexp=:f,file=:F,fixed-strings:no-fixed-strings:i,ignore-case:s,case-sensitive:S,smart-case:w,word-regexp:" +
  "x,line-regexp:v,invert-match:U,multiline:no-multiline:multiline-dotall:no-multiline-dotall:P,pcre2:no-pcre2:" +
  "auto-hybrid-regex:engine=:n,line-number:N,no-line-number:c,count:count-matches:include-zero:l,files-with-matches:" +
  "files-without-match:o,only-matching:q,quiet:r,replace=:b,byte-offset:column:no-column:vimgrep:H,with-filename:" +
  "I,no-filename:heading:no-heading:p,pretty:0,null:A,after-context=:B,before-context=:C,context=:" +
  "context-separator=:no-context-separator:passthru:m,max-count=:trim:no-trim:M,max-columns=:a,text:no-text:binary:" +
  "no-binary:files:type-list:t,type=:T,type-not=:type-add=:type-clear=:g,glob=:iglob=:glob-case-insensitive:" +
  "no-ignore:ignore:no-ignore-vcs:no-ignore-dot:no-ignore-exclude:no-ignore-global:no-ignore-parent:" +
  "no-ignore-files:ignore-file=:ignore-file-case-insensitive:no-require-git:u,unrestricted:hidden,.:no-hidden:" +
  "L,follow:no-follow:max-depth=:max-filesize=:sort=:sortr=:color=:colors=:json:no-json:" +
  "E,encoding=:no-config:no-messages:j,threads=:mmap:no-mmap:line-buffered:no-line-buffered:block-buffered:" +
  "no-block-buffered:dfa-size-limit=:regex-size-limit=:no-unicode:unicode:one-file-system:path-separator=:" +
  "max-columns-preview:debug:trace:stats:no-stats:crlf:null-data:z,search-zip:pre=:pre-glob=:h,help:V,version";

/** Options that would change what is found or printed in a way that is not written here. */
const REFUSED = [
  "auto-hybrid-regex",
  "engine",
  "no-unicode",
  "stats",
  "crlf",
  "null-data",
  "search-zip",
  "pre",
  "pre-glob",
  "path-separator",
  "max-columns-preview",
  "one-file-system",
  "colors",
  "debug",
  "trace",
  "glob-case-insensitive",
  "ignore-file-case-insensitive",
  "no-ignore-files",
] as const;

/** What `rg` prints. */
export type Shown =
  | "lines"
  | "matches"
  | "count"
  | "count-matches"
  | "names"
  | "names-without"
  | "nothing"
  | "json";

/** What a call of `rg` searches, and what the call prints. */
export interface RipgrepSettings {
  readonly options: ParsedOptions;
  readonly patterns: readonly string[];
  /** The paths to search; `undefined` for the folder in which the command runs. */
  readonly paths: readonly string[] | undefined;
  readonly types: FileTypes;
  readonly shown: Shown;
  readonly before: number;
  readonly after: number;
  readonly maxCount: number;
  readonly maxColumns: number;
  readonly maxDepth: number;
  readonly maxBytes: number;
  readonly unrestricted: number;
  readonly showsNumbers: boolean;
  readonly showsColumns: boolean;
  readonly isColored: boolean;
  readonly replacement: string | undefined;
}

/** Reads the arguments. Throws a {@linkcode UsageError} for those that are wrong or not available. */
export function readSettings(args: readonly string[], context: CommandContext): RipgrepSettings {
  const options = parseOptions(args, OPTIONS, { exitCode: TROUBLE });
  const refused = REFUSED.find((name) => options.has(name));
  if (refused) throw refusal(`the option --${refused} is`);
  const operands = [...options.operands];
  const isSearch = !options.has("files") && !options.has("type-list");
  const patterns = isSearch ? readPatterns(options, operands, context) : [];
  const around = countOf(options, "C") ?? 0;
  const { TERM = "dumb", NO_COLOR } = context.variables;
  const isPretty = options.has("p");
  const last = (...names: string[]) => options.given.findLast(({ name }) => names.includes(name))?.name;
  const showsColumns = last("column", "no-column") === "column" || options.has("vimgrep");
  const color = options.value("color") ??
    (isPretty && TERM !== "dumb" && NO_COLOR === undefined ? "always" : "auto");
  return {
    options,
    patterns,
    paths: operands.length > 0 ? operands : undefined,
    types: readTypes(options),
    shown: readShown(options),
    before: options.has("passthru") ? Infinity : countOf(options, "B") ?? around,
    after: options.has("passthru") ? Infinity : countOf(options, "A") ?? around,
    maxCount: countOf(options, "m") ?? Infinity,
    maxColumns: countOf(options, "M") || Infinity,
    maxDepth: countOf(options, "max-depth") ?? Infinity,
    maxBytes: readBytes(options),
    unrestricted: options.values("u").length,
    showsNumbers: (last("n", "N") ?? (isPretty ? "n" : "")) === "n" ||
      (showsColumns && last("n", "N") !== "N"),
    showsColumns,
    isColored: color === "always" || color === "ansi",
    replacement: options.value("r"),
  };
}

function readPatterns(options: ParsedOptions, operands: string[], context: CommandContext): string[] {
  const lists = options.given.flatMap(({ name, value }) =>
    name === "e" ? [value] : name === "f" ? readPatternFile(value, context) : []
  );
  if (options.has("e") || options.has("f")) return lists;
  const pattern = operands.shift();
  if (pattern !== undefined) return [pattern];
  throw new UsageError("error: The following required arguments were not provided:\n    <PATTERN>", {
    exitCode: TROUBLE,
    hasHint: false,
  });
}

function readPatternFile(name: string, { files, cwd, stdin }: CommandContext): string[] {
  try {
    const text = name === "-" ? stdin : textOf(files.read(pathOf(cwd, name)));
    return text === "" ? [] : text.replace(/\n$/, "").split("\n");
  } catch (error) {
    throw new UsageError(`${name}: ${errorText(error)}`, { exitCode: TROUBLE, hasHint: false });
  }
}

function readTypes(options: ParsedOptions): FileTypes {
  const types = new FileTypes();
  for (const { name, value } of options.given) {
    if (name === "type-clear") types.clear(value);
    if (name === "type-add" && !types.add(value)) {
      throw new UsageError(`invalid definition (format is type:glob, e.g., html:*.html): ${value}`, {
        exitCode: TROUBLE,
        hasHint: false,
      });
    }
  }
  const chosen = [...options.values("t"), ...options.values("T")].filter((name) => name !== "all");
  const unknown = chosen.find((name) => !types.globs(name));
  if (unknown === undefined) return types;
  throw new UsageError(`unrecognized file type: ${unknown}`, { exitCode: TROUBLE, hasHint: false });
}

function readShown(options: ParsedOptions): Shown {
  if (options.has("q")) return "nothing";
  const mode = options.given.findLast(({ name }) =>
    ["c", "count-matches", "l", "files-without-match", "json", "no-json"].includes(name)
  )?.name;
  if (mode === "l") return "names";
  if (mode === "files-without-match") return "names-without";
  if (mode === "json") return "json";
  if (mode === "count-matches") return options.has("v") ? "count" : mode;
  if (mode === "c") {
    return (options.has("o") || options.has("U")) && !options.has("v") ? "count-matches" : "count";
  }
  return options.has("o") && !options.has("v") ? "matches" : "lines";
}

function countOf(options: ParsedOptions, name: string): number | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(`error parsing "${text}" as a number: invalid digit found in string`, {
    exitCode: TROUBLE,
    hasHint: false,
  });
}

function readBytes(options: ParsedOptions): number {
  const text = options.value("max-filesize");
  if (text === undefined) return Infinity;
  const bytes = /^\d+[KMG]?$/.test(text) ? readSize(text) : undefined;
  if (bytes !== undefined) return bytes;
  throw new UsageError(`invalid argument '${text}' of --max-filesize`, { exitCode: TROUBLE, hasHint: false });
}
