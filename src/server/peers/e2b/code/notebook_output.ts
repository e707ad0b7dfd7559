/** Time during which adjacent output is joined. */
const JOIN_MS = 20;

/** Joins adjacent writes of a stream within at most 20 ms, as a notebook does. */
export class NotebookOutput {
  readonly #send: (type: string, text: string) => void;
  readonly #room: () => Promise<void> | undefined;
  #type = "";
  #text = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure: { error: unknown } | undefined;

  constructor(
    send: (type: string, text: string) => void,
    room: () => Promise<void> | undefined = () => undefined,
  ) {
    this.#send = send;
    this.#room = room;
  }

  /** Returns a promise that resolves when there is room for more output; `undefined` if there is room now. */
  room(): Promise<void> | undefined {
    return this.#room();
  }

  /** Adds output. Throws the error of an earlier `send`. */
  push(type: string, text: string): void {
    if (this.#failure) throw this.#failure.error;
    if (type !== this.#type) this.#sendJoined();
    this.#type = type;
    this.#text += text;
    this.#timer ??= setTimeout(() => this.#flushLater(), JOIN_MS); // stays for the next stream: a timer costs more than a write
  }

  #flushLater(): void {
    this.#timer = undefined;
    try {
      this.#sendJoined();
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** Sends the buffered output. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sendJoined();
  }

  #sendJoined(): void {
    const text = this.#text;
    this.#text = "";
    if (text !== "") this.#send(this.#type, text);
  }
}
