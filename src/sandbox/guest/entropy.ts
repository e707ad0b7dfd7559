/** The source of bytes for `os.urandom` and everything built on it: the host's source, or a seed. */
export class Entropy {
  #stream: SplitMix | undefined;
  /** What the bytes are derived from after an exec with a seed of its own. */
  #lent: { readonly stream: SplitMix | undefined } | undefined;
  readonly #fill: (view: Uint8Array) => void;

  constructor(fill: (view: Uint8Array) => void) {
    this.#fill = fill;
  }

  /** Derives all further bytes from the seed. Without a seed, they come from the host's source. */
  seed(seed: number | undefined): void {
    this.#lent = undefined;
    this.#stream = seed === undefined ? undefined : SplitMix.ofSeed(seed);
  }

  /** Derives the bytes of the next exec from a seed. */
  lend(seed: number): void {
    this.#lent ??= { stream: this.#stream };
    this.#stream = SplitMix.ofSeed(seed);
  }

  /** Continues, after an exec with a seed, where the bytes were before. */
  takeBack(): void {
    if (this.#lent) this.#stream = this.#lent.stream;
    this.#lent = undefined;
  }

  /** State of the stream of bytes, as text; `undefined` if they come from the host's source. */
  get state(): string | undefined {
    return this.#stream?.state.toString();
  }

  set state(state: string | undefined) {
    this.#lent = undefined;
    this.#stream = state === undefined ? undefined : new SplitMix(BigInt.asUintN(64, BigInt(state)));
  }

  /** Fills `view` and returns it, as `crypto.getRandomValues` does. */
  fill<View extends ArrayBufferView>(view: View): View {
    const bytes = new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
    const stream = this.#stream;
    if (stream) { for (let at = 0; at < bytes.length; at++) bytes[at] = stream.next(); }
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

const MASK = (1n << 64n) - 1n;

/** A SplitMix64 generator, one byte per step. Its bytes are reproducible, not secret. */
class SplitMix {
  state: bigint;

  constructor(state: bigint) {
    this.state = state;
  }

  static ofSeed(seed: number): SplitMix {
    return new SplitMix(BigInt.asUintN(64, BigInt(Math.trunc(seed)) ^ 0x5851f42d4c957f2dn));
  }

  next(): number {
    let z = this.state = (this.state + 0x9e3779b97f4a7c15n) & MASK;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return Number((z ^ (z >> 31n)) & 0xffn);
  }
}
