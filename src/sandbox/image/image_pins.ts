import { join, resolve } from "node:path";
import { sha256 } from "../../hash.ts";

const DIGITS = 16;

/**
 * Keeps an image in the cache while a folder exists: the checkpoints in that folder can only be restored with this
 * image.
 */
export async function pinImage(cacheDir: string, image: string, folder: string): Promise<void> {
  const path = resolve(folder);
  const name = `${image}.pin-${(await sha256(path)).slice(0, DIGITS)}`;
  await Deno.mkdir(cacheDir, { recursive: true, mode: 0o700 });
  await Deno.writeTextFile(join(cacheDir, name), path, { mode: 0o600 });
}

/** Returns the names of the images that are kept, and removes the marks of folders that no longer exist. */
export async function pinnedImages(cacheDir: string): Promise<ReadonlySet<string>> {
  const images = new Set<string>();
  for await (const { name, isFile } of Deno.readDir(cacheDir)) {
    const image = /^([0-9a-f]{32})\.pin-[0-9a-f]{16}$/.exec(name)?.[1];
    if (!isFile || image === undefined) continue;
    const pin = join(cacheDir, name);
    if (await isFolder(await Deno.readTextFile(pin))) images.add(image);
    else await Deno.remove(pin).catch(() => {}); // another process has removed it
  }
  return images;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false; // it was removed
  }
}
