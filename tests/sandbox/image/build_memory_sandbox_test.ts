import { assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { SandboxError } from "../../../src/errors.ts";
import { ensureBaseImage } from "../../../src/sandbox/image/base_image.ts";
import { parseProfile } from "../../../src/sandbox/profile/profile.ts";
import { makeWheel } from "../../cli/packages/package_index.ts";
import { TempFolder } from "../../temp_folder.ts";
import { copyPlainImage } from "../copy_image.ts";

/** A package that fills the memory of the build with files when it is imported. */
const HOG = `
block = b"x" * (64 << 20)
for number in range(100):
    with open(f"/tmp/{number}", "wb") as file:
        file.write(block)
`;

Deno.test({
  name: "a package that fills the memory while its image is built ends the build",
  ignore: Deno.build.os !== "linux", // the watchdog reads /proc
}, async () => {
  await using folder = await TempFolder.of();
  await copyPlainImage(folder.path);
  const wheel = await makeWheel({ name: "hog", version: "1.0", files: { "hog/__init__.py": HOG } });
  await Deno.writeFile(join(folder.path, wheel.file), wheel.bytes);
  const source = join(folder.path, "hog.jsonc");
  const packages = { hog: { wheel: join(folder.path, wheel.file), sha256: wheel.sha256 } };
  const profile = parseProfile(JSON.stringify({ packages, preimports: ["hog"] }), { source });
  const error = await assertRejects(() => ensureBaseImage(profile, { cacheDir: folder.path }), SandboxError);
  assertStringIncludes(error.message, "its process used more memory than a build may");
});
