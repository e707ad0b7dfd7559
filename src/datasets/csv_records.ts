import { CsvParseStream } from "@std/csv";
import { errorMessage } from "../errors.ts";
import { textPieces } from "./text_pieces.ts";

/**
 * The records of a CSV file, as RFC 4180 has it, each a list of its fields. Lines end in CRLF, LF or CR; empty ones
 * are passed over.
 *
 * @throws {SyntaxError} when it is not UTF-8, or no CSV: a quote is not closed.
 */
export async function* csvRecords(path: string): AsyncGenerator<readonly string[]> {
  let number = 1;
  const text = new Text(lineFeeds(textPieces(path, () => `${path}:${number}`)));
  const records = ReadableStream.from(text).pipeThrough(new CsvParseStream()).getReader();
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
    await records.cancel().catch(() => {}); // a stream that broke was told of where it did
  }
}

/** The text with a line feed in place of each carriage return that stands alone, but in quotes. */
async function* lineFeeds(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  let quoted = false;
  const changed = (found: string) => {
    if (found === '"') quoted = !quoted;
    return found === "\r" && !quoted ? "\n" : found;
  };
  for await (const piece of pieces) {
    const text = rest + piece;
    rest = text.endsWith("\r") ? "\r" : "";
    yield text.slice(0, text.length - rest.length).replace(/"|\r(?!\n)/g, changed);
  }
  yield rest;
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
