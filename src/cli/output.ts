import { escapeControls } from "../terminal_text.ts";
import { currentIo, type TextSink } from "./io.ts";

const encoder = new TextEncoder();

/** Writes a whole text, in several writes if the sink accepts only a part. */
export async function writeText(sink: TextSink, text: string): Promise<void> {
  let rest = encoder.encode(text);
  while (rest.length > 0) rest = rest.subarray(await sink.write(rest));
}

/** A queue that writes texts in call order. The caller does not wait for a slow reader. */
export class TextQueue {
  readonly #abort = new AbortController();
  #last: Promise<void> = Promise.resolve();

  /** Aborted with the error if a write fails. Later texts are dropped. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  write(sink: TextSink, text: string): void {
    this.#last = this.#last.then(() => this.#write(sink, text));
  }

  /**
   * Waits until all texts are written.
   *
   * @throws the error of a failed write.
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

/** Wraps a sink so that writes are dropped without an error once the reader has closed the stream. */
export function ignoreBrokenPipe(sink: TextSink): TextSink {
  let closed = false;
  return {
    async write(bytes) {
      if (closed) return bytes.length;
      try {
        return await sink.write(bytes);
      } catch (error) {
        if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
        closed = true;
        return bytes.length;
      }
    },
  };
}

/** Returns text of a guest or another program for a sink: with control characters escaped if the sink is a terminal. */
export function toSinkText(sink: { isTerminal(): boolean }, text: string): string {
  return sink.isTerminal() ? escapeControls(text) : text;
}

/** True if stdout is a terminal and `NO_COLOR` is not set. */
export function wantsColour(): boolean {
  return currentIo().stdout.isTerminal() && !currentIo().env.get("NO_COLOR");
}

/** Returns the width of the terminal in columns; `Infinity` without a terminal. */
export function terminalColumns(): number {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return Infinity; // not a terminal
  }
}

/** Prints a hint to stderr if stdin is a terminal. */
export async function printHint(
  text: string,
  { stdin, stderr }: { stdin: { isTerminal(): boolean }; stderr: TextSink } = currentIo(),
): Promise<void> {
  if (stdin.isTerminal()) await writeText(stderr, `${text}\n`);
}
