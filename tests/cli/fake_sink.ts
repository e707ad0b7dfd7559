/** A sink that accepts a few bytes at a time, like a pipe, and may be a terminal. */
export class FakeSink {
  text = "";
  readonly #decoder = new TextDecoder();
  readonly #terminal: boolean;

  constructor(terminal = false) {
    this.#terminal = terminal;
  }

  write(bytes: Uint8Array): Promise<number> {
    const taken = bytes.subarray(0, 1000);
    this.text += this.#decoder.decode(taken, { stream: true });
    return Promise.resolve(taken.length);
  }

  isTerminal(): boolean {
    return this.#terminal;
  }
}
