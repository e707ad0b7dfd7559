/** Returns the SHA-1 of bytes, in hexadecimal. Computed here, as the hashes of the realm are asynchronous. */
export function sha1(...parts: readonly Uint8Array[]): string {
  const hash = new Sha1();
  for (const part of parts) hash.update(part);
  return hash.digest().toHex();
}

const BLOCK_BYTES = 64;

/** A running SHA-1, by FIPS 180-4. */
export class Sha1 {
  readonly #state = new Uint32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]);
  readonly #block = new Uint8Array(BLOCK_BYTES);
  readonly #words = new Int32Array(80);
  #filled = 0;
  #length = 0;

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(BLOCK_BYTES - this.#filled, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < BLOCK_BYTES) return;
      this.#process(this.#block, 0);
      this.#filled = 0;
    }
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) this.#process(bytes, at);
    this.#block.set(bytes.subarray(at));
    this.#filled = bytes.length - at;
  }

  /** Returns the 20 bytes of the hash, after which the object is used up. */
  digest(): Uint8Array {
    const length = this.#length;
    const end = new Uint8Array(this.#filled < 56 ? 64 - this.#filled : 128 - this.#filled);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(length / 0x20000000));
    view.setUint32(end.length - 4, (length << 3) >>> 0);
    this.update(end);
    const hash = new Uint8Array(20);
    const output = new DataView(hash.buffer);
    this.#state.forEach((word, index) => output.setUint32(index * 4, word));
    return hash;
  }

  #process(bytes: Uint8Array, start: number): void {
    const words = this.#words;
    const view = new DataView(bytes.buffer, bytes.byteOffset + start, BLOCK_BYTES);
    for (let index = 0; index < 16; index++) words[index] = view.getInt32(index * 4);
    for (let index = 16; index < 80; index++) {
      const word = (words[index - 3] ?? 0) ^ (words[index - 8] ?? 0) ^ (words[index - 14] ?? 0) ^
        (words[index - 16] ?? 0);
      words[index] = word << 1 | word >>> 31;
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0] = this.#state;
    for (let index = 0; index < 80; index++) {
      let mixed: number;
      if (index < 20) mixed = (d ^ (b & (c ^ d))) + 0x5a827999;
      else if (index < 40) mixed = (b ^ c ^ d) + 0x6ed9eba1;
      else if (index < 60) mixed = ((b & c) | (d & (b | c))) + 0x8f1bbcdc;
      else mixed = (b ^ c ^ d) + 0xca62c1d6;
      const next = ((a << 5 | a >>> 27) + mixed + e + (words[index] ?? 0)) | 0;
      e = d;
      d = c;
      c = b << 30 | b >>> 2;
      b = a;
      a = next;
    }
    const state = this.#state;
    state[0] = (state[0] ?? 0) + a;
    state[1] = (state[1] ?? 0) + b;
    state[2] = (state[2] ?? 0) + c;
    state[3] = (state[3] ?? 0) + d;
    state[4] = (state[4] ?? 0) + e;
  }
}
