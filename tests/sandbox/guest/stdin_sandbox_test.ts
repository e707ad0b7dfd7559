import { assertEquals } from "@std/assert";
import { withSession } from "../shared_session.ts";
import programs from "./stdin_programs.json" with { type: "json" };

/** The programs' input. Their output is that of `python3.13 main.py < file`. */
const INPUT = "2\n3 4\n";

Deno.test("Session.exec() gives a program its stdin as a regular file, as Linux does", async (test) => {
  await withSession(async (session) => {
    for (const { program, stdout } of programs) {
      await test.step(program.slice(0, 90).replaceAll("\n", " "), async () => {
        const result = await session.exec(program, { stdin: INPUT });
        assertEquals(result.stdout, stdout, JSON.stringify(result));
        await session.reset({ mode: "rewind" });
      });
    }
  });
});

Deno.test("Session.exec() gives the stdin of each exec from its beginning, and an empty device without one", async () => {
  await withSession(async (session) => {
    const read = "import os; print(os.read(0, 2), os.fstat(0).st_size)";
    assertEquals((await session.exec(read, { stdin: "abcdef" })).stdout, "b'ab' 6\n");
    assertEquals((await session.exec(read, { stdin: "xyz" })).stdout, "b'xy' 3\n");
    assertEquals((await session.exec(read)).stdout, "b'' 0\n");
    const kind = "import stat; print(stat.S_ISCHR(os.fstat(0).st_mode), os.lseek(0, 5, 0), sys.stdin.read())";
    assertEquals((await session.exec(`import sys\n${kind}`)).stdout, "True 0 \n");
  });
});
