/** Memory that a program fills and a later one reads, in bytes. It includes the C stack and heap beyond the image. */
export const MEMORY_BYTES = 48 * 1024 * 1024;

/** Python for a mark that no source contains: its bytes are those of `seed`, each changed. */
export function markOf(seed: Uint8Array): string {
  return `bytes(byte ^ 0x5a for byte in bytes(${JSON.stringify([...seed])}))`;
}

/** Puts the mark wherever a program can: names, files, environment, library, freed memory, C stack. */
export function fillingCode(seed: Uint8Array): string {
  return `
import base64, ctypes, hashlib, json, os, struct, sys, zlib
kept = b"x" * (${MEMORY_BYTES} + (8 << 20)) # makes the heap grow
mark = ${markOf(seed)}
text = mark.decode("latin-1")
for name in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b"):
    hashlib.new(name, mark).digest()
base64.b64encode(mark), zlib.compress(mark), struct.pack("32s", mark), json.dumps(text), mark.hex(), repr(mark)
json.mark, os.environ["MARK"], sys.modules["mark"] = mark, text.replace(chr(0), "0"), text
open("mark", "wb").write(mark * 1000)
os.mkdir("folder"), os.write(os.pipe()[1], mark)
sorted([mark * 2] * 50, key=lambda item: (item, 1))
for address in range(4_100_000, 14_500_000, 400_000): # the unused C stack
    ctypes.memmove(address, mark, len(mark))
del kept`;
}

/**
 * Counts the places of marks that begin with the seed, in memory. The program itself never holds more than the first
 * half of the mark. Where it changed the bytes of all memory, those of its own seed became a mark in freed memory.
 */
export function countingCode(seed: Uint8Array): string {
  return `
import ctypes
seed, table = bytes(${JSON.stringify([...seed])}), bytes(byte ^ 0x5a for byte in range(256))
half = len(seed) // 2
head = seed[:half].translate(table)
def places():
    step = 1 << 16
    for address in range(65536, ${MEMORY_BYTES}, step):
        part = ctypes.string_at(address, step + len(seed))
        at = part.find(head)
        while at >= 0:
            yield part[at + half : at + len(seed)].translate(table) == seed[half:]
            at = part.find(head, at + 1)
sum(places())`;
}
