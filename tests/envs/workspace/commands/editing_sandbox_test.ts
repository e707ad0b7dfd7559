import { assertEquals, assertStringIncludes } from "@std/assert";
import { HOME, numbered, shellTest } from "./command_shell.ts";

shellTest(
  "edit replaces lines, insert adds lines, and both show the place",
  async ({ write, printed, read }) => {
    await write("a.txt", numbered(5));
    await printed("open a.txt");
    assertStringIncludes(
      await printed("edit 2:3\ntwo\n\n  three 'x' \"$HOME\" `y` \\n\nend_of_edit"),
      "2:two\n3:\n4:  three",
    );
    assertEquals(await read("a.txt"), "line 1\ntwo\n\n  three 'x' \"$HOME\" `y` \\n\nline 4\nline 5\n");
    await printed("insert 0\nfirst\nend_of_insert");
    await printed("insert 7\nlast\nend_of_insert");
    assertEquals(
      await read("a.txt"),
      "first\nline 1\ntwo\n\n  three 'x' \"$HOME\" `y` \\n\nline 4\nline 5\nlast\n",
    );
    await printed("edit 1:5\nend_of_edit");
    assertEquals(await read("a.txt"), "line 4\nline 5\nlast\n");
    await printed("edit 2:99\nrest\nend_of_edit");
    await printed("edit 3:3\nadded\nend_of_edit");
    assertEquals(await read("a.txt"), "line 4\nrest\nadded\n");
  },
);

shellTest("edits preserve line ends, tabs and invalid bytes", async (shell) => {
  const { write, printed, read, session } = shell;
  const cases = [
    ["no newline at the end", "a\nb", "edit 1:1\nA\nend_of_edit", "A\nb"],
    ["a last line that is replaced", "a\nb", "edit 2:2\nB\nend_of_edit", "a\nB\n"],
    ["an empty file", "", "edit 1:1\na\nend_of_edit", "a\n"],
    ["all lines gone", "a\nb\n", "edit 1:2\nend_of_edit", ""],
    ["carriage returns", "a\r\nb\r\n", "edit 2:2\nB\nC\nend_of_edit", "a\r\nB\r\nC\r\n"],
    ["tabs", "\ta\n", "insert 1\n\tb\t\nend_of_insert", "\ta\n\tb\t\n"],
    ["other scripts", "ü\n", "insert 1\n😀 €\u2028x\nend_of_insert", "ü\n😀 €\u2028x\n"],
    ["separators that are no newlines", "a\fb\u2028c\n", "insert 1\nd\nend_of_insert", "a\fb\u2028c\nd\n"],
    ["a mark at the start", "\ufeffa\n", "insert 1\nb\nend_of_insert", "\ufeffa\nb\n"],
  ] as const;
  for (const [name, before, command, after] of cases) {
    await write("f.txt", before);
    await printed("open f.txt");
    await printed(command);
    assertEquals(await read("f.txt"), after, name);
  }
  await write("f.txt", Uint8Array.from([0xe9, 0x0a, 0x62, 0x0a]));
  await printed("open f.txt\nedit 2:2\nB\nend_of_edit");
  assertEquals([...await session.readFile("f.txt")], [0xe9, 0x0a, 0x42, 0x0a]);
});

shellTest("edit and insert reject missing lines", async ({ write, run, read }) => {
  assertStringIncludes((await run("edit 1:1\nx\nend_of_edit")).stdout, "No file is open");
  await write("a.txt", "a\nb\n");
  await run("open a.txt");
  for (const lines of ["0:1", "4:4", "2:1", "1", "a:b", "1:", ":", "1:2:3", "-1:1", "1.0:2", "1:1 2", ""]) {
    const { status, stdout } = await run(`edit ${lines}\nx\nend_of_edit`);
    assertEquals(status, "exited", `${lines}: ${stdout}`);
  }
  for (const line of ["3", "-1", "x", "", "1 2"]) {
    assertEquals((await run(`insert ${line}\nx\nend_of_insert`)).status, "exited", line);
  }
  assertEquals(await read("a.txt"), "a\nb\n");
});

shellTest(
  "an edit that brings an error to a Python file is not kept, and both texts are shown",
  async (shell) => {
    const { write, run, read } = shell;
    const before = "def f(a):\n    b = a\n    return b\n\n\nprint(f(1))\n";
    await write("a.py", before);
    await run("open a.py");
    const cases = [
      ["edit 3:3\n    return c\nend_of_edit", "3:12 F821 undefined name 'c'"],
      ["edit 2:2\n    b = (a\nend_of_edit", "E999 SyntaxError"],
      ["edit 3:3\n   return b\nend_of_edit", "E999 IndentationError: unindent"],
      ["edit 2:2\n   b = a\nend_of_edit", "E113 IndentationError"],
      ["edit 2:3\nend_of_edit", "E112 IndentationError"],
      ["insert 0\n    x = 1\nend_of_insert", "E113 IndentationError"],
      ["insert 5\nif before:\n  y = 1\nend_of_insert", "E111 indentation"],
      ["edit 1:1\ndef f(a, a):\nend_of_edit", "F831 SyntaxError: duplicate"],
      ["edit 1:1\ndef g(a):\nend_of_edit", "6:7 F821 undefined name 'f'"],
      ["insert 0\n__all__ = ['f', 'h']\nend_of_insert", "F822 undefined name 'h'"],
      ["insert 6\nreturn 1\nend_of_insert", "E999 SyntaxError: 'return' outside function"],
    ] as const;
    for (const [command, message] of cases) {
      const { stdout, status } = await run(command);
      assertEquals(status, "exited", command);
      assertStringIncludes(stdout, message, command);
      assertStringIncludes(stdout, "The file was NOT changed", command);
      assertEquals(await read("a.py"), before, command);
    }
    const { stdout } = await run("edit 3:3\n    return c\nend_of_edit");
    const [would, still] = stdout.split("It is still:");
    assertStringIncludes(
      would ?? "",
      `[File: ${HOME}/a.py (6 lines total)]\n1:def f(a):\n2:    b = a\n3:    return c`,
    );
    assertStringIncludes(still ?? "", "3:    return b");
    assertEquals((await run("echo $CURRENT_LINE $WINDOW")).stdout, "5 10\n");
    assertEquals((await run("open a.py; cp a.py a.txt; open a.txt\nedit 2:2\n(\nend_of_edit")).status, "ok");
  },
);

shellTest("an edit may leave earlier errors", async ({ write, run, read }) => {
  await write("a.py", "x = one\ny = 2\nz = three\n");
  await run("open a.py");
  assertEquals((await run("edit 2:2\ny = 1\ny2 = 2\nend_of_edit")).status, "ok");
  assertEquals((await run("edit 1:1\nx = other\nend_of_edit")).status, "exited");
  await write("b.py", "def f(:\n  pass\n\nx = undefined\ny = )\n");
  await run("open b.py");
  assertEquals((await run("edit 1:1\ndef f(:  # still\nend_of_edit")).status, "exited");
  assertEquals(
    (await run("edit 1:2\ndef f():\n    pass\nend_of_edit")).status,
    "ok",
    "the next fault is further on",
  );
  assertEquals((await run("edit 5:5\ny = 1\nend_of_edit")).status, "ok", "an old fault comes to light");
  assertEquals(await read("b.py"), "def f():\n    pass\n\nx = undefined\ny = 1\n");
  await write("c.py", "if 1:\n  x = 1\n");
  await run("open c.py");
  assertEquals((await run("insert 2\n  y = 2\nend_of_insert")).status, "ok", "a file may be indented by two");
});

shellTest("read-only files are not edited", async ({ write, run, read }) => {
  await write("a.txt", "a\n");
  const { stdout } = await run("chmod 444 a.txt; open a.txt; edit 1:1\nb\nend_of_edit");
  assertStringIncludes(stdout, `Error: You cannot edit read-only file ${HOME}/a.txt`);
  assertEquals(await read("a.txt"), "a\n");
});

shellTest("validate and submit print only their marks", async ({ printed }) => {
  assertEquals(await printed("validate | head -n 1; submit | tail -n 1"), "<<VALIDATION||\n||SUBMISSION>>");
});
