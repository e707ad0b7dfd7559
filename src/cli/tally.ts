/** How often something was put there by its name, and not taken yet. */
export class Multiset {
  readonly #counts = new Map<string, number>();

  /** Counts one more. */
  add(name: string): void {
    this.#counts.set(name, this.count(name) + 1);
  }

  /** Whether there is one. */
  has(name: string): boolean {
    return this.#counts.has(name);
  }

  /** How many there are. */
  count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** The same counts, to be taken from on their own. */
  copy(): Multiset {
    const copy = new Multiset();
    for (const [name, count] of this.#counts) copy.#counts.set(name, count);
    return copy;
  }

  /** Takes one away, and says whether there was one. */
  take(name: string): boolean {
    const count = this.count(name);
    if (count > 1) this.#counts.set(name, count - 1);
    else this.#counts.delete(name);
    return count > 0;
  }
}
