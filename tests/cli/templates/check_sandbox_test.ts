import { assertEquals, assertStringIncludes } from "@std/assert";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

Deno.test("templates check reports that transformers refuses a template too", async () => {
  await using folder = await TempFolder.of({ "a.jinja": "{% for %}" });
  const python = `${folder.path}/python`;
  const script =
    `echo '{"jinja2": "3", "transformers": "5"}'; while read -r line; do echo '{"error": "x"}'; done`;
  await Deno.writeTextFile(python, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const { code, stdout } = await runPaddock([
    "templates",
    "check",
    `${folder.path}/a.jinja`,
    "--python",
    python,
  ]);
  assertEquals(code, 1);
  assertStringIncludes(stdout, "  ✓ refused by transformers 5 with Jinja2 3 too\n");
});
