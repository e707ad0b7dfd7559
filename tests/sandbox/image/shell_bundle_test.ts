import { assertEquals, assertRejects } from "@std/assert";
import { SandboxError } from "../../../src/errors.ts";
import { bundleEngine } from "../../../src/sandbox/image/shell/shell_bundle.ts";
import { TempFolder } from "../../temp_folder.ts";

Deno.test("bundleEngine() bundles one module after the other, as the first use of the bundler installs esbuild", async () => {
  await using folder = await TempFolder.of();
  let running = 0;
  let most = 0;
  const bundled: string[] = [];
  const bundle = async (entry: string) => {
    most = Math.max(most, ++running);
    bundled.push(entry.slice(entry.lastIndexOf("/") + 1));
    await Promise.resolve();
    running--;
    return "";
  };
  await assertRejects(() => bundleEngine({ directory: folder.path, bundle }), SandboxError, "must have");
  assertEquals([most, bundled.slice(0, 2)], [1, ["zlib.ts", "engine.ts"]]);
});
