/** One line of bytes as text, or why it is none; `unended` where no newline stands behind it. */
export type Line = ({ readonly text: string } | { readonly fault: string }) & { readonly unended?: true };

const NEWLINE = 10;

/**
 * Cuts bytes into lines of UTF-8, without their newlines. A line that is longer than `maxBytes`, or no
 * UTF-8, is given as a fault, and the next one is read as if nothing had been. What holds a piece of the source may
 * be used anew for the next one.
 */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  options: { maxBytes: number },
): AsyncGenerator<Line> {
  const line = new LineBytes(options.maxBytes);
  for await (const piece of source) {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      line.push(piece.subarray(start, end));
      yield line.take();
      start = end + 1;
    }
    line.push(piece.slice(start));
  }
  if (line.length > 0) yield { ...line.take(), unended: true };
}

/** The bytes of one line; of one that is too long only their number is kept. */
class LineBytes {
  length = 0;
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #pieces: Uint8Array[] = [];

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(piece: Uint8Array): void {
    this.length += piece.length;
    if (this.length > this.#maxBytes) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  take(): Line {
    const pieces = this.#pieces;
    const length = this.length;
    this.#pieces = [];
    this.length = 0;
    if (length > this.#maxBytes) {
      return { fault: `a line must have at most ${this.#maxBytes} bytes: it has ${length}` };
    }
    try {
      return { text: this.#decoder.decode(joined(pieces, length)) };
    } catch {
      return { fault: "a line must be UTF-8: it is not" };
    }
  }
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) return only;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
