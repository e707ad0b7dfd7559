import { assertEquals } from "@std/assert";
import { yamlLine } from "../../../../src/envs/workspace/config/yaml_lines.ts";

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

Deno.test("yamlLine() finds keys and items where they stand", () => {
  const line = (...path: PropertyKey[]) => yamlLine(TEXT, path);
  assertEquals([line("id"), line("description"), line("starter_code")], [2, 3, 7]);
  assertEquals([line("starter_code", 0), line("starter_code", 1)], [8, 9]);
  assertEquals([line("scores", 0, "Time"), line("scores", 1, "Score")], [12, 13]);
  assertEquals([line("evaluation"), line("evaluation", "metrics", "RMSE"), line("last")], [14, 17, 19]);
});

Deno.test("yamlLine() gives the line of the innermost key that has one", () => {
  assertEquals(yamlLine(TEXT, ["evaluation", "files", 1]), 18);
  assertEquals(yamlLine(TEXT, ["evaluation", "metric"]), 14);
  assertEquals(yamlLine(TEXT, ["nothing"]), 1);
  assertEquals(yamlLine("", ["a", 0]), 1);
});
