import { concat } from "@std/bytes";

/**
 * One line as text, or the reason (`fault`) why it could not be read. `unended` marks a last line without
 * newline.
 */
export type Line = ({ readonly text: string } | { readonly fault: string }) & { readonly unended?: true };

const NEWLINE = 10;

/**
 * Splits bytes into lines of UTF-8 text, without their newlines. A line that is longer than `maxBytes` bytes
 * or is not valid UTF-8 is yielded as a `fault`, and reading continues with the next line. The source may
 * reuse its buffer from one chunk to the next.
 */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  options: { maxBytes: number },
): AsyncGenerator<Line> {
  const line = new LineBytes(options.maxBytes);
  for await (const chunk of source) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      line.push(chunk.subarray(start, end));
      yield line.take();
      start = end + 1;
    }
    line.keep(chunk.subarray(start));
  }
  if (line.length > 0) yield { ...line.take(), unended: true };
}

/** Collects the bytes of one line. For a line that is too long, only the length is kept. */
class LineBytes {
  length = 0;
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #chunks: Uint8Array[] = [];

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    this.length += chunk.length;
    if (this.length > this.#maxBytes) this.#chunks = [];
    else this.#chunks.push(chunk);
  }

  /** Adds a copy of bytes, since the source may reuse their buffer before the line ends. */
  keep(chunk: Uint8Array): void {
    this.push(this.length + chunk.length > this.#maxBytes ? chunk : chunk.slice());
  }

  take(): Line {
    const chunks = this.#chunks;
    const length = this.length;
    this.#chunks = [];
    this.length = 0;
    if (length > this.#maxBytes) {
      return { fault: `a line must have at most ${this.#maxBytes} bytes: it has ${length}` };
    }
    try {
      return { text: this.#decoder.decode(concat(chunks)) };
    } catch {
      return { fault: "a line must be UTF-8: found an invalid byte" };
    }
  }
}
