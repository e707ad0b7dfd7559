const SHIFTS = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
const SINES = Array.from({ length: 64 }, (_, at) => Math.floor(Math.abs(Math.sin(at + 1)) * 2 ** 32) | 0);
const BLOCK_BYTES = 64;

/** Returns the MD5 of bytes, by RFC 1321. */
export function md5(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK_BYTES) * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n, true);
  const state = new Int32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476]);
  const words = new Int32Array(16);
  for (let at = 0; at < padded.length; at += BLOCK_BYTES) {
    for (let word = 0; word < 16; word++) words[word] = view.getInt32(at + 4 * word, true);
    addBlock(state, words);
  }
  return new Uint8Array(state.buffer);
}

function addBlock(state: Int32Array, words: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0] = state;
  for (let step = 0; step < 64; step++) {
    const round = step >> 4;
    const [mixed, word] = round === 0
      ? [(b & c) | (~b & d), step]
      : round === 1
      ? [(d & b) | (~d & c), (5 * step + 1) & 15]
      : round === 2
      ? [b ^ c ^ d, (3 * step + 5) & 15]
      : [c ^ (b | ~d), (7 * step) & 15];
    const sum = (a + mixed + (SINES[step] ?? 0) + (words[word] ?? 0)) | 0;
    const shift = SHIFTS[round]?.[step & 3] ?? 0;
    [a, d, c, b] = [d, c, b, (b + (sum << shift | sum >>> (32 - shift))) | 0];
  }
  [a, b, c, d].forEach((value, at) => state[at] = ((state[at] ?? 0) + value) | 0);
}
