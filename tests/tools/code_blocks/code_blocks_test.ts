import * as paddock from "../../../mod.ts";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { codeBlocks } from "../../../src/tools/code_blocks/code_blocks.ts";
import { findPrograms, type FindProgramsOptions, pythonBlocks } from "../../../src/tools/python_blocks.ts";
import { HANG_MS } from "../../deadline.ts";

interface ReplyRow {
  readonly what: string;
  readonly text: string;
  readonly programs: readonly string[];
  /** Reason, tag and count. */
  readonly notRun?: readonly string[];
  readonly options?: FindProgramsOptions;
}

function readRows<Row>(file: string): Row[] {
  const lines = Deno.readTextFileSync(new URL(file, import.meta.url)).trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

for (const { what, text, programs, notRun = [], options } of readRows<ReplyRow>("replies.jsonl")) {
  Deno.test(`findPrograms() reads ${what}`, () => {
    const found = findPrograms(text, options);
    assertEquals(found.programs, programs);
    assertEquals(found.notRun.map(({ reason, tag, count }) => `${reason} ${tag} ${count}`), notRun);
  });
}

Deno.test("pythonBlocks() returns the blocks of quotes, but not those of other blocks", () => {
  assertEquals(pythonBlocks("> ```python\n> print(1)\n> ```"), ["print(1)"]);
  assertEquals(pythonBlocks("1. > ~~~py\n   > if a:\n   >   b\n   > ~~~"), ["if a:\n  b"]);
  assertEquals(pythonBlocks("````markdown\n```python\nprint(1)\n```\n````"), []);
});

Deno.test("pythonBlocks() finds the blocks that commonmark.js finds", () => {
  const rows = readRows<{ text: string; blocks: string[] }>("commonmark.jsonl");
  assert(rows.length >= 200);
  for (const { text, blocks } of rows) assertEquals(pythonBlocks(text), blocks, text);
});

Deno.test("codeBlocks() keeps tags short, and whether a block is closed", () => {
  const long = "a".repeat(100);
  assertEquals(codeBlocks(`\`\`\`${long}\nx\n\`\`\`\n\`\`\`py\ny`), [
    { code: "x", tag: "a".repeat(32), language: "other", isClosed: true },
    { code: "y", tag: "py", language: "python", isClosed: false },
  ]);
});

Deno.test("findPrograms() returns at most 16 counts", () => {
  const blocks = Array.from({ length: 40 }, (_, at) => `\`\`\`lang${at}\nx\n\`\`\`\n`).join("");
  const { notRun } = findPrograms(blocks + "```lang0\ny\n```");
  assertEquals(notRun.length, 16);
  assertEquals(notRun[0], { reason: "language", tag: "lang0", count: 2 });
  assertEquals(notRun.reduce((sum, { count }) => sum + count, 0), 41);
});

const bits = fc.constantFrom(
  ..."```|~~~|`|````python|```python|```bash|\n|\n|> |- |1. |  |\t|<think>|</think>|<code>|</code>|<output>|</output>|x|'''|\"|#"
    .split("|"),
);

Deno.test("codeBlocks() reads any text, and never returns code that is not in it", () => {
  fc.assert(fc.property(fc.array(bits, { maxLength: 40 }), (pieces) => {
    const text = pieces.join("");
    for (const { code } of codeBlocks(text)) {
      for (const line of code.split("\n")) assert(text.includes(line.trim()));
    }
  }));
});

const SIZE = 1_000_000;
const HOSTILE = {
  "opening fences": "```python\n",
  "blocks without a tag": "```\nx\n```\n",
  "open strings": '```python\n"""\n',
  "quotes that end": "> ```\nx\n",
  "list items": "- ```text\n",
  "fences on one line": "```python",
  "tags on one line": "<output></output>",
  "open tags on one line": "<code>",
  "thoughts without an end": "a <think>\n",
  "ends of thoughts": "```python\nx\n</think>\n",
  "outputs without an end": "<output>\n",
  "blocks of one line": "```python x```\n",
  "fences behind text": "a```bash\n",
  "quotes on one line": "> ",
  "markers on one line": "- ",
};

for (const [what, unit] of Object.entries(HOSTILE)) {
  Deno.test({
    name: `findPrograms() reads very many ${what} once`,
    timeout: HANG_MS,
    fn: () => void findPrograms(unit.repeat(SIZE / unit.length) + "```python\nx"),
  });
}

Deno.test({
  name: "findPrograms() reads 10 MB of a fence, of blank lines, and of blocks in blocks once",
  timeout: HANG_MS,
  fn() {
    findPrograms("`".repeat(10 * SIZE));
    findPrograms("```\n" + "\n".repeat(10 * SIZE));
    findPrograms("<think>\n<output>\n````md\n" + "```py\n```\n".repeat(SIZE) + "````\n</output>");
  },
});

Deno.test("the main entry point exports the readers of code blocks", () => {
  assertEquals([paddock.findPrograms, paddock.codeBlocks, paddock.pythonBlocks], [
    findPrograms,
    codeBlocks,
    pythonBlocks,
  ]);
});
