import { assert, assertEquals } from "@std/assert";
import { pythonBlocks } from "../../src/tools/python_blocks.ts";

const cases: readonly { what: string; text: string; blocks: string[] }[] = [
  { what: "reads a block behind prose", text: "x\n```python\nprint(1)\n```\nend", blocks: ["print(1)"] },
  {
    what: "reads several blocks in order",
    text: "```python\na\n```\nand\n```python\nb\n```",
    blocks: ["a", "b"],
  },
  {
    what: "takes py, Python and python3",
    text: "```py\na\n```\n```Python\nb\n```\n```python3\nc\n```",
    blocks: ["a", "b", "c"],
  },
  {
    what: "passes over other languages",
    text: "```bash\nls\n```\n```\nx\n```\n```python-repl\n>>> 1\n```",
    blocks: [],
  },
  {
    what: "allows spaces and a title behind the language",
    text: '```python \na\n```\n```python title="b"\nb\n```',
    blocks: ["a", "b"],
  },
  { what: "turns CRLF into LF", text: "```python\r\na\r\nb\r\n```\r\n", blocks: ["a\nb"] },
  { what: "closes at a fence behind code", text: "```python\nprint(1)```\ntext", blocks: ["print(1)"] },
  {
    what: "closes at a fence with a control token behind it",
    text: "```python\na\n```<|im_end|>",
    blocks: ["a"],
  },
  { what: "takes a last block that nobody closed", text: "```python\na\nb", blocks: ["a\nb"] },
  { what: "takes empty blocks", text: "```python\n```\n```python\n\n```", blocks: ["", ""] },
  {
    what: "takes the indent of the fence off its lines",
    text: "  ```python\n  if a:\n    b\n c\n  ```",
    blocks: ["if a:\n  b\nc"],
  },
  { what: "reads ~~~ and leaves the operator alone", text: "~~~py\na = ~~~1\n~~~\nx", blocks: ["a = ~~~1"] },
  { what: "reads a fence of four", text: "````python\nx\n```\ny\n````", blocks: ["x\n```\ny"] },
  {
    what: "starts anew at an opening fence in a block",
    text: "```python\na\n```python\nb\n```",
    blocks: ["a", "b"],
  },
  {
    what: "leaves a fence in a string alone",
    text: "```python\nprint('''```''')\ns = '```'\n```",
    blocks: ["print('''```''')\ns = '```'"],
  },
  {
    what: "leaves a line that is a fence in a string alone",
    text: '```python\na = """\n```\n"""\n```\nx',
    blocks: ['a = """\n```\n"""'],
  },
  {
    what: "leaves a fence in a comment alone",
    text: "```python\n# it's ```\nb\n```",
    blocks: ["# it's ```\nb"],
  },
  {
    what: "closes when a string never ends",
    text: '```python\na = """\n```\nx\n```py\nb\n```',
    blocks: ['a = """', "b"],
  },
  { what: "takes an opening fence behind text", text: "so:```python\na\n```", blocks: ["a"] },
  {
    what: "is not misled by talk of fences",
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

Deno.test("pythonBlocks() takes time in proportion to the text, however it is made", () => {
  const start = performance.now();
  pythonBlocks('```python\n\\"""\n```\n'.repeat(20_000));
  pythonBlocks("`".repeat(500_000));
  pythonBlocks("```python\n" + " ".repeat(500_000) + "``x");
  assert(performance.now() - start < 5000);
});
