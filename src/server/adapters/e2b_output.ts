/** Time during which adjacent output is joined. */
const JOIN_MS = 20;

/** Joins writes of one stream within 20 ms, as a notebook does. */
export class NotebookOutput {
  readonly #send: (type: string, text: string) => void;
  #type = "";
  #text = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(send: (type: string, text: string) => void) {
    this.#send = send;
  }

  /** Adds output. */
  push(type: string, text: string): void {
    if (type !== this.#type) this.flush();
    this.#type = type;
    this.#text += text;
    this.#timer ??= setTimeout(() => this.flush(), JOIN_MS);
  }

  /** Sends the buffered output. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text !== "") this.#send(this.#type, this.#text);
    this.#text = "";
  }
}
