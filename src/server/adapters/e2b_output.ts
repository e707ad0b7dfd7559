/** Milliseconds that output is kept for what may come right behind it. */
const SOON_MS = 20;

/** Output as a notebook tells it: what is written within a moment is one piece, whatever writes made it. */
export class NotebookOutput {
  readonly #tell: (type: string, text: string) => void;
  #type = "";
  #text = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tell: (type: string, text: string) => void) {
    this.#tell = tell;
  }

  /** Takes a piece of a stream. */
  push(type: string, text: string): void {
    if (type !== this.#type) this.flush();
    this.#type = type;
    this.#text += text;
    this.#timer ??= setTimeout(() => this.flush(), SOON_MS);
  }

  /** Tells what is kept. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text !== "") this.#tell(this.#type, this.#text);
    this.#text = "";
  }
}
