/** Bytes of a word of 32-bit Wasm, such as a pointer. */
const WORD_BYTES = 4;

/** Offsets in `PyTypeObject`. */
export const TYPE_OFFSETS = { asSequence: 52, new: 156, vectorcall: 200 } as const;

/** Numbers of the slots that make and set up an object in a `PyType_Spec`, as in CPython's `typeslots.h`. */
export const [INIT_SLOT, NEW_SLOT] = [60, 65];

/** Bytes of `PyType_Spec` in front of its slots: the name, two sizes and flags. */
const SPEC_SLOTS_OFFSET = 16;

/** The memory and the table of functions with which CPython's module starts, searched by names of Python. */
export class StaticData {
  /** One character for each byte. */
  readonly #text: string;
  readonly #words: Uint32Array;
  readonly #functions: ReadonlyMap<number, number>;

  constructor(
    segments: Iterable<{ readonly address: number; readonly bytes: Uint8Array }>,
    entries: Iterable<{ readonly slot: number; readonly index: number }>,
  ) {
    const parts = [...segments];
    const end = parts.reduce((last, { address, bytes }) => Math.max(last, address + bytes.length), 0);
    const memory = new Uint8Array(Math.ceil(end / WORD_BYTES) * WORD_BYTES);
    for (const { address, bytes } of parts) memory.set(bytes, address);
    this.#text = new TextDecoder("latin1").decode(memory);
    this.#words = new Uint32Array(memory.buffer);
    this.#functions = new Map([...entries].map(({ slot, index }) => [slot, index]));
  }

  /** Returns the functions of methods and attributes with a name: `PyMethodDef` and `PyGetSetDef` begin alike. */
  namedFunctions(name: string): number[] {
    return this.#pointersTo(name).flatMap((at) => this.#functionAt(at + 1));
  }

  /** Returns the functions that call a special method of a class of Python, such as `__len__`. */
  overridden(name: string): number[] {
    return this.#pointersTo(name).flatMap((at) => { // `pytype_slotdef`: name, offset, function, wrapper
      const isDefinition = this.#functionAt(at + 3).length > 0;
      return isDefinition ? this.#functionAt(at + 2) : [];
    });
  }

  /** Returns the function in a slot of a type that a `PyType_Spec` describes. */
  slotOf(type: string, slot: number): number[] {
    return this.#pointersTo(type).flatMap((at) => {
      const slots = this.#word(at + SPEC_SLOTS_OFFSET / WORD_BYTES) / WORD_BYTES;
      for (let pair = slots; this.#word(pair) > 0 && this.#word(pair) < 100; pair += 2) {
        if (this.#word(pair) === slot) return this.#functionAt(pair + 1);
      }
      return [];
    });
  }

  /** Returns the function to which a word at an address points. */
  functionAt(address: number): number[] {
    return this.#functionAt(address / WORD_BYTES);
  }

  /** Returns the word at an address. */
  wordAt(address: number): number {
    return this.#word(address / WORD_BYTES);
  }

  /** Returns the functions in the words behind each place that has a sequence of words. */
  functionsBehind(words: readonly number[], count: number): number[] {
    const [first = 0] = words;
    const found: number[] = [];
    for (let at = this.#words.indexOf(first); at >= 0; at = this.#words.indexOf(first, at + 1)) {
      if (!words.every((word, offset) => this.#word(at + offset) === word)) continue;
      for (let next = 0; next < count; next++) found.push(...this.#functionAt(at + words.length + next));
    }
    return found;
  }

  /** Yields the indices of words that point to a text. Linkers let a text be the end of a longer one. */
  #pointersTo(text: string): number[] {
    const found: number[] = [];
    const ended = `${text}\0`;
    for (let at = this.#text.indexOf(ended); at >= 0; at = this.#text.indexOf(ended, at + 1)) {
      for (let word = this.#words.indexOf(at); word >= 0; word = this.#words.indexOf(at, word + 1)) {
        found.push(word);
      }
    }
    return found;
  }

  #word(index: number): number {
    return this.#words[index] ?? 0;
  }

  #functionAt(index: number): number[] {
    const found = this.#functions.get(this.#word(index));
    return found === undefined ? [] : [found];
  }
}
