import fc from "fast-check";

const CODE = fc.constantFrom(
  "x = 1",
  "if x:",
  "    y = 2",
  "",
  "\tz = 3",
  "# it's",
  "s = '`'",
  'print("<a>")',
  "a[1:-1] > 2",
  "- x",
  "d = {}",
);
const LITERAL = fc.constantFrom(
  "ls -a",
  "",
  "  indented",
  "~~~",
  "```",
  "```python",
  "~~~python",
  "print(1)",
  "> x",
  "1. y",
);
const PYTHON = fc.constantFrom("python", "Python", "py", "python3", "python title=1", " python ");
const OTHER = fc.constantFrom("", "bash", "json", "text", "markdown", "c++", "pycon");
const PROSE = fc.constantFrom("Text.", "Use `x` here.", "1 < 2", "a ~ b", "Step (1)", "**Bold:**");

/** A fenced block whose fence is longer than each of its content. */
const fenced = fc.oneof(
  fc.tuple(
    fc.constantFrom("`", "~"),
    fc.integer({ min: 3, max: 5 }),
    PYTHON,
    fc.array(CODE, { maxLength: 5 }),
  ),
  fc.tuple(fc.constantFrom("`", "~"), fc.constantFrom(4, 5), OTHER, fc.array(LITERAL, { maxLength: 5 })),
).map(([mark, length, info, lines]) => {
  const fence = mark.repeat(length);
  return [fence + info, ...lines, fence];
});

const { blocks } = fc.letrec<{ blocks: string[] }>((tie) => ({
  blocks: fc.array(
    fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      PROSE.map((line) => [line]),
      fenced,
      tie("blocks").map((lines) => lines.map((line) => `> ${line}`)),
      fc.tuple(fc.constantFrom("- ", "* ", "1. ", "10) ", "-   "), tie("blocks")).map(([marker, lines]) =>
        lines.map((line, at) =>
          at === 0 ? marker + line : line === "" ? "" : " ".repeat(marker.length) + line
        )
      ),
    ),
    { minLength: 1, maxLength: 4 },
  ).map((parts) => parts.flatMap((lines) => [...lines, ""]).slice(0, -1)),
}));

/** Well-formed documents of Markdown: text and fenced blocks in quotes and lists. */
export const markdownDocuments: fc.Arbitrary<string> = blocks.map((lines) => lines.join("\n"));
