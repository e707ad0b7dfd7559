/** Hands values from a producer to a consumer, one at a time: the producer waits until the next one is requested. */
export class Handoff<T> {
  #given: { readonly value: T } | undefined;
  #isEnded = false;
  #changed = Promise.withResolvers<void>();

  /** Waits until the value was taken, or the consumer has left. */
  async give(value: T): Promise<void> {
    this.#given = { value };
    this.#change();
    while (this.#given !== undefined && !this.#isEnded) await this.#changed.promise;
  }

  /** Ends the values on both sides. */
  end(): void {
    this.#isEnded = true;
    this.#change();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const given = this.#given;
      if (given !== undefined) {
        this.#given = undefined;
        this.#change();
        yield given.value;
      } else if (this.#isEnded) return;
      else await this.#changed.promise;
    }
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
