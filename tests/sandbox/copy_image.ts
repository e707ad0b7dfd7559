import { basename, join } from "node:path";
import { defaultCacheDir, ensureBaseImage } from "../../src/sandbox/image/base_image.ts";
import type { Profile } from "../../src/sandbox/profile/profile.ts";

/**
 * Copies a profile's base image from the user's cache into another, and returns the image's folder there. A build
 * takes ten seconds of CPU time, which all tests with a cache of their own thus share.
 */
export async function copyImage(profile: Profile, cacheDir: string): Promise<string> {
  const { directory } = await ensureBaseImage(profile, { cacheDir: defaultCacheDir() });
  const copy = join(cacheDir, basename(directory));
  await Deno.mkdir(copy, { recursive: true });
  for await (const { name } of Deno.readDir(directory)) {
    await Deno.copyFile(join(directory, name), join(copy, name));
  }
  return copy;
}
