/** How {@linkcode CsvParseStream} reads. */
export interface CsvParseStreamOptions {
  /** The first row names the fields of the others. */
  skipFirstRow: true;
}

/** Parses CSV as of RFC 4180: pieces of text in, one object for each row out. */
export class CsvParseStream implements TransformStream<string, Record<string, string>> {
  constructor(options: CsvParseStreamOptions);
  readonly readable: ReadableStream<Record<string, string>>;
  readonly writable: WritableStream<string>;
}
