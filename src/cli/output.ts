import { currentIo, type TextSink } from "./io.ts";

const encoder = new TextEncoder();

/** Writes all of a text, however little the sink takes at a time. */
export async function writeText(sink: TextSink, text: string): Promise<void> {
  let rest = encoder.encode(text);
  while (rest.length > 0) rest = rest.subarray(await sink.write(rest));
}

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

/** The sink until nobody reads it any more; what is written to it from then on is dropped. */
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

// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text in one line: its line ends and tabs are escapes as well. */
export function escapeLine(text: string): string {
  return escapeControls(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** The text with control characters, and those that turn the direction of writing, as escapes. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`;
  });
}

/** Whether stdout shows colours, and they are wanted there. */
export function wantsColour(): boolean {
  return currentIo().stdout.isTerminal() && !currentIo().env.get("NO_COLOR");
}

/** How wide the terminal is. */
export function terminalColumns(): number {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return Infinity; // no terminal: nothing is cut
  }
}

/** Says what a command that programs drive waits for, where it is a person who started it and would wait too. */
export async function printHint(
  text: string,
  { stdin, stderr }: { stdin: { isTerminal(): boolean }; stderr: TextSink } = currentIo(),
): Promise<void> {
  if (stdin.isTerminal()) await writeText(stderr, `${text}\n`);
}
