import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RUN_LOCK, runFiles } from "../../scripts/run_config.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("the configuration and the lock files of the command line are those of `deno task run-config`", async () => {
  for (const [path, text] of Object.entries(await runFiles())) {
    assertEquals(JSON.parse(await Deno.readTextFile(new URL(path, ROOT))), JSON.parse(text), path);
  }
});

/** Bytes of packages at the first start, unpacked. The rest of 130 MB is what Deno writes beside them. */
const MAX_BYTES = 115_000_000;

Deno.test("the packages of a first start take less than 115 MB, without those of tests, packages and the shell", async () => {
  const { npm } = JSON.parse(await Deno.readTextFile(new URL(RUN_LOCK, ROOT))) as {
    npm: Record<string, unknown>;
  };
  const names = Object.keys(npm).map((id) => id.replace(/^(@?[^@]+)@([^_]+).*$/, "$1/$2"));
  assertEquals(names.filter((name) => /^(just-bash|sql\.js|typescript|fast-check|wabt)\//.test(name)), []);
  const cached = fileURLToPath(new URL("../../", import.meta.resolve("swagger-ui-dist/package.json")));
  const sizes = await Promise.all(names.map((name) => sizeOf(join(cached, name))));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assertEquals([bytes > 20_000_000, bytes < MAX_BYTES], [true, true], `${bytes}`);
});

/** Returns the bytes of all files of a folder; 0 if it does not exist, as the package is for another system. */
async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      bytes += isDirectory ? await sizeOf(join(folder, name)) : (await Deno.lstat(join(folder, name))).size;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return bytes;
}
