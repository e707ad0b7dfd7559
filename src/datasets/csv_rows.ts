import { CsvParseStream } from "@std/csv";
import { RawRow } from "./raw_row.ts";
import { textPieces } from "./text_pieces.ts";

/**
 * The rows of a CSV file, as RFC 4180 has it, by the names in its first row; each value is text. Rows count
 * from 1, that of the names among them.
 *
 * @throws {SyntaxError} when it is no CSV: a quote that is not closed, a row with more or fewer fields than names.
 */
export async function* readCsv(path: string): AsyncGenerator<RawRow> {
  let number = 1;
  const text = ReadableStream.from(textPieces(path, () => `${path}:${number}`));
  const rows = text.pipeThrough(new CsvParseStream({ skipFirstRow: true })).getReader();
  try {
    for (let read = await rows.read(); !read.done; read = await rows.read()) {
      const { value } = read;
      yield RawRow.inFile(path, ++number, () => value);
    }
  } catch (cause) {
    if (!(cause instanceof SyntaxError) || cause.message.startsWith("Cannot")) throw cause;
    throw new SyntaxError(`Cannot read task at ${path}:${number + 1} as it must be CSV: ${cause.message}`, {
      cause,
    });
  } finally {
    await rows.cancel().catch(() => {}); // a stream that broke was told of where it did
  }
}
