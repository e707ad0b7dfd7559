/** Words of the state, and the distance of the two words that are added. */
const [WORDS, DISTANCE] = [63, 1];
/** Number of values in the table from which the next value is drawn. */
const DRAWN = 512;
/** Values that are dropped after a seed. */
const DROPPED = 10 * WORDS;
const RANGE = 2 ** 31;
const MAX_START = RANGE - 1;

/**
 * The sequence of `rand()` of gawk 5.2: two values of an additive feedback generator with a state of 256 bytes make a
 * number. The state starts from the minimal standard generator of Park and Miller, and the values are shuffled by a table
 * as Bays and Durham describe.
 */
export class RandomNumbers {
  #words: Int32Array = new Int32Array(WORDS);
  #at = 0;
  #table: number[] = [];
  #last = 0;

  constructor(seed: number) {
    this.seed(seed);
  }

  seed(seed: number): void {
    const words = this.#words = new Int32Array(WORDS);
    words[0] = seed;
    for (let at = 1; at < WORDS; at++) words[at] = nextStart(words[at - 1] ?? 0);
    this.#at = 0;
    this.#table = Array.from({ length: DRAWN }, () => this.#next());
    this.#last = this.#next();
    for (let count = 0; count < DROPPED; count++) this.#draw();
  }

  /** Returns a number of at least 0 and less than 1. */
  next(): number {
    for (;;) {
      const low = this.#draw();
      const number = (low / RANGE + this.#draw()) / RANGE;
      if (number < 1) return number;
    }
  }

  #draw(): number {
    const at = this.#last % DRAWN;
    this.#last = this.#table[at] ?? 0;
    this.#table[at] = this.#next();
    return this.#last;
  }

  #next(): number {
    const front = (this.#at + DISTANCE) % WORDS;
    const word = ((this.#words[front] ?? 0) + (this.#words[this.#at] ?? 0)) | 0;
    this.#words[front] = word;
    this.#at = (this.#at + 1) % WORDS;
    return word >>> 1;
  }
}

function nextStart(word: number): number {
  const start = word === 0 ? 123_459_876 : word;
  const next = 16_807 * (start % 127_773) - 2_836 * Math.trunc(start / 127_773);
  return next < 0 ? next + MAX_START : next;
}
