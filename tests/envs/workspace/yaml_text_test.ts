import { assertEquals, assertThrows } from "@std/assert";
import { parseYaml } from "../../../src/envs/workspace/yaml_text.ts";

const TEXT = `# a comment
id: x
description: |-
  id: not this one

  evaluation: nor this
starter_code:
- a.py
-   b.py
scores:
  - Score: 1
    Time: 2
  - "Score": 3
evaluation:
  # a comment
  metrics:
    RMSE: low
  files: [a, b]
last: 1
`;

Deno.test("parseYaml() gives the line of each key and item", () => {
  const line = (...path: PropertyKey[]) => parseYaml(TEXT).lineOf(path);
  assertEquals([line("id"), line("description"), line("starter_code")], [2, 3, 7]);
  assertEquals([line("starter_code", 0), line("starter_code", 1)], [8, 9]);
  assertEquals([line("scores", 0, "Time"), line("scores", 1, "Score")], [12, 13]);
  assertEquals([line("evaluation"), line("evaluation", "metrics", "RMSE"), line("last")], [14, 17, 19]);
});

Deno.test("parseYaml() gives the line of the innermost key that exists", () => {
  assertEquals(parseYaml(TEXT).lineOf(["evaluation", "files", 1]), 18);
  assertEquals(parseYaml(TEXT).lineOf(["evaluation", "metric"]), 14);
  assertEquals(parseYaml(TEXT).lineOf(["nothing"]), 1);
  assertEquals(parseYaml("").lineOf(["a", 0]), 1);
});

Deno.test("parseYaml() finds lines behind flow style, quoted keys and anchors", () => {
  const text = 'base: &base {a: 1,\n  b: 2}\n? "quoted key"\n: [1,\n  {c: 3}]\ncopy: *base\n';
  const line = (...path: PropertyKey[]) => parseYaml(text).lineOf(path);
  assertEquals([line("base", "b"), line("quoted key"), line("quoted key", 1, "c"), line("copy", "a")], [
    2,
    3,
    5,
    6,
  ]);
});

Deno.test("parseYaml() names the line of an error", () => {
  assertThrows(() => parseYaml("a: 1\nb: [\n"), SyntaxError, "at line 3");
  assertThrows(() => parseYaml("a: 1\na: 2\n"), SyntaxError, "Map keys must be unique at line 2");
});

Deno.test("parseYaml() refuses texts that a parser would take minutes for, before it parses them", () => {
  const cases: readonly [text: string, limit: string][] = [
    ["&a ".repeat(10_000), "100 anchors, aliases and tags"],
    ["!!a ".repeat(10_000), "100 anchors, aliases and tags"],
    ["[".repeat(10_000), "64 levels"],
    ["- ".repeat(20_000), "20000 tokens"],
    [Array.from({ length: 20_000 }, (_, at) => `k${at}: 1`).join("\n"), "20000 tokens"],
    [`a: "${"x".repeat(1024 * 1024)}"`, "1048576 characters"],
  ];
  for (const [text, limit] of cases) {
    assertThrows(() => parseYaml(text), SyntaxError, `a text must have at most ${limit}: found more`);
  }
});

Deno.test("parseYaml() refuses a text whose aliases would take more memory than its size suggests", () => {
  const levels = Array.from(
    { length: 9 },
    (_, at) => `l${at + 1}: &l${at + 1} [${`*l${at}, `.repeat(9)}*l${at}]`,
  );
  const text = ["l0: &l0 [lol]", ...levels].join("\n");
  assertThrows(() => parseYaml(text), SyntaxError, "Excessive alias count");
});
