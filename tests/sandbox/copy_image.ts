import { basename, join } from "node:path";
import { ensureBaseImage, ensurePlainImage } from "../../src/sandbox/image/base_image.ts";
import { defaultCacheDir } from "../../src/sandbox/image/cache_dir.ts";
import type { Profile } from "../../src/sandbox/profile/profile.ts";

/**
 * Copies a profile's base image from the user's cache into another, with the plain image, and returns the image's
 * folder there.
 */
export async function copyImage(profile: Profile, cacheDir: string): Promise<string> {
  await copyPlainImage(cacheDir);
  const { directory } = await ensureBaseImage(profile, { cacheDir: defaultCacheDir() });
  return await copyFolder(directory, cacheDir);
}

/**
 * Copies the plain image from the user's cache into another, and returns its folder there. A build takes eight
 * seconds of CPU time, which all tests with a cache of their own thus share.
 */
export async function copyPlainImage(cacheDir: string): Promise<string> {
  const { directory } = await ensurePlainImage({ cacheDir: defaultCacheDir() });
  return await copyFolder(directory, cacheDir);
}

async function copyFolder(directory: string, cacheDir: string): Promise<string> {
  const copy = join(cacheDir, basename(directory));
  await Deno.mkdir(copy, { recursive: true });
  for await (const { name } of Deno.readDir(directory)) {
    await Deno.copyFile(join(directory, name), join(copy, name));
  }
  return copy;
}
