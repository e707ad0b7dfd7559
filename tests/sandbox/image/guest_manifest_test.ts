import { assert, assertEquals } from "@std/assert";
import { guestManifest } from "../../../scripts/guest_manifest.ts";
import { SHELL_FILES, SUPERVISOR_FILES, WORKER_FILES } from "../../../src/sandbox/image/guest_manifest.ts";

const MANIFEST = new URL("../../../src/sandbox/image/guest_manifest.ts", import.meta.url);

Deno.test("the manifest lists what the files of the guest import", async () => {
  const current = await Deno.readTextFile(MANIFEST);
  assertEquals(
    current,
    guestManifest(),
    "run 'deno task guest-manifest' after a change of the guest's imports",
  );
});

Deno.test("the manifest has each file of the guest after those that it imports", () => {
  for (const files of [SUPERVISOR_FILES, { ...WORKER_FILES, ...SHELL_FILES }]) {
    const names = Object.keys(files);
    for (const [at, source] of Object.values(files).entries()) {
      for (const [, name = ""] of source.matchAll(/^import (?!type)[^"]*"\.[^"]*\/(\w+)\.ts"/gm)) {
        assert(name === "engine" || names.indexOf(name) < at, `${names[at]} imports ${name}`);
      }
    }
  }
});
