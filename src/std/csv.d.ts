/** Parses CSV as of RFC 4180: pieces of text in, the list of fields of each row out. */
export class CsvParseStream implements TransformStream<string, string[]> {
  /** `separator` of the fields is a comma by default. */
  constructor(options?: { separator?: string });
  readonly readable: ReadableStream<string[]>;
  readonly writable: WritableStream<string>;
}
