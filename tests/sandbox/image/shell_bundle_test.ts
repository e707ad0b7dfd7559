import { assertEquals, assertRejects } from "@std/assert";
import { SandboxError } from "../../../src/errors.ts";
import { bundleShell } from "../../../src/sandbox/image/shell_bundle.ts";

Deno.test("bundleShell() bundles one module after the other, as the first use of the bundler installs esbuild", async () => {
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
  await assertRejects(() => bundleShell(undefined, bundle), SandboxError, "must have");
  assertEquals([most, bundled], [1, ["engine.ts", "zlib.ts"]]);
});
