import { CsvParseStream } from "@std/csv";
import { RawRow } from "./raw_row.ts";
import { textPieces } from "./text_pieces.ts";

/**
 * The rows of a CSV file, as RFC 4180 has it, by the names in its first row; each value is text. Rows count
 * from 1, that of the names among them.
 *
 * @throws {SyntaxError} when it is no CSV: a quote is not closed, a row has more or fewer fields than names.
 */
export async function* readCsv(path: string): AsyncGenerator<RawRow> {
  let number = 1;
  const text = new Text(textPieces(path, () => `${path}:${number}`));
  const rows = ReadableStream.from(text).pipeThrough(new CsvParseStream({ skipFirstRow: true })).getReader();
  try {
    for (let read = await rows.read(); !read.done; read = await rows.read()) {
      const { value } = read;
      yield RawRow.inFile(path, ++number, () => value);
    }
  } catch (cause) {
    if (text.failure !== undefined) throw text.failure.error;
    throw new SyntaxError(`Cannot read task at ${path}:${number + 1} as it must be CSV: ${said(cause)}`, {
      cause,
    });
  } finally {
    await rows.cancel().catch(() => {}); // a stream that broke was told of where it did
  }
}

/** Text that remembers why it broke, so that this is not taken for a fault of what is in it. */
class Text implements AsyncIterable<string> {
  readonly #pieces: AsyncIterable<string>;
  failure: { readonly error: unknown } | undefined;

  constructor(pieces: AsyncIterable<string>) {
    this.#pieces = pieces;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      yield* this.#pieces;
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }
}

function said(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
