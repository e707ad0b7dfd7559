import { assert, assertEquals } from "@std/assert";
import { graderManifest, guestManifest } from "../../../scripts/guest_manifest.ts";
import { SHELL_FILES, SUPERVISOR_FILES, WORKER_FILES } from "../../../src/sandbox/image/guest_manifest.ts";

const GRADER_MANIFEST = new URL("../../../src/rewards/worker/grader_files.ts", import.meta.url);
const MANIFEST = new URL("../../../src/sandbox/image/guest_manifest.ts", import.meta.url);

Deno.test("the guest manifest lists all imports of the guest's files", async () => {
  const current = await Deno.readTextFile(MANIFEST);
  assertEquals(
    current,
    guestManifest(),
    "run 'deno task guest-manifest' after a change of the guest's imports",
  );
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
  for (const files of [SUPERVISOR_FILES, { ...WORKER_FILES, ...SHELL_FILES }]) {
    const names = Object.keys(files);
    for (const [at, source] of Object.values(files).entries()) {
      for (const [, name = ""] of source.matchAll(/^import (?!type)[^"]*"\.[^"]*\/(\w+)\.ts"/gm)) {
        assert(name === "engine" || names.indexOf(name) < at, `${names[at]} imports ${name}`);
      }
    }
  }
});
