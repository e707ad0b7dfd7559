import { type TextSink, writeText } from "./write_text.ts";

/** Writes texts in the order of the calls, without making the caller wait for a slow reader. */
export class TextQueue {
  readonly #abort = new AbortController();
  #last: Promise<void> = Promise.resolve();

  /** Aborted, with the error, when a text could not be written: the rest is dropped. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  write(sink: TextSink, text: string): void {
    this.#last = this.#last.then(() => this.#write(sink, text));
  }

  /**
   * Waits until all is written.
   *
   * @throws the error that kept something from being written.
   */
  async flush(): Promise<void> {
    await this.#last;
    this.signal.throwIfAborted();
  }

  async #write(sink: TextSink, text: string): Promise<void> {
    if (this.signal.aborted) return;
    try {
      await writeText(sink, text);
    } catch (error) {
      this.#abort.abort(error);
    }
  }
}
