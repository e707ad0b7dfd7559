import { assertEquals } from "@std/assert";
import { pythonBlocks } from "../../src/tools/python_blocks.ts";
import { HANG_MS } from "../deadline.ts";

const cases: readonly { what: string; text: string; blocks: string[] }[] = [
  { what: "reads a block after prose", text: "x\n```python\nprint(1)\n```\nend", blocks: ["print(1)"] },
  {
    what: "reads several blocks in order",
    text: "```python\na\n```\nand\n```python\nb\n```",
    blocks: ["a", "b"],
  },
  {
    what: "accepts py, Python and python3",
    text: "```py\na\n```\n```Python\nb\n```\n```python3\nc\n```",
    blocks: ["a", "b", "c"],
  },
  {
    what: "ignores other languages",
    text: "```bash\nls\n```\n```\nx\n```\n```python-repl\n>>> 1\n```",
    blocks: [],
  },
  {
    what: "allows spaces and a title after the language",
    text: '```python \na\n```\n```python title="b"\nb\n```',
    blocks: ["a", "b"],
  },
  { what: "replaces CRLF by LF", text: "```python\r\na\r\nb\r\n```\r\n", blocks: ["a\nb"] },
  { what: "closes at a fence after code", text: "```python\nprint(1)```\ntext", blocks: ["print(1)"] },
  {
    what: "closes at a fence before a control token",
    text: "```python\na\n```<|im_end|>",
    blocks: ["a"],
  },
  { what: "reads a last block without a closing fence", text: "```python\na\nb", blocks: ["a\nb"] },
  { what: "reads empty blocks", text: "```python\n```\n```python\n\n```", blocks: ["", ""] },
  {
    what: "removes the indent of the fence from its lines",
    text: "  ```python\n  if a:\n    b\n c\n  ```",
    blocks: ["if a:\n  b\nc"],
  },
  { what: "reads ~~~ and ignores the operator", text: "~~~py\na = ~~~1\n~~~\nx", blocks: ["a = ~~~1"] },
  { what: "reads a fence of four backticks", text: "````python\nx\n```\ny\n````", blocks: ["x\n```\ny"] },
  {
    what: "starts a new block at an opening fence inside a block",
    text: "```python\na\n```python\nb\n```",
    blocks: ["a", "b"],
  },
  {
    what: "ignores a fence in a string",
    text: "```python\nprint('''```''')\ns = '```'\n```",
    blocks: ["print('''```''')\ns = '```'"],
  },
  {
    what: "ignores a line that is a fence in a string",
    text: '```python\na = """\n```\n"""\n```\nx',
    blocks: ['a = """\n```\n"""'],
  },
  {
    what: "ignores a fence in a comment",
    text: "```python\n# it's ```\nb\n```",
    blocks: ["# it's ```\nb"],
  },
  {
    what: "closes a block whose string never ends",
    text: '```python\na = """\n```\nx\n```py\nb\n```',
    blocks: ['a = """', "b"],
  },
  { what: "reads an opening fence after text", text: "so:```python\na\n```", blocks: ["a"] },
  {
    what: "ignores fences that are mentioned in prose",
    text: "use ```python to open, or ```python print(1)``` here",
    blocks: [],
  },
];

for (const { what, text, blocks } of cases) {
  Deno.test(`pythonBlocks() ${what}`, () => assertEquals(pythonBlocks(text), blocks));
}

Deno.test("PythonInterpreter extraction: ▲ tolerant fence scanner (py, spaces, CRLF, unclosed)", () => {
  assertEquals(
    pythonBlocks("```py\n1\n```\n  ```Python  \n  2\n  ```\n```python\r\n3\r\n```\r\n```python3\n4"),
    [
      "1",
      "2",
      "3",
      "4",
    ],
  );
});

Deno.test({ name: "pythonBlocks() reads a text once, however it is made", timeout: HANG_MS }, () => {
  pythonBlocks('```python\n\\"""\n```\n'.repeat(200_000));
  pythonBlocks("`".repeat(2_000_000));
  pythonBlocks("```python\n" + " ".repeat(2_000_000) + "``x");
});
