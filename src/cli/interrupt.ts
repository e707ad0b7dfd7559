/** A signal that Ctrl-C aborts, until disposed. A second Ctrl-C ends the program as if this were not there. */
export class Interrupt implements Disposable {
  readonly #abort = new AbortController();
  readonly #listener = () => {
    this[Symbol.dispose]();
    this.#abort.abort(new DOMException("Interrupted by Ctrl-C", "AbortError"));
  };

  constructor() {
    Deno.addSignalListener("SIGINT", this.#listener);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  [Symbol.dispose](): void {
    Deno.removeSignalListener("SIGINT", this.#listener);
  }
}
