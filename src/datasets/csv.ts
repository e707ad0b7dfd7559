import { CsvParseStream } from "@std/csv";
import { errorMessage } from "../errors.ts";
import { readTextChunks } from "./files.ts";
import { RawRow } from "./row.ts";

/**
 * Reads the rows of a CSV or TSV file with a header row. All values are strings. The separator of a `.tsv` file is a
 * tab. The separator of any other file is the first of comma, semicolon and tab that the header has. Row numbers start
 * at 1 with the header. A row whose number of fields differs from the header's throws a `SyntaxError` when the row's
 * value is read.
 *
 * @throws {SyntaxError} if the file is not valid CSV, or the header contains a name twice.
 */
export async function* readCsv(path: string): AsyncGenerator<RawRow> {
  let number = 0;
  let names: readonly string[] | undefined;
  for await (const fields of readCsvRecords(path)) {
    const location = `${path}:${++number}`;
    if (names !== undefined) yield csvRow(fields, { names, path, number });
    else names = requireNames(fields, location);
  }
}

function requireNames(names: readonly string[], location: string): readonly string[] {
  const known = new Set<string>();
  const duplicate = names.find((name) => known.size === known.add(name).size);
  if (duplicate === undefined) return names;
  throw new SyntaxError(
    `Cannot read tasks at ${location} as field names must be unique: found '${duplicate}' twice`,
  );
}

function csvRow(
  fields: readonly string[],
  { names, path, number }: { names: readonly string[]; path: string; number: number },
): RawRow {
  return RawRow.inFile(path, number, () => {
    if (fields.length === names.length) {
      return Object.fromEntries(names.map((name, at) => [name, fields[at]]));
    }
    throw new SyntaxError(
      `Cannot read task at ${path}:${number} as it must be CSV with ${names.length} fields: found ${fields.length}`,
    );
  });
}

/**
 * Reads the records of a CSV file (RFC 4180), each as a list of fields. Lines end in CRLF, LF or CR;
 * empty lines are skipped.
 *
 * @throws {SyntaxError} if the file is not UTF-8, or not valid CSV, such as a file with an unclosed quote.
 */
async function* readCsvRecords(path: string): AsyncGenerator<readonly string[]> {
  let number = 1;
  const location = () => `${path}:${number}`;
  const text = new TrackedText(normalizeLineEnds(readTextChunks(path, location), location));
  const { separator, chunks } = await findSeparator(text, path);
  const records = ReadableStream.from(chunks).pipeThrough(new CsvParseStream({ separator })).getReader();
  try {
    for (let read = await records.read(); !read.done; read = await records.read()) {
      yield read.value;
      number++;
    }
  } catch (cause) {
    if (text.failure !== undefined) throw text.failure.error;
    throw new SyntaxError(`Cannot read task at ${path}:${number} as it must be CSV: ${errorMessage(cause)}`, {
      cause,
    });
  } finally {
    await records.cancel().catch(() => {}); // The error of a failed stream was already thrown by `read`.
  }
}

const SEPARATORS: readonly string[] = [",", ";", "\t"];

/** Finds the separator in the header of a file, and returns all chunks of the file. */
async function findSeparator(
  text: AsyncIterable<string>,
  path: string,
): Promise<{ separator: string; chunks: AsyncIterable<string> }> {
  const chunks = text[Symbol.asyncIterator]();
  const header = new HeaderSeparators();
  let start = "";
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    start += next.value;
    if (header.add(next.value)) break;
  }
  const found = SEPARATORS.find((separator) => header.found.has(separator)) ?? ",";
  const separator = /\.tsv(?:\.gz)?$/i.test(path) ? "\t" : found;
  return { separator, chunks: prepend(start, { [Symbol.asyncIterator]: () => chunks }) };
}

/** The separators of a header outside quotes. */
class HeaderSeparators {
  readonly found = new Set<string>();
  #isQuoted = false;

  /** Adds a piece of the file. Returns true if the header has ended. */
  add(text: string): boolean {
    for (const [mark] of text.matchAll(/[",;\t\n]/g)) {
      if (mark === '"') this.#isQuoted = !this.#isQuoted;
      else if (mark === "\n" && !this.#isQuoted) return true;
      else if (!this.#isQuoted) this.found.add(mark);
    }
    return false;
  }
}

async function* prepend(start: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  if (start !== "") yield start;
  yield* rest;
}

/** Maximum length of a record. An unclosed quote would otherwise make a record of the rest of the file. */
const MAX_RECORD_CHARACTERS = 32 * 1024 * 1024;

/**
 * Replaces each single carriage return outside quotes by a line feed, and bounds the length of a record.
 *
 * @throws {SyntaxError} if a record has too many characters.
 */
async function* normalizeLineEnds(
  chunks: AsyncIterable<string>,
  location: () => string,
): AsyncGenerator<string> {
  let rest = "";
  let isQuoted = false;
  let length = 0; // of the record before the present chunk
  for await (const chunk of chunks) {
    const text = rest + chunk;
    rest = text.endsWith("\r") ? "\r" : "";
    let recordStart = -length;
    const end = text.length - rest.length;
    yield text.slice(0, end).replace(/"|\r(?!\n)|\n/g, (match, at) => {
      if (match === '"') isQuoted = !isQuoted;
      if (isQuoted || match === '"') return match;
      recordStart = at + 1;
      return "\n";
    });
    length = end - recordStart;
    if (length > MAX_RECORD_CHARACTERS) {
      throw new SyntaxError(
        `Cannot read task at ${location()} as a record must have at most ${MAX_RECORD_CHARACTERS} characters: ` +
          (isQuoted ? "a quote is not closed" : "it has more"),
      );
    }
  }
  yield rest;
}

/** A text stream that keeps the stream's error, to distinguish that error from an error of the CSV parser. */
class TrackedText implements AsyncIterable<string> {
  readonly #chunks: AsyncIterable<string>;
  failure: { readonly error: unknown } | undefined;

  constructor(chunks: AsyncIterable<string>) {
    this.#chunks = chunks;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      yield* this.#chunks;
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }
}
