import { assertEquals } from "@std/assert";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";
import { countingCode, fillingCode } from "./marks.ts";

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
