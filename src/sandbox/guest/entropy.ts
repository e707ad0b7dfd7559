/** The source of bytes for `os.urandom` and everything built on it: the host's source, or a seed. */
export class Entropy {
  #next: (() => number) | undefined;
  /** What the bytes are derived from after an exec with a seed of its own. */
  #lent: { readonly next: (() => number) | undefined } | undefined;
  readonly #fill: (view: Uint8Array) => void;

  constructor(fill: (view: Uint8Array) => void) {
    this.#fill = fill;
  }

  /** Derives all further bytes from the seed. Without a seed, they come from the host's source. */
  seed(seed: number | undefined): void {
    this.#lent = undefined;
    this.#next = seed === undefined ? undefined : splitMix(seed);
  }

  /** Derives the bytes of the next exec from a seed. */
  lend(seed: number): void {
    this.#lent ??= { next: this.#next };
    this.#next = splitMix(seed);
  }

  /** Continues, after an exec with a seed, where the bytes were before. */
  takeBack(): void {
    if (this.#lent) this.#next = this.#lent.next;
    this.#lent = undefined;
  }

  /** Fills `view` and returns it, as `crypto.getRandomValues` does. */
  fill<View extends ArrayBufferView>(view: View): View {
    const bytes = new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
    if (this.#next) { for (let at = 0; at < bytes.length; at++) bytes[at] = this.#next(); }
    else this.#fillFromHost(bytes);
    return view;
  }

  #fillFromHost(bytes: Uint8Array): void {
    const piece = new Uint8Array(Math.min(bytes.length, 65536));
    for (let at = 0; at < bytes.length; at += piece.length) {
      this.#fill(piece);
      bytes.set(piece.subarray(0, bytes.length - at), at);
    }
  }
}

/** Returns a SplitMix64 generator, one byte per step. Its bytes are reproducible, not secret. */
function splitMix(seed: number): () => number {
  const mask = (1n << 64n) - 1n;
  let state = BigInt.asUintN(64, BigInt(Math.trunc(seed)) ^ 0x5851f42d4c957f2dn);
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & mask;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return Number((z ^ (z >> 31n)) & 0xffn);
  };
}
