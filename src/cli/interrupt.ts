/** A signal that Ctrl-C aborts, until disposed. A second Ctrl-C ends the program as if this were not there. */
export class Interrupt implements Disposable {
  readonly #abort = new AbortController();
  readonly #cause: "SIGINT" | "SIGTERM";
  readonly #listener = () => {
    this[Symbol.dispose]();
    const by = this.#cause === "SIGINT" ? "Ctrl-C" : this.#cause;
    this.#abort.abort(new DOMException(`Interrupted by ${by}`, "AbortError"));
  };

  /** Listens for Ctrl-C, or for the word of whoever runs services. */
  constructor(cause: "SIGINT" | "SIGTERM" = "SIGINT") {
    this.#cause = cause;
    Deno.addSignalListener(cause, this.#listener);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  [Symbol.dispose](): void {
    Deno.removeSignalListener(this.#cause, this.#listener);
  }
}
