import { assertEquals, assertRejects } from "@std/assert";
import { SandboxError } from "../../../src/errors.ts";
import { bundleEngine, bundleShell } from "../../../src/sandbox/image/shell/shell_bundle.ts";
import { TempFolder } from "../../temp_folder.ts";

/** Counts the bundlers that run at once. */
class BundlerCount {
  readonly entries: string[] = [];
  most = 0;
  #running = 0;

  readonly bundle = async (entry: string): Promise<string> => {
    this.most = Math.max(this.most, ++this.#running);
    this.entries.push(entry.slice(entry.lastIndexOf("/") + 1));
    await Promise.resolve();
    this.#running--;
    return "";
  };
}

Deno.test("bundleEngine() bundles one module after the other, as the first use of the bundler installs esbuild", async () => {
  await using folder = await TempFolder.of();
  const bundler = new BundlerCount();
  await assertRejects(
    () => bundleEngine({ directory: folder.path, bundle: bundler.bundle }),
    SandboxError,
    "must have",
  );
  assertEquals([bundler.most, bundler.entries], [1, ["engine.ts", "zlib.ts"]]);
});

Deno.test("bundleShell() bundles one module after the other", async () => {
  const bundler = new BundlerCount();
  await bundleShell({ bundle: bundler.bundle });
  assertEquals([bundler.most, bundler.entries.length], [1, 6]);
});
