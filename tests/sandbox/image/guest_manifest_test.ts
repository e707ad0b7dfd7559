import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { graderManifest, guestManifest, shellSources } from "../../../scripts/guest_manifest.ts";
import { SUPERVISOR_FILES, WORKER_FILES } from "../../../src/sandbox/image/guest_manifest.ts";

const GRADER_MANIFEST = new URL("../../../src/rewards/worker/grader_files.ts", import.meta.url);
const MANIFEST = new URL("../../../src/sandbox/image/guest_manifest.ts", import.meta.url);
const SHELL_BUILD = new URL("../../../src/sandbox/image/shell/", import.meta.url);

Deno.test("the guest manifest lists all imports of the guest's files", async () => {
  const current = await Deno.readTextFile(MANIFEST);
  assertEquals(
    current,
    guestManifest(),
    "run 'deno task guest-manifest' after a change of the guest's imports",
  );
});

Deno.test("the sources of the shell are all that its bundles are made from, with all changes of the engine", async () => {
  const current = await Deno.readTextFile(new URL("shell_sources.ts", SHELL_BUILD));
  assertEquals(
    current,
    shellSources(),
    "run 'deno task guest-manifest' after a change of the shell's imports",
  );
  for await (const { name } of Deno.readDir(SHELL_BUILD)) {
    if (!name.endsWith(".ts") || name === "shell_sources.ts") continue;
    assertStringIncludes(current, `from "./${name}" with`);
  }
});

Deno.test("the manifest of the grader worker lists all imports of the graders that run there", async () => {
  const current = await Deno.readTextFile(GRADER_MANIFEST);
  assertEquals(
    current,
    graderManifest(),
    "run 'deno task guest-manifest' after a change of a grader's imports",
  );
});

Deno.test("the guest manifest lists each file after its imports", () => {
  for (const files of [SUPERVISOR_FILES, WORKER_FILES]) {
    const names = Object.keys(files);
    for (const [at, source] of Object.values(files).entries()) {
      for (const [, name = ""] of source.matchAll(/^import (?!type)[^"]*"\.[^"]*\/(\w+)\.ts"/gm)) {
        assert(name === "engine" || names.indexOf(name) < at, `${names[at]} imports ${name}`);
      }
    }
  }
});
