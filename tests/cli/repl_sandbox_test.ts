import { assertEquals, assertStringIncludes } from "@std/assert";
import { runPaddock } from "./run_paddock.ts";

Deno.test("paddock repl runs the blocks of a pipe one by one, without prompts", async () => {
  const lines = [
    "x = 1",
    "def f(a):",
    "  if a:",
    "    return 1",
    "",
    "  return 2",
    "f(0)",
    "1/0",
    "x + 1",
    "import sys",
    "sys.exit(4)",
    "x",
  ];
  const { code, stdout, stderr } = await runPaddock(["repl"], lines.join("\r\n"));
  assertEquals([code, stdout], [4, "2\n2\n"]);
  assertStringIncludes(stderr, "ZeroDivisionError: division by zero\n");
});
