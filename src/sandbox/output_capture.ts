/** Collects the output of one exec, stream by stream, and holds it to the limit once more. */
export class OutputCapture {
  readonly stdout: StreamText;
  readonly stderr: StreamText;
  #left: number;

  constructor(options: {
    outputBytes: number;
    onOutput?: ((stream: "stdout" | "stderr", text: string) => void) | undefined;
  }) {
    this.#left = options.outputBytes;
    this.stdout = new StreamText((text) => options.onOutput?.("stdout", text));
    this.stderr = new StreamText((text) => options.onOutput?.("stderr", text));
  }

  /**
   * Takes what a frame carried.
   *
   * @throws {RangeError} when the guest sent more than its own side should have let through.
   */
  push(stream: "stdout" | "stderr", bytes: Uint8Array): void {
    this.#left -= bytes.length;
    if (this.#left < 0) throw new RangeError("more output than the limit");
    this[stream].push(bytes);
  }
}

/** The text of one stream; a character that two frames share is put together. */
class StreamText {
  readonly #decoder = new TextDecoder();
  readonly #onText: (text: string) => void;
  readonly #pieces: string[] = [];

  constructor(onText: (text: string) => void) {
    this.#onText = onText;
  }

  push(bytes: Uint8Array): void {
    this.#add(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The whole text; the stream is at its end. */
  end(): string {
    this.#add(this.#decoder.decode());
    return this.#pieces.join("");
  }

  #add(text: string): void {
    if (text === "") return;
    this.#pieces.push(text);
    this.#onText(text);
  }
}
