import { assertEquals } from "@std/assert";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

/** Memory that a program fills and a later one reads, in bytes. It includes the C stack and heap beyond the image. */
const MEMORY_BYTES = 48 * 1024 * 1024;

/** Python for a mark that no source contains: its bytes are those of `seed`, each changed. */
function markOf(seed: Uint8Array): string {
  return `bytes(byte ^ 0x5a for byte in bytes(${JSON.stringify([...seed])}))`;
}

/** Puts the mark wherever a program can: names, files, environment, library, freed memory, C stack. */
function fillingCode(seed: Uint8Array): string {
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

/** Counts the places of the mark in memory. The program itself never holds the mark. */
function countingCode(seed: Uint8Array): string {
  return `
import ctypes
seed, table = bytes(${JSON.stringify([...seed])}), bytes(byte ^ 0x5a for byte in range(256))
def places():
    step = 1 << 16
    for address in range(65536, ${MEMORY_BYTES}, step):
        yield ctypes.string_at(address, step + len(seed)).translate(table).count(seed)
sum(places())`;
}

Deno.test("Session.reset() by 'rewind' restores the counters of files", async () => {
  const inodes = `import os
ends = os.pipe()
open("new", "w").close()
[os.fstat(ends[0]).st_ino] + [os.stat(path).st_ino for path in ("new", ".", "/tmp", "/dev/null")]`;
  await withSession(async (session) => {
    const atStart = value(await session.exec(inodes));
    await session.exec(
      "import os\nos.chdir('/'), os.rmdir('/tmp')\nfor _ in range(50): os.pipe(), os.mkdir(f'{_}')",
    );
    await session.reset({ mode: "rewind" });
    assertEquals(value(await session.exec(inodes)), atStart);
  });
});

Deno.test("Session.reset() by 'rewind' gives no two folders one inode", async () => {
  const replaced = `import os
os.rmdir("/tmp")
for number in range(20): os.mkdir(str(number))
os.mkdir("/tmp")`;
  const shared = `import os
open("/tmp/file", "w").close()
for number in range(40): os.mkdir(str(number))
[name for name in os.listdir() if os.path.exists(f"{name}/file")]`;
  await withSession(async (session) => {
    await session.exec(replaced);
    await session.reset({ mode: "rewind" });
    assertEquals(value(await session.exec(shared)), "[]");
  });
});

Deno.test("Session.reset() by 'rewind' leaves nothing of a program in memory", async () => {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  await withSession(async (session) => {
    await session.exec(fillingCode(seed));
    assertEquals(Number(value(await session.exec(countingCode(seed)))) > 20, true);
    await session.reset({ mode: "rewind" });
    assertEquals(value(await session.exec(countingCode(seed), { timeoutMs: 60_000 })), "0");
  });
});

Deno.test("Session.exec() keeps the sources of the last thousand blocks for tracebacks, and no more", async () => {
  const sources = "len([name for name in __import__('linecache').cache if name.startswith('<block ')])";
  await withSession(async (session) => {
    await session.exec("def early():\n    1 / 0");
    const traceback = async () => {
      const result = await session.exec("early()");
      return result.status === "error" ? result.error.traceback.includes("    1 / 0\n") : undefined;
    };
    assertEquals(await traceback(), true);
    for (let block = 0; block < 1100; block++) await session.exec("1");
    assertEquals([await traceback(), value(await session.exec(sources))], [false, "1000"]);
  });
});
