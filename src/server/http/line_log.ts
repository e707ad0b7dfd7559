/** Options of {@linkcode LineLog}. */
export interface LineLogOptions<Entry> {
  /** Writes a part of the bytes and returns the length of the part. */
  readonly write: (bytes: Uint8Array) => Promise<number>;
  /**
   * Returns the line of an entry, without the line end.
   *
   * @default the entry's JSON
   */
  readonly format?: ((entry: Entry | DroppedLines) => string) | undefined;
  /** Called with the first error of a write. */
  readonly onError: (error: unknown) => void;
  /**
   * Characters that may wait to be written. Further lines are dropped and counted.
   *
   * @default 1 MiB
   */
  readonly maxCharacters?: number | undefined;
}

const MAX_CHARACTERS = 1024 * 1024;
/** Milliseconds that the remaining lines may take at the end. */
const FLUSH_MS = 1_000;

/** Takes the place of lines for which there was no room. */
export interface DroppedLines {
  readonly dropped: number;
}

/**
 * Writes a line for each entry. Requests never wait for the log: when the reader of a pipe is slow, lines are dropped,
 * and {@linkcode DroppedLines} take their place. A write that fails, as to a pipe without a reader, drops the lines.
 */
export class LineLog<Entry> implements AsyncDisposable {
  readonly #options: LineLogOptions<Entry>;
  readonly #format: (entry: Entry | DroppedLines) => string;
  #text = "";
  #dropped = 0;
  #hasFailed = false;
  #writing: Promise<void> | undefined;

  constructor(options: LineLogOptions<Entry>) {
    this.#options = options;
    this.#format = options.format ?? ((entry) => JSON.stringify(entry));
  }

  /** Adds a line. Never throws. */
  write(entry: Entry): void {
    const { maxCharacters = MAX_CHARACTERS } = this.#options;
    const line = `${this.#format(entry)}\n`;
    if (this.#text.length + line.length > maxCharacters) this.#dropped++;
    else this.#text += line;
    this.#writing ??= this.#flush();
  }

  /** Waits until all lines are written, for at most a second. */
  async [Symbol.asyncDispose](): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, FLUSH_MS);
    await Promise.race([this.#writing, late.promise]);
    clearTimeout(timer);
  }

  async #flush(): Promise<void> {
    await Promise.resolve(); // the lines of a task are written at once
    while (this.#text !== "" || this.#dropped > 0) {
      const note = this.#dropped > 0 ? `${this.#format({ dropped: this.#dropped })}\n` : "";
      const bytes = new TextEncoder().encode(this.#text + note);
      this.#text = "";
      this.#dropped = 0;
      await this.#writeAll(bytes);
    }
    this.#writing = undefined;
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    const { write, onError } = this.#options;
    try {
      for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await write(rest));
    } catch (error) {
      if (!this.#hasFailed) onError(error);
      this.#hasFailed = true;
    }
  }
}
