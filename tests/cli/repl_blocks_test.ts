import { assertEquals } from "@std/assert";
import { ReplBlocks } from "../../src/cli/repl/blocks.ts";

/** Returns the blocks that each typed line completes; the last entry is the rest at the end. */
function typed(...lines: string[]): string[][] {
  const blocks = new ReplBlocks({ emptyLineEnds: true });
  return [...lines.map((line) => blocks.push(line)), blocks.end()];
}

function piped(text: string): string[] {
  const blocks = new ReplBlocks({ emptyLineEnds: false });
  return [...text.split("\n").flatMap((line) => blocks.push(line)), ...blocks.end()];
}

Deno.test("ReplBlocks.push() returns a simple line at once", () => {
  for (
    const line of ["x = 1", "f(1, [2], {3})", 'print(":")', "x  # (", "'''a'''", "x = '(' + \"[\"", ")", "'"]
  ) {
    assertEquals(typed(line), [[`${line}\n`], []]);
  }
});

Deno.test("ReplBlocks.push() waits for the end of an open bracket or string", () => {
  assertEquals(typed("f(", "1", ")"), [[], [], ["f(\n1\n)\n"], []]);
  assertEquals(typed('s = """a', "", "(b", '"""'), [[], [], [], ['s = """a\n\n(b\n"""\n'], []]);
  assertEquals(typed("x = 1 + \\", "2"), [[], ["x = 1 + \\\n2\n"], []]);
  assertEquals(typed("x = [  # ]", "]"), [[], ["x = [  # ]\n]\n"], []]);
  assertEquals(typed('f"{d["a"]}" + (', ")"), [[], ['f"{d["a"]}" + (\n)\n'], []]);
});

Deno.test("ReplBlocks.push() ends a compound statement at an empty line", () => {
  assertEquals(typed("if x:", "  y", ""), [[], [], ["if x:\n  y\n\n"], []]);
  assertEquals(typed("for x in y: z", ""), [[], ["for x in y: z\n\n"], []]);
  assertEquals(typed("", "  "), [[], [], []]);
});

Deno.test("ReplBlocks.push() ends a compound statement at the next one", () => {
  assertEquals(typed("def f():", "  return 1", "f()"), [[], [], ["def f():\n  return 1\n", "f()\n"], []]);
  assertEquals(
    piped("@cache\ndef f():\n\n  return 1\n\n# note\nif f():\n  x\nelif y:\n  z\nelse:\n  w\nlast"),
    [
      "@cache\ndef f():\n\n  return 1\n\n# note\n",
      "if f():\n  x\nelif y:\n  z\nelse:\n  w\n",
      "last\n",
    ],
  );
});

Deno.test("ReplBlocks.end() returns the rest and clears it", () => {
  const blocks = new ReplBlocks({ emptyLineEnds: true });
  assertEquals([blocks.push("f("), blocks.pending, blocks.end(), blocks.pending], [
    [],
    true,
    ["f(\n"],
    false,
  ]);
});
