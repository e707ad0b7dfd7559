import { assertEquals } from "@std/assert";
import { History } from "../../../src/history.ts";
import {
  extractProgram,
  findProgramReply,
  visibleReplies,
} from "../../../src/rewards/hidden_tests/candidate_program.ts";
import type { TestProblem } from "../../../src/rewards/hidden_tests/test_problem.ts";
import type { Task } from "../../../src/task.ts";

const ADD = "Here:\n```python\ndef add(a, b):\n    return a + b\n```";
const OTHER = "```python\nprint(add(1, 2))\n```";

function reply(
  entryPoint: string | undefined,
  replies: readonly string[],
  query: Task["query"] = "q",
): string {
  const prompt = typeof query === "string" ? [{ role: "user", content: query }] : [...query];
  const turns = replies.flatMap((
    content,
  ) => [{ role: "assistant", content }, { role: "tool", content: "ran" }]);
  const history = History.fromChats([...prompt, ...turns]);
  return findProgramReply(visibleReplies(history, { id: "t", query }), entryPoint);
}

Deno.test("findProgramReply() finds the program of an episode that ended without a block", () => {
  assertEquals(reply("add", [ADD, "done"]), ADD);
  assertEquals(reply(undefined, [ADD, "done"]), ADD);
  assertEquals(reply("sub", [ADD, "done"]), ADD);
});

Deno.test("findProgramReply() returns the newest reply that defines the entry point", () => {
  const bare = "def add(a, b):\n    return b + a";
  assertEquals(reply("add", ["```python\ndef add(): 0\n```", ADD, OTHER, "done"]), ADD);
  assertEquals(reply("add", [ADD, bare]), bare);
  assertEquals(reply(undefined, [ADD, OTHER, "done"]), OTHER);
});

Deno.test("findProgramReply() ignores programs in thoughts and in the query", () => {
  const shown = [{ role: "user", content: "q" }, { role: "assistant", content: ADD }, {
    role: "user",
    content: "r",
  }];
  assertEquals(reply("add", [`<think>${ADD}</think>`, "    return a + b"]), "    return a + b");
  assertEquals(reply("add", ["    return a + b"], shown), "    return a + b");
  assertEquals(reply("add", []), "");
});

Deno.test("findProgramReply() compares whole names, also those with other letters than English has", () => {
  const define = (name: string) => `\`\`\`python\ndef ${name}(a):\n    return a\n\`\`\``;
  for (const [name, other] of [["élan", "élans"], ["größe", "gr"], ["add", "addé"]] as const) {
    assertEquals(reply(name, [define(name), define(other)]), define(name));
    assertEquals(reply(`${name}().run`, [define(name), define(other)]), define(name));
  }
});

Deno.test("extractProgram() reads programs in lists, in glued fences, and in double fences", () => {
  const entryPoint = "add";
  const problem = { prompt: "", entryPoint, tests: [] } as unknown as TestProblem;
  const code = "def add(a, b):\n    return a + b";
  const replies = [
    "1. ```python\n   def add(a, b):\n       return a + b\n   ```",
    `\`\`\`\n\`\`\`python\n${code}\n\`\`\`\n\`\`\``,
    `\`\`\`python3.11\n${code}\n\`\`\`\nOutput:\n\`\`\`\n3\n\`\`\``,
    `\`\`\`bash\npip install x\n\`\`\`\`\`\`python\n${code}\n\`\`\``,
    `- \`\`\`\n  def add(a, b):\n      return a + b\n  \`\`\``,
    `<code>\n${code}\n</code>\n\`\`\`text\ndef add(): no\n\`\`\``,
    `\`\`\`{.python}\n${code}\n\`\`\`\n\`\`\`pycon\n>>> def add(): 0\n\`\`\``,
  ];
  for (const text of replies) assertEquals(extractProgram(text, problem), code, text);
  const plain = { ...problem, entryPoint: undefined };
  assertEquals(extractProgram("```\nx = 1\n```\nOutput:\n```\n1\n```", plain), "x = 1");
});
