import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { SandboxError } from "../../../src/errors.ts";
import { ensureBaseImage } from "../../../src/sandbox/image/base_image.ts";
import { recordUse, removeStaleImages } from "../../../src/sandbox/image/image_cache.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import { TempFolder } from "../../temp_folder.ts";

const NOW = new Date("2030-06-30T12:00:00Z");
const OLD = new Date("2030-05-01T12:00:00Z");
const IMAGE = "0123456789abcdef0123456789abcdef";

Deno.test("removeStaleImages() removes only images that were not used for a month", async () => {
  await withCache(async (cache) => {
    await folder(cache, IMAGE, OLD);
    await Deno.writeTextFile(join(cache, `${IMAGE}.lock`), "");
    await folder(cache, IMAGE.replace("0", "f"), NOW);
    await folder(cache, "building-left", new Date(NOW.getTime() - 2 * 3_600_000));
    await folder(cache, "somebody's own", OLD);
    await removeStaleImages(cache, NOW);
    assertEquals(await names(cache), [IMAGE.replace("0", "f"), "somebody's own"]);
  });
});

Deno.test("recordUse() keeps an image that is in use", async () => {
  await withCache(async (cache) => {
    const image = await folder(cache, IMAGE, OLD);
    await recordUse(image, NOW);
    await removeStaleImages(cache, NOW);
    assertEquals(await names(cache), [IMAGE]);
  });
});

async function withCache(work: (cache: string) => Promise<void>): Promise<void> {
  await using cache = await TempFolder.of();
  await work(cache.path);
}

async function names(directory: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(directory));
  return entries.map(({ name }) => name).sort();
}

async function folder(cache: string, name: string, used: Date): Promise<string> {
  const path = join(cache, name);
  await Deno.mkdir(path);
  await Deno.writeTextFile(join(path, "manifest.json"), "");
  await Deno.utime(path, used, used);
  return path;
}

Deno.test("ensureBaseImage() refuses a cache directory that all users may write to", async () => {
  await using folder = await TempFolder.of();
  for (const mode of [0o777, 0o1777, 0o702]) {
    await Deno.chmod(folder.path, mode);
    const { message } = await assertRejects(
      async () => await ensureBaseImage(await loadProfile("python"), { cacheDir: folder.path }),
      SandboxError,
    );
    assertEquals(
      message,
      `Cannot use cache of base images as only its owner may write to '${folder.path}': its mode is ${
        mode.toString(8)
      }; run chmod go-w '${folder.path}', or give another folder with --cache-dir`,
    );
  }
});
