const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Stored form of a {@linkcode NameTable}. */
export interface StoredNames {
  /** UTF-8 of all names, in order. */
  readonly bytes: Uint8Array;
  /** End of each name in `bytes`. */
  readonly ends: Uint32Array;
}

/**
 * Distinct texts, each with a number from 0. Stored names are decoded when they are read, so that a table of a million
 * names opens at once.
 */
export class NameTable {
  readonly #stored: StoredNames;
  readonly #added: string[] = [];
  /** Numbers by name; made when a name is first looked up. */
  #numbers: Map<string, number> | undefined;

  constructor(stored: StoredNames = { bytes: new Uint8Array(), ends: new Uint32Array() }) {
    this.#stored = stored;
  }

  get size(): number {
    return this.#stored.ends.length + this.#added.length;
  }

  /** Returns the name of a number; the empty text for a number that the table does not have. */
  nameOf(number: number): string {
    const { bytes, ends } = this.#stored;
    if (number >= ends.length) return this.#added[number - ends.length] ?? "";
    return decoder.decode(bytes.subarray(number === 0 ? 0 : ends[number - 1], ends[number]));
  }

  /** Returns the number of a name, or `undefined` if the table lacks the name. */
  find(name: string): number | undefined {
    return this.#lookup().get(name);
  }

  /** Returns the number of a name. A new name is added. */
  add(name: string): number {
    const numbers = this.#lookup();
    const known = numbers.get(name);
    if (known !== undefined) return known;
    const number = this.size;
    this.#added.push(name);
    numbers.set(name, number);
    return number;
  }

  /** Returns the names for storage. */
  toStored(): StoredNames {
    const { bytes, ends } = this.#stored;
    // A half surrogate at the end of a name would join a half surrogate at the beginning of the next name.
    const names = this.#added.map((name) => name.toWellFormed());
    const added = encoder.encode(names.join(""));
    const allBytes = new Uint8Array(bytes.length + added.length);
    allBytes.set(bytes);
    allBytes.set(added, bytes.length);
    const allEnds = new Uint32Array(this.size);
    allEnds.set(ends);
    let end = bytes.length;
    for (const [at, name] of names.entries()) {
      end += encoder.encode(name).length;
      allEnds[ends.length + at] = end;
    }
    return { bytes: allBytes, ends: allEnds };
  }

  #lookup(): Map<string, number> {
    if (this.#numbers === undefined) {
      this.#numbers = new Map();
      for (let number = 0; number < this.size; number++) this.#numbers.set(this.nameOf(number), number);
    }
    return this.#numbers;
  }
}
