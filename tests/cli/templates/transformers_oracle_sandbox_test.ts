import { assertEquals, assertRejects } from "@std/assert";
import { OracleError, renderByTransformers } from "../../../src/cli/templates/transformers_oracle.ts";
import { TempFolder } from "../../temp_folder.ts";

/** Returns the path of a program that stands for Python. */
async function fakePython(folder: TempFolder, script: string): Promise<string> {
  const path = `${folder.path}/python`;
  await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

Deno.test("renderByTransformers() returns a result for each case", async () => {
  await using folder = await TempFolder.of({});
  const script = `echo '{"jinja2": "3", "transformers": "5"}'; while read -r line; do ` +
    `case "$line" in *bad*) echo '{"error": "TypeError: x"}';; *) echo '{"text": "é"}';; esac; done`;
  const python = await fakePython(folder, script);
  assertEquals(await renderByTransformers(['{"template": "a"}', '{"template": "bad"}'], { python }), {
    versions: { jinja2: "3", transformers: "5" },
    results: [{ text: "é" }, { error: "TypeError: x" }],
  });
});

Deno.test("renderByTransformers() fails if a package or a result is missing", async () => {
  await using folder = await TempFolder.of({});
  const without = await fakePython(
    folder,
    "echo \"ModuleNotFoundError: No module named 'jinja2'\" >&2; exit 1",
  );
  await assertRejects(
    () => renderByTransformers(["{}"], { python: without }),
    OracleError,
    "must have it: ModuleNotFoundError: No module named 'jinja2'",
  );
  const short = await fakePython(folder, `echo '{"jinja2": "3", "transformers": "5"}'`);
  await assertRejects(() => renderByTransformers(["{}"], { python: short }), OracleError);
  await assertRejects(
    () => renderByTransformers(["{}"], { python: `${folder.path}/none` }),
    OracleError,
    "must run",
  );
});
