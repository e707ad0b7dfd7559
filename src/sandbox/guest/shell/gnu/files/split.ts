import {
  bytesOf,
  C_ESCAPES,
  type CommandContext,
  errorText,
  type GnuCommand,
  pathOf,
  textOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { type ParsedOptions, parseOptions, readSize } from "../options.ts";
import { fail, quoted, refuse } from "./operands.ts";

const OPTIONS =
  "a,suffix-length=:additional-suffix=:b,bytes=:C,line-bytes=:d:numeric-suffixes?:x:hex-suffixes?:" +
  "e,elide-empty-files:filter=:l,lines=:n,number=:t,separator=:u,unbuffered:verbose:help:version";
const DEFAULT_LINES = 1000;
const MAX_FILES = 100_000;

/** How a text is split: by lines, bytes, bytes of whole lines, or into a number of chunks. */
type Way = { readonly kind: "lines" | "bytes" | "line-bytes"; readonly count: number } | Chunks;

/** A number of chunks: of bytes, of lines, or of lines in turn. */
interface Chunks {
  readonly kind: "chunks";
  readonly by: "" | "l" | "r";
  readonly count: number;
  /** Number of the only chunk that is printed. */
  readonly only?: number;
}

/** `split` of GNU coreutils 9.1. */
export const split: GnuCommand = async (args, context) => {
  const options = parseOptions(args, OPTIONS, {
    rewrite: (word) => /^-\d+$/.test(word) ? ["-l", word.slice(1)] : undefined,
  });
  refuse(options, ["help", "version"]);
  const [name = "-", prefix = "x", extra] = options.operands;
  if (extra !== undefined) throw new UsageError(`extra operand ${quoted(extra)}`);
  const way = readWay(options);
  // as for a pipe: whether stdin is a file, whose size were known, is not
  if (name === "-" && way.kind === "chunks" && way.by !== "r") fail("-: cannot determine file size");
  const text = readText(name, context);
  const pieces = piecesOf(text, way, separatorOf(options));
  if (way.kind === "chunks" && way.only !== undefined) {
    context.print(pieces[way.only - 1] ?? "");
    return 0;
  }
  const names = new OutputNames(prefix, options, way.kind === "chunks" ? way.count : undefined);
  for (const piece of pieces) {
    context.poll();
    if (piece === "" && options.has("e")) continue;
    await writePiece(names.next(), piece, options, context);
  }
  return 0;
};

function readText(name: string, { files, cwd, stdin }: CommandContext): string {
  if (name === "-") return stdin;
  try {
    return textOf(files.read(pathOf(cwd, name)));
  } catch (error) {
    const message = errorText(error);
    if (message === "Is a directory") return fail(`${unicodeText(name)}: ${message}`);
    return fail(`cannot open ${quoted(name)} for reading: ${message}`);
  }
}

function readWay(options: ParsedOptions): Way {
  const given = options.given.filter(({ name }) => ["b", "C", "l", "n"].includes(name));
  if (new Set(given.map(({ name }) => name)).size > 1) {
    throw new UsageError("cannot split in more than one way");
  }
  const { name = "l", value = String(DEFAULT_LINES) } = given.at(-1) ?? {};
  if (name === "n") return readChunks(value);
  const size = readSize(value.replace(/m(?=i?B?$)/, "M"));
  const isLines = name === "l";
  if (size === undefined || size === 0) {
    return fail(`invalid number of ${isLines ? "lines" : "bytes"}: ${quoted(value)}`);
  }
  return { kind: isLines ? "lines" : name === "b" ? "bytes" : "line-bytes", count: size };
}

function readChunks(value: string): Way {
  const [, by = "", first, second] = /^(?:([lr])\/)?(\d+)(?:\/(\d+))?$/.exec(value) ?? [];
  const count = Number(second ?? first);
  if (first === undefined || count === 0) fail(`invalid number of chunks: ${quoted(value)}`);
  const only = second === undefined ? undefined : Number(first);
  if (only === 0 || (only ?? 0) > count) fail(`invalid chunk number: ${quoted(String(only))}`);
  if (count > MAX_FILES) fail(`more than ${MAX_FILES} chunks are not available in the sandbox`);
  return { kind: "chunks", by: by as "" | "l" | "r", count, ...(only !== undefined && { only }) };
}

function separatorOf(options: ParsedOptions): string {
  const value = options.value("t");
  if (value === undefined) return "\n";
  if (value === "") fail("empty record separator");
  if (value === "\\0") return "\0";
  const sign = value.startsWith("\\") && value.length === 2 ? C_ESCAPES[value.charAt(1)] ?? value : value;
  return sign.length === 1 ? sign : fail(`multi-character separator ${quoted(value)}`);
}

/** Splits a text into records with their ends. */
function recordsOf(text: string, separator: string): string[] {
  const records: string[] = [];
  for (let at = 0; at < text.length;) {
    const next = text.indexOf(separator, at);
    const end = next < 0 ? text.length : next + 1;
    records.push(text.slice(at, end));
    at = end;
  }
  return records;
}

function piecesOf(text: string, way: Way, separator: string): string[] {
  if (way.kind === "bytes") return slicesOf(text, way.count);
  if (way.kind === "chunks" && way.by === "") return equalParts(text, way.count);
  const records = recordsOf(text, separator);
  if (way.kind === "chunks") return chunksOf(records, text.length, way);
  return way.kind === "lines" ? groupsOf(records, way.count) : packed(records, way.count);
}

function chunksOf(
  records: readonly string[],
  length: number,
  way: Chunks,
): string[] {
  const chunks = Array.from({ length: way.count }, () => "");
  const size = Math.floor(length / way.count);
  let start = 0;
  for (const [index, record] of records.entries()) {
    // a record belongs to the chunk in which it starts
    const place = way.by === "r"
      ? index % way.count
      : Math.min(way.count - 1, Math.floor(start / (size || 1)));
    chunks[place] += record;
    start += record.length;
  }
  return chunks;
}

function slicesOf(text: string, size: number): string[] {
  const slices: string[] = [];
  for (let at = 0; at < text.length; at += size) slices.push(text.slice(at, at + size));
  return slices;
}

function equalParts(text: string, count: number): string[] {
  const size = Math.floor(text.length / count);
  return Array.from(
    { length: count },
    (_, at) => text.slice(at * size, at < count - 1 ? (at + 1) * size : undefined),
  );
}

function groupsOf(records: readonly string[], size: number): string[] {
  const groups: string[] = [];
  for (let at = 0; at < records.length; at += size) groups.push(records.slice(at, at + size).join(""));
  return groups;
}

/** Joins whole records up to a size. A longer record is cut. */
function packed(records: readonly string[], size: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const record of records) {
    if (piece !== "" && piece.length + record.length > size) {
      pieces.push(piece);
      piece = "";
    }
    piece += record;
    while (piece.length > size) {
      pieces.push(piece.slice(0, size));
      piece = piece.slice(size);
    }
  }
  return piece === "" ? pieces : [...pieces, piece];
}

async function writePiece(
  name: string,
  piece: string,
  options: ParsedOptions,
  context: CommandContext,
): Promise<void> {
  const { files, cwd, variables } = context;
  const filter = options.value("filter");
  if (filter !== undefined) {
    if (options.has("verbose")) context.print(`executing with FILE=${quoted(name)}\n`);
    const { exitCode } = await context.run(["sh", "-c", filter], {
      stdin: piece,
      variables: { ...variables, FILE: unicodeText(name) },
    });
    if (exitCode !== 0) {
      fail(`with FILE=${unicodeText(name)}, exit ${exitCode} from command: ${unicodeText(filter)}`);
    }
    return;
  }
  if (options.has("verbose")) context.print(`creating file ${quoted(name)}\n`);
  try {
    files.write(pathOf(cwd, name), bytesOf(piece));
  } catch (error) {
    fail(`${unicodeText(name)}: ${errorText(error)}`);
  }
}

/** The names of the files, in order. Suffixes grow when they are used up, unless their length is given. */
class OutputNames {
  readonly #prefix: string;
  readonly #end: string;
  readonly #digits: string;
  readonly #grows: boolean;
  #length: number;
  /** Number of the next name among names of the same length. */
  #number: number;
  #head = "";

  constructor(prefix: string, options: ParsedOptions, chunks: number | undefined) {
    this.#prefix = prefix;
    this.#end = options.value("additional-suffix") ?? "";
    if (this.#end.includes("/")) fail(`invalid suffix ${quoted(this.#end)}, contains directory separator`);
    const kind = options.given.findLast(({ name }) => /^(?:[dx]$|numeric|hex)/.test(name));
    const isHex = /^[xh]/.test(kind?.name ?? "");
    this.#digits = kind === undefined
      ? "abcdefghijklmnopqrstuvwxyz"
      : isHex
      ? "0123456789abcdef"
      : "0123456789";
    const start = kind?.value ?? "";
    if (!/^[\da-f]*$/i.test(start)) fail(`invalid start value for numerical suffix: ${quoted(start)}`);
    this.#number = Number.parseInt(start || "0", isHex ? 16 : 10);
    this.#length = this.#suffixLength(options, chunks);
    this.#grows = !options.has("a") && chunks === undefined && start === "";
  }

  next(): string {
    const base = this.#digits.length;
    const count = base ** this.#length;
    // the last digit of the first place is kept for longer suffixes
    if (this.#grows && this.#number >= count - base ** (this.#length - 1)) {
      this.#head += this.#digits.at(-1);
      this.#length++;
      this.#number = 0;
    } else if (this.#number >= count) fail("output file suffixes exhausted");
    let suffix = "";
    let rest = this.#number++;
    for (let at = 0; at < this.#length; at++) {
      suffix = this.#digits.charAt(rest % base) + suffix;
      rest = Math.floor(rest / base);
    }
    return this.#prefix + this.#head + suffix + this.#end;
  }

  #suffixLength(options: ParsedOptions, chunks: number | undefined): number {
    const text = options.value("a");
    if (text !== undefined && !/^\d+$/.test(text)) fail(`invalid suffix length: ${quoted(text)}`);
    const needed = chunks === undefined
      ? 2
      : Math.max(2, Math.ceil(Math.log(this.#number + chunks) / Math.log(this.#digits.length) - 1e-9));
    const length = Number(text ?? 0) || needed;
    if (chunks !== undefined && length < needed && needed > 2) {
      fail(`the suffix length needs to be at least ${needed}`);
    }
    return length;
  }
}
