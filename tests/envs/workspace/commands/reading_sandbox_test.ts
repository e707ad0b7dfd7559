import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { HOME, numbered, shellTest, shown } from "./command_shell.ts";

shellTest("open, goto and scrolling show a window of the open file", async ({ write, printed }) => {
  await write("a.txt", numbered(30));
  const head = `[File: ${HOME}/a.txt (30 lines total)]\n`;
  assertEquals(await printed("open a.txt"), `${head}${shown(1, 10)}\n(20 more lines below)`);
  const second = `${head}(8 more lines above)\n${shown(9, 18)}\n(12 more lines below)`;
  assertEquals(await printed("scroll_down"), second);
  assertEquals(await printed("scroll_up"), `${head}${shown(1, 10)}\n(20 more lines below)`);
  assertEquals(await printed("goto 30"), `${head}(20 more lines above)\n${shown(21, 30)}`);
  assertEquals(await printed("scroll_down"), `${head}(20 more lines above)\n${shown(21, 30)}`);
  assertStringIncludes(await printed("open a.txt 15"), "\n15:line 15\n");
  assertStringIncludes(await printed("open a.txt 99"), "Warning: there is no line 99; the nearest is 30.");
  assertEquals(await printed("echo $CURRENT_FILE $((CURRENT_LINE > 0))"), `${HOME}/a.txt 1`);
  assertStringIncludes(await printed("WINDOW=4; open a.txt"), `${shown(1, 4)}\n(26 more lines below)`);
});

shellTest("open rejects files that cannot be shown, and keeps the open file", async (shell) => {
  const { write, printed, run } = shell;
  await write("a.txt", "a\n");
  await write("dir/b.txt", "b\n");
  await write("i.png", Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
  await write("x.bin", Uint8Array.from([1, 0, 2]));
  await write("long.txt", "x".repeat(20_001));
  await printed("open a.txt");
  const refused = [
    ["open", "Usage: open"],
    ["open a.txt 1 2", "Usage: open"],
    ["open nothing", "File nothing not found"],
    ["open dir", "Error: dir is a directory"],
    ["open i.png", "is an image"],
    ["open x.bin", "is a binary file"],
    ["open a.txt x", "must be a number"],
    ["open long.txt 1", "more than 20000 characters"],
    ["goto 0", "must be from 1 to 1"],
    ["goto 2", "must be from 1 to 1"],
    ["goto", "Usage: goto"],
    ["create", "Usage: create"],
    ["create no/where", "cannot be created: No such file or directory"],
  ] as const;
  for (const [command, message] of refused) {
    const { stdout, status } = await run(command);
    assertStringIncludes(stdout, message, command);
    assertEquals(status, "exited", command);
    assertEquals(await printed("echo $CURRENT_FILE"), `${HOME}/a.txt`, command);
  }
  assertStringIncludes(await printed("open long.txt"), "(1 lines total)");
  assertMatch((await run("CURRENT_FILE=; goto 1")).stdout, /^No file is open/);
  assertMatch((await run("CURRENT_FILE=/gone; scroll_up")).stdout, /cannot be read any more: No such file/);
});

shellTest("the third scroll in a row warns", async ({ write, printed }) => {
  await write("a.txt", numbered(100));
  await printed("open a.txt");
  const scroll = (last: string) => printed(`LAST_ACTION='${last}'; scroll_down`);
  assertEquals((await scroll("open a.txt")).includes("WARNING"), false);
  assertEquals((await scroll("scroll_down")).includes("WARNING"), false);
  assertEquals((await scroll("scroll_down")).includes("WARNING"), true);
  assertEquals((await scroll("ls")).includes("WARNING"), false);
});

shellTest("create makes a file with one empty line, and opens an existing file", async (shell) => {
  assertEquals(await shell.printed("create new.py"), `[File: ${HOME}/new.py (1 lines total)]\n1:`);
  assertEquals(await shell.read("new.py"), "\n");
  assertMatch(await shell.printed("create new.py"), /^Error: File 'new.py' already exists.\n\[File: /);
});

shellTest("names with spaces, quotes, newlines and other scripts are names", async (shell) => {
  for (const name of ["a b.txt", "it's.txt", 'say "hi" $HOME.txt', "grüße 😀.txt", "new\nline.txt", "-n"]) {
    await shell.session.exec(`open(${JSON.stringify(name)}, "w").write("x\\n")`);
    const word = `'${name.replaceAll("'", "'\\''")}'`;
    assertStringIncludes(await shell.printed(`open ${word}`), `[File: ${HOME}/${name} (1 lines total)]\n1:x`);
    assertEquals(await shell.printed('printf %s "$CURRENT_FILE"'), `${HOME}/${name}`);
    assertStringIncludes(await shell.printed("goto 1"), "1:x", name);
    const state = JSON.parse(await shell.printed("_paddock state"));
    assertEquals(state, { open_file: `${HOME}/${name}`, working_dir: HOME });
  }
});

shellTest("search_dir, search_file and find_file list their matches", async ({ write, printed, run }) => {
  await write("src/a.py", "import os\nvalue = f(1)\nvalue = 2\n");
  await write("src/deep/b.py", "value\r\nfoo(bar\n");
  await write("src/.hidden/c.py", "value\n");
  await write("src/x.bin", Uint8Array.from([...new TextEncoder().encode("value"), 0]));
  const root = `${HOME}/src`;
  assertEquals(
    await printed("search_dir value src"),
    `Found 3 matches for "value" in ${root}:\n${root}/a.py (2 matches)\n${root}/deep/b.py (1 matches)\n` +
      `End of matches for "value" in ${root}`,
  );
  assertEquals(await printed("cd src; search_dir nothing"), `No matches found for "nothing" in ${root}`);
  assertStringIncludes(await printed("search_dir 'foo('"), "deep/b.py (1 matches)");
  assertStringIncludes(await printed("search_dir '^va.*[12]$'"), "a.py (1 matches)");
  assertStringIncludes(await printed("search_dir 'f\\(oo\\)'"), "deep/b.py (1 matches)");
  assertStringIncludes(await printed("search_dir '[x'"), "No matches found");
  assertEquals(
    await printed("search_file value deep/b.py"),
    `Found 1 matches for "value" in ${root}/deep/b.py:\nLine 1:value\nEnd of matches for "value" in ${root}/deep/b.py`,
  );
  assertStringIncludes(
    await printed("find_file '*.py'"),
    `Found 3 matches for "*.py" in ${root}:\n${root}/a.py\n`,
  );
  assertStringIncludes((await run("search_dir x nowhere")).stdout, "Directory nowhere not found");
  assertStringIncludes((await run("search_file x")).stdout, "No file is open");
  assertStringIncludes((await run("search_dir")).stdout, "Usage: search_dir");
  await write("many.txt", numbered(101));
  const many = await printed(
    "search_file line ~/many.txt; mkdir ~/m; touch ~/m/{1..101}.t; find_file '*.t' ~/m",
  );
  assertStringIncludes(many, "More than 100 lines matched");
  assertStringIncludes(many, "More than 100 files matched");
});

shellTest("a file of 20,000 lines is opened, searched and edited", async ({ write, printed, read }) => {
  await write("long.py", numbered(20_000, "x = "));
  assertStringIncludes(await printed("open long.py"), "(19990 more lines below)");
  assertStringIncludes(await printed("goto 12345"), "\n12345:x = 12345\n");
  assertStringIncludes(await printed("search_file 'x = 19999'"), "Line 19999:x = 19999");
  assertStringIncludes(await printed("edit 20000:20000\ny = x\nend_of_edit"), "20000:y = x");
  assertEquals((await read("long.py")).endsWith("x = 19999\ny = x\n"), true);
});
